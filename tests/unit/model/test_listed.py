"""Rows of listings, in one form."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed

NOW = 1_800_000_000.0


def at(second: float) -> datetime:
    return datetime.fromtimestamp(NOW + second, UTC)


@pytest.mark.parametrize("kind", list(JobKind))
@pytest.mark.parametrize(
    ("status", "times", "ended"),
    [
        ("InProgress", {"LastModifiedTime": at(60)}, None),
        ("Stopping", {"LastModifiedTime": at(60)}, None),
        ("Completed", {"LastModifiedTime": at(60)}, NOW + 60),
        ("Failed", {"LastModifiedTime": at(60), "EndTime": at(50)}, NOW + 50),
        ("Stopped", {}, None),
    ],
)
def test_a_job_of_sagemakers_own_has_ended_in_its_last_status(
    kind: JobKind, status: str, times: dict[str, datetime], ended: float | None
) -> None:
    row: dict[str, Any] = {kind.name_key: "n", kind.arn_key: "arn:n", kind.status_key: status, "CreationTime": at(0)}
    row |= {f"{kind.word}EndTime" if key == "EndTime" else key: value for key, value in times.items()}
    assert Listed.from_summary(kind, row) == Listed("n", "arn:n", status, NOW, ended)


@pytest.mark.parametrize(
    ("status", "read", "ended"),
    [
        ("SUBMITTED", "InProgress", None),
        ("RUNNING", "InProgress", None),
        ("SUCCEEDED", "Completed", NOW + 60),
        ("FAILED", "Failed", NOW + 60),
        ("A_NEW_ONE", "InProgress", None),
    ],
)
def test_a_service_job_is_written_as_sagemaker_would(status: str, read: str, ended: float | None) -> None:
    row = {"jobName": "n", "jobArn": "arn:n", "status": status, "createdAt": NOW * 1000, "stoppedAt": (NOW + 60) * 1000}
    assert Listed.from_service_job(row) == Listed("n", "arn:n", read, NOW, ended)


def test_a_row_that_says_next_to_nothing_is_a_job_in_progress() -> None:
    assert Listed.from_service_job({"jobName": "n", "jobArn": "arn:n"}) == Listed("n", "arn:n", "InProgress", 0.0)
