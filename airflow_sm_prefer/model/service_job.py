"""A service job of AWS Batch, read into the form that all jobs have.

Behind a service job are SageMaker training jobs that come and go: each attempt has one of its own, and Batch deletes
old ones (https://docs.aws.amazon.com/batch/latest/userguide/service-job-retries.html). So nothing but the service job
itself is relied on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from airflow_sm_prefer.model.job import JobKind, Observation

#: In which the job has instances (https://docs.aws.amazon.com/batch/latest/userguide/service-job-status.html).
_WITH_INSTANCES = frozenset({"STARTING", "RUNNING"})

#: What the ends of a service job are at SageMaker.
TERMINAL = {"SUCCEEDED": "Completed", "FAILED": "Failed"}

#: Ends of a job that is marked as terminated though no person did it: a time limit of the queue or of an attempt, a
#: preemption that was one too many, and what SageMaker said.
_ENDED_BY_BATCH = re.compile(
    r"Terminated by JobStateTimeLimit|(PREEMPTION_IN_PROGRESS: )?(Cross|In)-share preemption|Received status from"
    r"|(Service )?[Jj]ob attempt duration exceeded"
)

_SERVICE_JOB = ":service-job/"


def is_service_job(handle: str) -> bool:
    """Whether what a job is called by is a service job's ARN; SageMaker's jobs are called by their names."""
    return _SERVICE_JOB in handle


def observe(kind: JobKind, described: Mapping[str, Any]) -> Observation:
    """Read what AWS says of a job: a service job's Describe response, or that of SageMaker's own."""
    if "serviceJobType" in described:
        return _of_service_job(described)
    return Observation.from_describe(kind, described)


def arn_of(kind: JobKind, described: Mapping[str, Any]) -> str:
    """Return a job's ARN, from its Describe response."""
    arn: str = described["jobArn"] if "serviceJobType" in described else described[kind.arn_key]
    return arn


def training_request(described: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what says what a job does: of a service job its payload, else the request or response itself."""
    payload = described.get("serviceRequestPayload")
    if payload is None:
        return described
    read: Mapping[str, Any] = json.loads(payload)
    return read


def training_job(described: Mapping[str, Any]) -> str | None:
    """Return the name of the training job of a service job's latest attempt; None before there is one."""
    latest = (described.get("latestAttempt") or {}).get("serviceResourceId") or {}
    arn = latest.get("value") or ""
    return arn.rpartition("training-job/")[2] or None


def _of_service_job(described: Mapping[str, Any]) -> Observation:
    status, reason = described["status"], described.get("statusReason") or ""
    began = _earliest(start for start, _ in _attempts(described))
    is_over = status in TERMINAL
    return Observation(
        name=described["jobName"],
        training_job=training_job(described),
        status=_end(described, status, reason) if is_over else "InProgress",
        secondary=None if is_over else status,
        failure_reason=reason if is_over else "",
        created=seconds(described.get("createdAt")),
        capacity_at=began,
        ended=seconds(described.get("stoppedAt")) if is_over else None,
        lost_at=_lost_at(described),
        held_up_by="" if is_over or status in _WITH_INSTANCES else reason,
        priority=described.get("schedulingPriority"),
    )


def _end(described: Mapping[str, Any], status: str, reason: str) -> str:
    if status == "FAILED" and described.get("isTerminated") and not _ENDED_BY_BATCH.match(reason):
        return "Stopped"
    return TERMINAL[status]


def _attempts(described: Mapping[str, Any]) -> Iterator[tuple[float, float | None]]:
    """Give when each attempt that had instances began, and when it ended, as far as it did."""
    preempted = (described.get("preemptionSummary") or {}).get("recentPreemptedAttempts") or ()
    if described["status"] in _WITH_INSTANCES and (start := seconds(described.get("startedAt"))) is not None:
        yield start, None
    for attempt in (*(described.get("attempts") or ()), *preempted):
        if (start := seconds(attempt.get("startedAt"))) is not None:
            yield start, seconds(attempt.get("stoppedAt"))


def _lost_at(described: Mapping[str, Any]) -> float | None:
    """Return since when a job is without instances that had some, or was when it ended."""
    if described["status"] in _WITH_INSTANCES or described["status"] == "SUCCEEDED":
        return None
    ends = [end for _, end in _attempts(described) if end is not None]
    over = seconds(described.get("stoppedAt")) if described["status"] == "FAILED" else None
    if not ends or (over is not None and over - max(ends) < 1.0):
        return None
    return max(ends)


def _earliest(times: Iterator[float]) -> float | None:
    return min(times, default=None)


def seconds(instant: float | None) -> float | None:
    """Read an instant: milliseconds by the API's reference, seconds in the user guide's samples."""
    if not instant:
        return None
    return instant / 1000.0 if instant > 1e11 else float(instant)
