"""What a task's result shows of its job."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.description import describe_all

SERVICE_JOB = "arn:aws:batch:us-east-1:123456789012:service-job/7b5f"
LATEST = {"serviceResourceId": {"name": "TrainingJobArn", "value": "arn:aws:sagemaker:::training-job/AWSBatchx"}}


class Jobs:
    """Jobs by what they are called by; a name that isn't there is none."""

    def __init__(self, **jobs: dict[str, Any]) -> None:
        self.jobs = jobs

    def describe(self, handle: str) -> dict[str, Any]:
        key = "service" if handle == SERVICE_JOB else handle
        if key not in self.jobs:
            raise CallFailed(CallFailure(FailureKind.NOT_FOUND, "ClientException", "gone", "DescribeServiceJob"))
        return self.jobs[key]

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        assert queue is None
        return self.jobs.get(name)


def shown(jobs: Jobs, handle: str, kind: JobKind = JobKind.TRAINING) -> dict[str, Any]:
    return describe_all(jobs, kind, handle)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", list(JobKind))
def test_a_job_of_sagemakers_own_stands_under_its_kinds_word(kind: JobKind) -> None:
    assert shown(Jobs(n={"a": 1}), "n", kind) == {kind.word: {"a": 1}}


def test_what_was_just_described_is_not_asked_for_again() -> None:
    assert describe_all(Jobs(), JobKind.TRAINING, "n", {"a": 1}) == {"Training": {"a": 1}}  # type: ignore[arg-type]


def test_a_service_job_is_shown_without_its_payload_and_with_its_latest_training_job() -> None:
    service = {"jobArn": SERVICE_JOB, "serviceRequestPayload": '{"Environment": {}}', "latestAttempt": LATEST}
    assert shown(Jobs(service=service, AWSBatchx={"b": 2}), SERVICE_JOB) == {
        "ServiceJob": {"jobArn": SERVICE_JOB, "latestAttempt": LATEST},
        "Training": {"b": 2},
    }


@pytest.mark.parametrize("latest", [None, LATEST], ids=["never dispatched", "deleted by Batch"])
def test_a_training_job_that_is_not_there_is_left_out(latest: dict[str, Any] | None) -> None:
    service = {"jobArn": SERVICE_JOB, "latestAttempt": latest}
    assert shown(Jobs(service=service), SERVICE_JOB) == {"ServiceJob": service}
