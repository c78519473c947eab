"""Values are read leniently where a template may have rendered them, and shown briefly where they can't be."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.written import did_you_mean, flag, integer, part_of, shown


@pytest.mark.parametrize(("value", "number"), [(3, 3), ("3", 3), (" +12\n", 12), ("-4", -4)])
def test_an_integer_may_be_a_rendered_string(value, number):
    assert integer(value) == number


@pytest.mark.parametrize("value", ["8x", "", "1.0", 1.0, True, None, "1_000", "٣", "9" * 40, [1]])
def test_nothing_else_is_an_integer(value):
    with pytest.raises(ValueError, match="is not an integer"):
        integer(value)


@pytest.mark.parametrize(
    ("value", "yes"), [(True, True), (False, False), (None, False), ("True", True), (" false", False)]
)
def test_a_flag_may_be_a_rendered_string(value, yes):
    assert flag(value) is yes


@pytest.mark.parametrize("value", ["yes", "", 1, []])
def test_nothing_else_is_a_flag(value):
    with pytest.raises(ValueError, match="neither True nor False"):
        flag(value)


def test_a_long_value_is_shown_on_one_short_line():
    text = shown("line\n" * 100)
    assert len(text) == 80
    assert "\n" not in text


def test_a_slip_of_the_finger_gets_a_suggestion_whatever_its_case():
    assert did_you_mean("instancetyp", ["InstanceType", "Capacity"]) == "Did you mean InstanceType?"
    assert did_you_mean("zzz", ["InstanceType"]) == ""


def test_a_part_that_is_not_there_is_empty():
    assert part_of({}, ("a", "b")) == {}
    assert part_of({"a": None}, ("a",)) == {}
    assert part_of({"a": {"b": {"c": 1}}}, ("a", "b")) == {"c": 1}


def test_a_part_that_is_no_dict_is_refused_by_name():
    with pytest.raises(InvalidRequest, match=r"ResourceConfig has to be a dict, and it is 'ml\.g5\.xlarge'"):
        part_of({"ResourceConfig": "ml.g5.xlarge"}, ("ResourceConfig",))
