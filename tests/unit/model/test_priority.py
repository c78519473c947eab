"""A priority is a number or a name; what looks like one and isn't is refused."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.priority import DEFAULT_PRIORITIES, parse_priorities, parse_priority

NAMES = {"production": 900, "sweep": 0}


@pytest.mark.parametrize("number", [0, 1, 500, 9999])
def test_a_number_is_itself_and_zero_is_no_exception(number):
    assert parse_priority(number, NAMES) == number


def test_none_is_left_out():
    assert parse_priority(None, NAMES) is None


@pytest.mark.parametrize(("name", "number"), [("production", 900), ("sweep", 0), (" production ", 900)])
def test_a_name_is_its_number(name, number):
    assert parse_priority(name, NAMES) == number


def test_the_names_are_known_without_a_word():
    assert [parse_priority(name) for name in ("production", "research", "sweep")] == [900, 500, 100]


@pytest.mark.parametrize("number", [-1, 10_000])
@pytest.mark.parametrize("rendered", [True, False])
def test_a_number_that_batch_does_not_take_is_refused(number, rendered):
    with pytest.raises(InvalidSetting, match=rf"priority is {number}, and AWS Batch takes 0 to 9999"):
        parse_priority(number, NAMES, rendered=rendered)


@pytest.mark.parametrize("value", [True, False, 5.0, [5], {}, "high", "5.0"])
@pytest.mark.parametrize("rendered", [True, False])
def test_what_is_neither_a_number_nor_a_name_is_refused_with_the_names(value, rendered):
    with pytest.raises(InvalidSetting) as caught:
        parse_priority(value, NAMES, rendered=rendered, place="entry 2: priority")
    assert str(caught.value).startswith(f"entry 2: priority is {value!r}, and has to be a number from 0 to 9999, or")
    assert "one of production, sweep ([sm_prefer] priorities)" in str(caught.value)


def test_a_slip_of_the_finger_is_told():
    with pytest.raises(InvalidSetting, match=r"Did you mean production\?"):
        parse_priority("Produktion", NAMES)


def test_digits_in_quotes_are_refused_where_a_person_wrote_them():
    with pytest.raises(InvalidSetting, match=r"the text '5'.*\nWrite 5, without quotes\."):
        parse_priority("5", NAMES)


@pytest.mark.parametrize(("value", "number"), [("5", 5), (" 0 ", 0), ("9999", 9999), ("None", None), ("", None)])
def test_digits_in_quotes_are_a_number_where_a_template_made_them(value, number):
    assert parse_priority(value, NAMES, rendered=True) == number


def test_an_empty_text_that_a_person_wrote_is_refused():
    with pytest.raises(InvalidSetting, match="priority is ''"):
        parse_priority("", NAMES)


def test_names_are_read_from_a_setting():
    text = ", ".join(f"{name}={number}" for name, number in DEFAULT_PRIORITIES.items())
    assert parse_priorities(text) == dict(DEFAULT_PRIORITIES)
    assert parse_priorities(" nightly = 0 ,, urgent=9999, ") == {"nightly": 0, "urgent": 9999}
    assert parse_priorities("") == {}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("production", "priorities: production has no number"),
        ("production=", "priorities: production has no number"),
        ("=5", "priorities: '=5' isn't a name, = and a number"),
        ("5=production", "priorities: '5=production' isn't a name, = and a number"),
        ("production=high", "priorities: production is 'high', and has to be a number from 0 to 9999."),
        ("production=10000", "priorities: production is 10000, and AWS Batch takes 0 to 9999"),
        ("a=1, a=2", "priorities has 'a' twice"),
    ],
)
def test_a_setting_that_can_not_be_read_says_where(text, problem):
    with pytest.raises(InvalidSetting) as caught:
        parse_priorities(text)
    assert str(caught.value).startswith(problem)
