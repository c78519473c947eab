"""Templates, and what they render to."""

from __future__ import annotations

from collections import UserList
from datetime import timedelta

import pytest

from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.rendered import has_template, normalise_config, normalise_prefer, without_templates


@pytest.mark.parametrize(
    "value",
    [
        "{{ params.prefer }}",
        "x{% if a %}",
        "{# why #}",
        object(),
        {"a": [{"b": ("{{ c }}",)}]},
        {"{{ key }}": 1},
        [object()],
        {"{{ in_a_set }}"},
    ],
)
def test_templates_and_objects_are_known_only_later(value):
    assert has_template(value)


@pytest.mark.parametrize(
    "value", ["ml.g5.xlarge", "{'a': {'b': 1}}", 1, 2.0, None, True, b"", timedelta(1), {"a": [{"b": ("c",)}]}, set()]
)
def test_plain_data_is_known_now(value):
    assert not has_template(value)


def test_what_is_plain_can_be_taken_by_itself():
    unknown = object()
    value = {"a": "{{ x }}", "b": [1, "{{ y }}", {"c": unknown, "d": 2}], "e": unknown, "f": ("g",)}
    assert without_templates(value) == {"b": [1, {"d": 2}], "f": ["g"]}


@pytest.mark.parametrize(
    "rendered",
    [
        ["ml.g5.xlarge", {"InstanceType": "ml.g6.xlarge"}],
        ("ml.g5.xlarge", {"InstanceType": "ml.g6.xlarge"}),
        UserList(["ml.g5.xlarge", {"InstanceType": "ml.g6.xlarge"}]),
        '["ml.g5.xlarge", {"InstanceType": "ml.g6.xlarge"}]',
        " ['ml.g5.xlarge', {'InstanceType': 'ml.g6.xlarge'}]\n",
        "('ml.g5.xlarge', {'InstanceType': 'ml.g6.xlarge'})",
    ],
)
def test_a_list_may_be_one_or_be_written_as_json_or_python(rendered):
    assert normalise_prefer(rendered) == ["ml.g5.xlarge", {"InstanceType": "ml.g6.xlarge"}]


def test_json_words_are_read_as_json():
    assert normalise_prefer('[{"WaitForPlan": true, "InstanceCount": null}]') == [
        {"WaitForPlan": True, "InstanceCount": None}
    ]


@pytest.mark.parametrize(
    "rendered",
    ["ml.g5.xlarge", "", "{'a': 1}", "[1, 2", "5", "[" * 100_000, "__import__('os')", {"a"}, {"a": 1}, 7, b"[]", None],
)
def test_what_is_no_list_is_refused_and_shown(rendered):
    with pytest.raises(InvalidPreference) as caught:
        normalise_prefer(rendered)
    assert str(caught.value).startswith("prefer has to be a list, and it is ")
    assert len(str(caught.value).splitlines()) == 2
    assert len(str(caught.value)) < 300


def test_a_long_rendering_is_cut():
    with pytest.raises(InvalidPreference, match=r"'xxxxxx.*…") as caught:
        normalise_prefer("x" * 10_000)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("rendered", [{"a": 1}, '{"a": 1}', "{'a': 1}"])
def test_a_config_may_be_a_dict_or_be_written_as_one(rendered):
    assert normalise_config(rendered) == {"a": 1}


@pytest.mark.parametrize("rendered", ["[1]", "hunter2", None, [("a", 1)]])
def test_a_config_that_is_no_dict_is_refused_and_not_shown(rendered):
    with pytest.raises(InvalidRequest, match="config has to be a dict") as caught:
        normalise_config(rendered)
    assert "hunter2" not in str(caught.value)
