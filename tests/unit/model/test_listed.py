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
    listed = Listed.from_summary(kind, row)
    assert listed == Listed(
        "n", "arn:n", status, NOW, ended, modified=NOW + 60 if "LastModifiedTime" in times else None
    )
    assert listed.is_over is (status in {"Completed", "Failed", "Stopped"})


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
    waits_as = status if read == "InProgress" else None
    assert Listed.from_service_job(row) == Listed("n", "arn:n", read, NOW, ended, secondary=waits_as)


def test_a_training_job_shows_its_secondary_status_too() -> None:
    row = {
        "TrainingJobName": "n",
        "TrainingJobArn": "arn:n",
        "TrainingJobStatus": "InProgress",
        "SecondaryStatus": "Downloading",
        "CreationTime": at(0),
    }
    assert Listed.from_summary(JobKind.TRAINING, row).secondary == "Downloading"


@pytest.mark.parametrize(("status", "reason"), [("RUNNABLE", "CAPACITY: none"), ("FAILED", "")])
def test_a_service_job_says_why_it_waits_and_not_why_it_ended(status: str, reason: str) -> None:
    row = {"jobName": "n", "jobArn": "arn:n", "status": status, "statusReason": "CAPACITY: none"}
    assert Listed.from_service_job(row).reason == reason


@pytest.mark.parametrize(
    ("arn", "handle"),
    [
        ("arn:aws:sagemaker:us-west-2:123456789012:training-job/n", "n"),
        (
            "arn:aws:batch:us-west-2:123456789012:service-job/7b5f",
            "arn:aws:batch:us-west-2:123456789012:service-job/7b5f",
        ),
    ],
)
def test_sagemakers_jobs_are_called_by_their_names_and_batchs_by_their_arns(arn: str, handle: str) -> None:
    assert Listed("n", arn, "InProgress", NOW).handle == handle


def test_a_row_that_says_next_to_nothing_is_a_job_in_progress() -> None:
    assert Listed.from_service_job({"jobName": "n", "jobArn": "arn:n"}) == Listed("n", "arn:n", "InProgress", 0.0)
