"""The instant at which AWS gave an answer."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.aws.dates import date_of


def test_it_is_what_the_answer_says_in_whole_seconds() -> None:
    headers = {"date": "Fri, 15 Jan 2027 08:00:00 GMT"}
    assert date_of({"ResponseMetadata": {"HTTPHeaders": headers}}) == 1_800_000_000.0


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"ResponseMetadata": None},
        {"ResponseMetadata": {}},
        {"ResponseMetadata": {"HTTPHeaders": {"date": ""}}},
        {"ResponseMetadata": {"HTTPHeaders": {"date": "yesterday"}}},
        {"ResponseMetadata": {"HTTPHeaders": {"date": "Fri, 99 Jan 2027 08:00:00 GMT"}}},
    ],
)
def test_an_answer_that_does_not_say_has_none(answer: dict[str, Any]) -> None:
    assert date_of(answer) is None
