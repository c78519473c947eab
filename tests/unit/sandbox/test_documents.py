"""Values as JSON and back."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.capacity import Timeline
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.scenario_file import parse

SCENARIO = """
capacity: {ml.g5.xlarge: [0, {after: 20m, count: 2}], "*": 4}
plans: [{name: december, type: ml.p5.48xlarge, count: 2, blocks: [{starts: 10m, lasts: 24h}]}]
rates: {DescribeTrainingJob: off}
call_faults: [{operation: ListTrainingJobs, error: drop}]
job_faults: [{job: "a*", after: 5m}]
missing_types: [ml.p3.2xlarge, ml.p3.8xlarge]
algorithms: {"*xgb*": [ml.m5.*]}
settings: {pending_expiry: failed}
"""


class Colour(StrEnum):
    RED = "red"


@dataclass(frozen=True, slots=True)
class Part:
    colour: Colour
    pair: tuple[float, int] = (1, 2)


@dataclass(slots=True)
class Whole:
    name: str
    parts: list[Part]
    maybe: Part | None = None
    anything: dict[str, Any] = field(default_factory=dict)
    by_name: Mapping[str, Part] = field(default_factory=dict)
    steps: tuple[Part, ...] = ()
    made: int = 0

    def __post_init__(self) -> None:
        self.made += 1


def through_json(value: Any) -> Any:
    return decode(type(value), json.loads(json.dumps(encode(value))))


def test_a_value_comes_back_as_it_was():
    part = Part(Colour.RED)
    whole = Whole("w", [part], part, {"a": [1, {"b": None}]}, {"x": part}, (part, part))
    assert through_json(whole) == whole
    assert isinstance(through_json(whole).parts[0].colour, Colour)


def test_a_whole_scenario_comes_back_as_it_was():
    assert through_json(parse(SCENARIO)) == parse(SCENARIO)


def test_a_timeline_without_a_beginning_comes_back():
    timeline = Timeline(((0, 1), (5, 2))).later(10)
    assert through_json(timeline) == timeline


def test_a_field_that_is_new_gets_its_default():
    whole = decode(Whole, {"name": "w", "parts": []})
    assert (whole.maybe, whole.anything, whole.steps, whole.made) == (None, {}, (), 0)


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"name": "w"}, "Whole: no field parts"),
        ({"name": "w", "parts": [], "age": 1}, "Whole: unknown field age"),
        ({"name": 1, "parts": []}, "expected str, got 1"),
        ({"name": "w", "parts": [{"colour": "red", "pair": [1]}]}, "expected 2 values, got 1"),
        ({"name": "w", "parts": [{"colour": "blue"}]}, "blue"),
        ([], "Whole: expected an object"),
    ],
)
def test_another_document_is_refused(document, words):
    with pytest.raises(ValueError, match=words):
        decode(Whole, document)
