"""A service job of AWS Batch as any other job; the responses are in the shapes of DescribeServiceJob."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_sm_prefer.model.job import JobKind, Observation
from airflow_sm_prefer.model.service_job import (
    arn_of,
    is_service_job,
    observe,
    seconds,
    training_job,
    training_request,
)

NOW = 1_800_000_000
ARN = "arn:aws:batch:us-east-1:123456789012:service-job/7b5f"
TRAINING_ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-job/AWSBatchnightly88b6"
CROSS = "Cross-share preemption triggered to reclaim borrowed capacity"
SHORT = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources"
NEVER = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) can't"


def at(second: float) -> int:
    return int((NOW + second) * 1000)


def described(status: str = "RUNNABLE", **more: Any) -> dict[str, Any]:
    return {
        "jobArn": ARN,
        "jobId": "7b5f",
        "jobName": "nightly-1",
        "jobQueue": "p5",
        "serviceJobType": "SAGEMAKER_TRAINING",
        "status": status,
        "createdAt": at(0),
        **more,
    }


def seen(status: str = "RUNNABLE", **more: Any) -> Observation:
    return observe(JobKind.TRAINING, described(status, **more))


def attempt(start: float | None = None, stop: float | None = None) -> dict[str, Any]:
    times = {"startedAt": start, "stoppedAt": stop}
    return {key: at(second) for key, second in times.items() if second is not None}


def preempted(*attempts: dict[str, Any]) -> dict[str, Any]:
    return {"preemptedAttemptCount": len(attempts), "recentPreemptedAttempts": list(attempts)}


# -- which job it is -----------------------------------------------------------------------------------------


def test_a_service_job_is_told_by_its_arn_and_by_its_description() -> None:
    assert is_service_job(ARN)
    assert not is_service_job(TRAINING_ARN)
    assert not is_service_job("nightly-1")
    assert arn_of(JobKind.TRAINING, described()) == ARN
    assert arn_of(JobKind.TRAINING, {"TrainingJobArn": TRAINING_ARN}) == TRAINING_ARN


def test_what_is_no_service_job_is_read_as_sagemakers_own() -> None:
    assert observe(JobKind.TRAINING, {"TrainingJobName": "j"}) == Observation("j", "InProgress")


def test_what_a_job_does_stands_in_its_payload_or_in_the_response_itself() -> None:
    request = {"HyperParameters": {"lr": "0.1"}}
    assert training_request(described(serviceRequestPayload=json.dumps(request))) == request
    assert training_request(request) is request


@pytest.mark.parametrize(
    ("latest", "name"),
    [
        (None, None),
        ({}, None),
        ({"serviceResourceId": {}}, None),
        ({"serviceResourceId": {"name": "TrainingJobArn", "value": TRAINING_ARN}}, "AWSBatchnightly88b6"),
    ],
)
def test_the_training_job_is_that_of_the_latest_attempt_once_it_has_one(
    latest: dict[str, Any] | None, name: str | None
) -> None:
    assert training_job(described(latestAttempt=latest)) == name


# -- while it lives ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", ["SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED"])
def test_it_waits_until_it_starts(status: str) -> None:
    job = seen(status, statusReason=SHORT, schedulingPriority=500)
    assert (job.status, job.secondary, job.is_terminal, job.has_capacity) == ("InProgress", status, False, False)
    assert (job.held_up_by, job.failure_reason) == (SHORT, "")
    assert (job.created, job.ended, job.lost_at, job.priority) == (NOW, None, None, 500)


def test_a_status_that_batch_adds_later_is_no_end() -> None:
    assert not seen("REPLACED").is_terminal


@pytest.mark.parametrize("status", ["STARTING", "RUNNING"])
def test_it_has_its_instances_from_when_it_starts(status: str) -> None:
    job = seen(status, startedAt=at(60), statusReason=SHORT)
    assert (job.has_capacity, job.capacity_at, job.lost_at) == (True, NOW + 60, None)
    assert job.held_up_by == "", "what held it up is past"


def test_a_job_that_starts_without_saying_when_has_capacity_all_the_same() -> None:
    job = seen("STARTING")
    assert job.has_capacity
    assert job.capacity_at is None


def test_a_job_that_is_tried_again_began_with_its_first_attempt_and_is_without_instances_since_the_last() -> None:
    job = seen("RUNNABLE", attempts=[attempt(60, 300), attempt(600, 900)])
    assert (job.capacity_at, job.lost_at) == (NOW + 60, NOW + 900)


def test_an_attempt_that_never_started_says_nothing_about_instances() -> None:
    job = seen("RUNNABLE", attempts=[attempt(None, 300)], startedAt=at(0))
    assert (job.capacity_at, job.lost_at, job.has_capacity) == (None, None, False)


def test_a_preempted_job_is_without_instances_since_it_was_preempted() -> None:
    job = seen("SCHEDULED", preemptionSummary=preempted(attempt(60, 500)))
    assert (job.capacity_at, job.lost_at) == (NOW + 60, NOW + 500)


def test_a_preempted_job_that_runs_again_has_lost_nothing() -> None:
    job = seen("RUNNING", startedAt=at(900), preemptionSummary=preempted(attempt(60, 500)), attempts=None)
    assert (job.capacity_at, job.lost_at) == (NOW + 60, None)


# -- how it ends ---------------------------------------------------------------------------------------------


def test_a_job_that_succeeded_is_completed() -> None:
    job = seen("SUCCEEDED", attempts=[attempt(60, 900)], stoppedAt=at(900), statusReason="Training job completed")
    assert (job.status, job.secondary, job.ended, job.lost_at) == ("Completed", None, NOW + 900, None)


@pytest.mark.parametrize(
    ("reason", "terminated", "status"),
    [
        ("Received status from SageMaker: AlgorithmError: exit code 1", False, "Failed"),
        ("Received status from SageMaker:InternalServerError: We encountered", True, "Failed"),
        (f"Terminated by JobStateTimeLimit action due to reason: {SHORT.partition(' - ')[0]}", True, "Failed"),
        (CROSS, True, "Failed"),
        (f"PREEMPTION_IN_PROGRESS: {CROSS}", True, "Failed"),
        ("In-share preemption triggered", True, "Failed"),
        ("Job attempt duration exceeded timeout", True, "Failed"),
        ("not needed any more", True, "Stopped"),
        ("airflow_sm_prefer: patience. No capacity.", True, "Stopped"),
        (None, True, "Stopped"),
        (None, False, "Failed"),
    ],
)
def test_a_persons_stop_is_told_from_an_end_of_batchs_own(reason: str | None, terminated: bool, status: str) -> None:
    job = seen("FAILED", statusReason=reason, isTerminated=terminated, stoppedAt=at(900))
    assert (job.status, job.failure_reason, job.held_up_by) == (status, reason or "", "")
    assert job.ended == NOW + 900


def test_a_job_that_failed_while_it_ran_lost_nothing_before() -> None:
    assert seen("FAILED", attempts=[attempt(60, 900)], stoppedAt=at(900.5)).lost_at is None


def test_a_job_that_ended_while_it_waited_for_new_instances_had_lost_its_own() -> None:
    job = seen("FAILED", preemptionSummary=preempted(attempt(60, 500)), stoppedAt=at(2300), isTerminated=True)
    assert job.lost_at == NOW + 500


def test_a_job_that_failed_without_saying_when_had_lost_its_instances_when_its_last_attempt_ended() -> None:
    assert seen("FAILED", attempts=[attempt(60, 900)]).lost_at == NOW + 900


@pytest.mark.parametrize(
    ("written", "read"),
    [(None, None), (0, None), (NOW, float(NOW)), (NOW * 1000, float(NOW)), (NOW * 1000 + 250, NOW + 0.25)],
)
def test_an_instant_is_read_in_the_references_unit_and_in_the_guides(written: int | None, read: float | None) -> None:
    assert seconds(written) == read


def test_it_is_said_as_which_training_job_it_runs_once_there_is_one() -> None:
    assert seen().training_job is None
    attempted = {"latestAttempt": {"serviceResourceId": {"name": "TrainingJobArn", "value": TRAINING_ARN}}}
    assert seen("RUNNING", **attempted).training_job == "AWSBatchnightly88b6"
