from __future__ import annotations

from datetime import UTC, datetime

import pytest

from airflow_sm_prefer.model.job import JobKind, Observation, resources_of


def at(second: int) -> datetime:
    return datetime.fromtimestamp(1_800_000_000 + second, UTC)


def test_a_response_with_nothing_but_a_name_is_a_job_in_progress() -> None:
    job = Observation.from_describe(JobKind.TRAINING, {"TrainingJobName": "j"})
    assert job == Observation("j", "InProgress")
    assert not job.is_terminal
    assert not job.has_capacity


def test_a_training_jobs_response_is_read_in_full() -> None:
    job = Observation.from_describe(
        JobKind.TRAINING,
        {
            "TrainingJobName": "j",
            "TrainingJobStatus": "Failed",
            "SecondaryStatus": "Failed",
            "FailureReason": "AlgorithmError: x",
            "ResourceConfig": {
                "SelectedInstanceType": "ml.g5.xlarge",
                "SelectedInstanceCount": 2,
                "TrainingPlanArn": "arn:plan",
            },
            "CreationTime": at(0),
            "TrainingStartTime": at(30),
            "TrainingEndTime": at(90),
            "SecondaryStatusTransitions": [
                {"Status": "Starting", "StartTime": at(0)},
                {"Status": "Pending", "StartTime": at(1)},
                {"Status": "Downloading", "StartTime": at(20)},
            ],
        },
    )
    assert (job.selected_type, job.selected_count, job.training_plan_arn) == ("ml.g5.xlarge", 2, "arn:plan")
    assert (job.created, job.capacity_at, job.ended) == (1_800_000_000, 1_800_000_020, 1_800_000_090)
    assert job.is_terminal
    assert job.failure_reason == "AlgorithmError: x"


def test_a_processing_jobs_response_is_read_in_full() -> None:
    job = Observation.from_describe(
        JobKind.PROCESSING,
        {
            "ProcessingJobName": "p",
            "ProcessingJobStatus": "Stopped",
            "ExitMessage": "by hand",
            "ProcessingResources": {"ClusterConfig": {"SelectedInstanceType": "ml.m5.xlarge"}},
            "ProcessingStartTime": at(30),
        },
    )
    assert (job.selected_type, job.capacity_at, job.failure_reason) == ("ml.m5.xlarge", 1_800_000_030, "by hand")
    assert job.secondary is None


@pytest.mark.parametrize(
    ("job", "has"),
    [
        (Observation("j", "InProgress", "Starting"), False),
        (Observation("j", "InProgress", "Pending"), False),
        (Observation("j", "InProgress", "Downloading"), True),
        (Observation("j", "InProgress", "Interrupted"), True),
        (Observation("j", "InProgress", "Starting", selected_type="ml.g5.xlarge"), True),
        (Observation("j", "InProgress", capacity_at=1.0), True),
        (Observation("j", "Completed"), True),
        (Observation("j", "Stopped", "Stopped"), False),
    ],
)
def test_capacity_shows_in_several_ways_and_starting_is_none_of_them(job: Observation, has: bool) -> None:
    assert job.has_capacity is has


def test_a_status_that_is_not_known_is_no_end() -> None:
    assert not Observation("j", "Deleting").is_terminal


def test_keys_differ_by_kind() -> None:
    assert JobKind.PROCESSING.name_key == "ProcessingJobName"
    assert JobKind.TRAINING.arn_key == "TrainingJobArn"
    assert JobKind.TRAINING.status_key == "TrainingJobStatus"
    assert resources_of(JobKind.PROCESSING, {"ProcessingResources": None}) == {}


@pytest.mark.parametrize(
    ("statuses", "lost_at"),
    [
        (["Starting", "Pending"], None),
        (["Pending", "Downloading", "Training"], None),
        (["Downloading", "Training", "Interrupted"], 2),
        (["Downloading", "Interrupted", "Pending"], 1),
        (["Training", "Interrupted", "Starting"], 1),
        (["Training", "Interrupted", "Starting", "Downloading"], None),
        (["Training", "Interrupted", "Training", "Interrupted"], 3),
        (["Training", "Interrupted", "Stopping", "Stopped"], 1),
        (["Training", "Pending"], 1),
    ],
)
def test_since_when_a_job_is_without_its_instances_is_read_from_its_statuses(
    statuses: list[str], lost_at: int | None
) -> None:
    transitions = [{"Status": status, "StartTime": at(n)} for n, status in enumerate(statuses)]
    response = {"TrainingJobName": "t", "SecondaryStatusTransitions": transitions}
    lost = Observation.from_describe(JobKind.TRAINING, response).lost_at
    assert lost == (None if lost_at is None else 1_800_000_000 + lost_at)
