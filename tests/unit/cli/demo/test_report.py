from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_sm_prefer.cli.demo import report

START = datetime(2026, 1, 1, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def job(*transitions: tuple[str, float, float | None], **resources: Any) -> dict[str, Any]:
    steps = [
        {"Status": status, "StartTime": at(start)} | ({} if end is None else {"EndTime": at(end)})
        for status, start, end in transitions
    ]
    return {
        "LastModifiedTime": at(99),
        "SecondaryStatusTransitions": steps,
        "ResourceConfig": {
            "InstancePreferences": [{"InstanceType": "ml.g6.xlarge"}, {"InstanceType": "ml.g5.xlarge"}],
            **resources,
        },
        "ModelArtifacts": {"S3ModelArtifacts": "s3://bucket/model.tar.gz"},
    }


def event(name: str, seconds: float) -> dict[str, Any]:
    return {"event": name, "when": at(seconds).isoformat()}


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        pytest.param(job(("Starting", 0, 1), ("Pending", 1, 21), ("Training", 21, 30)), 20.0, id="one wait"),
        pytest.param(job(("Pending", 0, 5), ("Training", 5, 9), ("Pending", 9, 12)), 8.0, id="two waits"),
        pytest.param(job(("Pending", 90, None)), 9.0, id="a wait that isn't over"),
        pytest.param(job(("Training", 0, 3)), 0.0, id="no wait"),
        pytest.param({}, None, id="no job"),
    ],
)
def test_pending_is_the_time_in_the_status_pending(described: dict[str, Any], expected: float | None) -> None:
    assert report.pending_seconds(described) == expected


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param([("running", 0), ("deferred", 2), ("running", 60), ("success", 63)], 5.0, id="deferred once"),
        pytest.param([("running", 0), ("success", 2)], 2.0, id="never deferred"),
        pytest.param([("running", 0), ("up_for_retry", 1), ("running", 5), ("failed", 7)], 3.0, id="tried twice"),
        pytest.param([("running", 0)], None, id="no end"),
        pytest.param([("deferred", 0)], None, id="no beginning"),
        pytest.param([], None, id="never ran"),
    ],
)
def test_a_worker_is_held_from_running_to_the_next_state(
    events: list[tuple[str, float]], expected: float | None
) -> None:
    assert report.worker_seconds(event(*one) for one in events) == expected


def test_everything_comes_from_what_was_measured() -> None:
    measured = report.measure(
        state="success",
        job=job(("Pending", 0, 20), SelectedInstanceType="ml.g5.xlarge", SelectedInstanceCount=2),
        events=[event("running", 0), event("deferred", 2.5)],
        wall_seconds=61.26,
        ui="http://127.0.0.1:8080",
    )
    assert measured.to_json() == {
        "state": "success",
        "selected_instance_type": "ml.g5.xlarge",
        "selected_instance_count": 2,
        "preference_index": 1,
        "pending_seconds": 20.0,
        "worker_seconds": 2.5,
        "wall_seconds": 61.3,
        "artifact": "s3://bucket/model.tar.gz",
        "ui": "http://127.0.0.1:8080",
    }


def test_what_never_came_is_none() -> None:
    measured = report.measure(state="failed", job={}, events=[], wall_seconds=1, ui="u").to_json()
    assert {name for name, value in measured.items() if value is None} == {
        "selected_instance_type",
        "selected_instance_count",
        "preference_index",
        "pending_seconds",
        "worker_seconds",
        "artifact",
    }
    assert report.summary(report.Report(**measured), [], 60) == ["The run ended: failed."]


@pytest.mark.parametrize(
    ("index", "why"),
    [
        (0, "choice 1 of 3: it was the first choice and had capacity."),
        (1, "choice 2 of 3: no capacity for a."),
        (2, "choice 3 of 3: no capacity for a and b."),
    ],
)
def test_the_summary_says_why(index: int, why: str) -> None:
    measured = report.Report("success", "x", 1, index, 20.0, 5.0, 60.0, "s3://b/m", "u")
    said = "\n".join(report.summary(measured, ["a", "b", "x"], 60))
    assert why in said
    assert "20 min" in said
    assert "s3://b/m" in said
