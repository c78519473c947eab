"""A job as AWS shows it, in one form for every kind of job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Self

#: Statuses that a job never leaves.
TERMINAL_STATUSES = frozenset({"Completed", "Failed", "Stopped"})

#: Secondary statuses of a training job that has instances, or has had them
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_SecondaryStatusTransition.html).
#: ``Starting`` is none of them: a job is Starting before it has capacity as well as after.
_WITH_INSTANCES = frozenset(
    {
        "Downloading",
        "DownloadingTrainingImage",
        "Training",
        "Uploading",
        "Interrupted",
        "Restarting",
        "Updating",
        "MaxRuntimeExceeded",
        # Of a service job of AWS Batch
        "STARTING",
        "RUNNING",
    }
)


class JobKind(StrEnum):
    """The kinds of job that SageMaker runs for us, and the keys that differ between them."""

    TRAINING = "training"
    PROCESSING = "processing"

    @property
    def word(self) -> str:
        """The word in AWS's keys and in our result: ``Training`` or ``Processing``."""
        return self.value.capitalize()

    @property
    def name_key(self) -> str:
        """The key of the job's name."""
        return f"{self.word}JobName"

    @property
    def arn_key(self) -> str:
        """The key of the job's ARN."""
        return f"{self.word}JobArn"

    @property
    def status_key(self) -> str:
        """The key of the job's status."""
        return f"{self.word}JobStatus"

    @property
    def resource_path(self) -> tuple[str, ...]:
        """Where the request says what to run on."""
        if self is JobKind.TRAINING:
            return ("ResourceConfig",)
        return ("ProcessingResources", "ClusterConfig")


def resources_of(kind: JobKind, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of a request or a Describe response that names instances; empty if there is none."""
    part: Any = request
    for key in kind.resource_path:
        part = part.get(key) or {}
    found: Mapping[str, Any] = part
    return found


@dataclass(frozen=True, slots=True)
class Observation:
    """One look at a job.

    Attributes:
        name: The job's name.
        status: ``InProgress``, ``Completed``, ``Failed``, ``Stopping``, ``Stopped`` or one that AWS adds later.
        secondary: The secondary status of a training job; processing jobs have none.
        failure_reason: Why it failed, in AWS's words; at most 1024 characters.
        selected_type: The instance type that AWS chose from the list, once it has.
        selected_count: How many of them.
        created: When the job was created, in seconds since 1970.
        capacity_at: When it had its instances, as far as that can be seen; None while it waits.
        ended: When it ended.
        training_plan_arn: The plan that it runs on, if it does.
        lost_at: Since when it has been without the instances that it had, or was when it ended; None if it has some.
        held_up_by: Why a service job of AWS Batch waits, in AWS's words, if AWS says.
        priority: The scheduling priority of a service job.
        training_job: The training job of a service job's latest attempt; None before there is one.
    """

    name: str
    status: str
    secondary: str | None = None
    failure_reason: str = ""
    selected_type: str | None = None
    selected_count: int | None = None
    created: float | None = None
    capacity_at: float | None = None
    ended: float | None = None
    training_plan_arn: str | None = None
    lost_at: float | None = None
    held_up_by: str = ""
    priority: int | None = None
    training_job: str | None = None

    @property
    def is_terminal(self) -> bool:
        """Whether the job is over. A status that this version doesn't know is not an end."""
        return self.status in TERMINAL_STATUSES

    @property
    def has_capacity(self) -> bool:
        """Whether the job has, or has had, instances to run on."""
        return (
            self.selected_type is not None
            or self.capacity_at is not None
            or self.secondary in _WITH_INSTANCES
            or self.status == "Completed"
        )

    @classmethod
    def from_describe(cls, kind: JobKind, response: Mapping[str, Any]) -> Self:
        """Read a DescribeTrainingJob or DescribeProcessingJob response; every key but the name may be absent."""
        resources = resources_of(kind, response)
        started = response.get(f"{kind.word}StartTime")
        return cls(
            name=response[kind.name_key],
            status=response.get(kind.status_key, "InProgress"),
            secondary=response.get("SecondaryStatus"),
            failure_reason=response.get("FailureReason") or response.get("ExitMessage") or "",
            selected_type=resources.get("SelectedInstanceType"),
            selected_count=resources.get("SelectedInstanceCount"),
            created=_seconds(response.get("CreationTime")),
            capacity_at=_earliest(started, _end_of_waiting(response)),
            ended=_seconds(response.get(f"{kind.word}EndTime")),
            training_plan_arn=resources.get("TrainingPlanArn") or response.get("TrainingPlanArn"),
            lost_at=_lost_at(response),
        )


def _end_of_waiting(response: Mapping[str, Any]) -> Any:
    """Return when the first status began that only a job with instances has."""
    transitions = response.get("SecondaryStatusTransitions") or ()
    return next((t.get("StartTime") for t in transitions if t.get("Status") in _WITH_INSTANCES), None)


def _lost_at(response: Mapping[str, Any]) -> float | None:
    """Return since when a job waits for instances again, by its statuses; how it ends changes nothing about that."""
    ran, lost = False, None
    for transition in response.get("SecondaryStatusTransitions") or ():
        status = transition.get("Status")
        if status in {"Interrupted", "Pending"} and ran:
            lost = lost or _seconds(transition.get("StartTime"))
        elif status in _WITH_INSTANCES:
            ran, lost = True, None
    return lost


def _earliest(*times: Any) -> float | None:
    return min((t for t in map(_seconds, times) if t is not None), default=None)


def _seconds(value: Any) -> float | None:
    return value.timestamp() if isinstance(value, datetime) else value
