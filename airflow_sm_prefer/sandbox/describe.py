"""What Describe and List show of a job. A key without a value is left out, never null."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.sandbox import defaults
from airflow_sm_prefer.sandbox.job import Job, Transition
from airflow_sm_prefer.sandbox.kinds import JobKind

_HIDDEN = {"Tags", "SessionChainingConfig"}
"""Members of the Create request that Describe doesn't show."""


def describe(job: Job, now: float | None = None) -> dict[str, Any]:
    """Return a job as DescribeTrainingJob or DescribeProcessingJob shows it.

    Args:
        job: Which.
        now: The present instant, up to which a warm pool has been billed; without it, the last change.
    """
    shown = {key: value for key, value in job.request.items() if key not in _HIDDEN}
    if job.kind is JobKind.TRAINING:
        shown = defaults.training(shown) | _common(job) | _training(job)
        shown["ResourceConfig"] = _resources(job, shown["ResourceConfig"])
        shown["WarmPoolStatus"] = _pool(job, job.modified if now is None else now)
    else:
        shown = defaults.processing(shown) | _common(job)
        resources = shown["ProcessingResources"]
        resources["ClusterConfig"] = _resources(job, resources["ClusterConfig"])
    return without_none(shown)


def summary(job: Job, now: float) -> dict[str, Any]:
    """Return a job as a List shows it: nothing about what it runs on."""
    shown = _common(job)
    if job.kind is JobKind.TRAINING:
        shown |= {"SecondaryStatus": job.secondary, "TrainingPlanArn": job.plan_arn}
        shown["WarmPoolStatus"] = _pool(job, now)
        for key in ("FailureReason", "TrainingStartTime"):
            del shown[key]
    else:
        del shown["ProcessingStartTime"]
    return without_none(shown)


def without_none(value: dict[str, Any]) -> dict[str, Any]:
    """Return the members that have a value."""
    return {key: member for key, member in value.items() if member is not None}


def _common(job: Job) -> dict[str, Any]:
    title = job.kind.word
    shown = {
        f"{title}JobName": job.name,
        f"{title}JobArn": job.arn,
        f"{title}JobStatus": job.status,
        "CreationTime": job.created,
        "LastModifiedTime": job.modified,
        f"{title}StartTime": job.started,
        f"{title}EndTime": job.ended,
        "FailureReason": job.failure_reason,
    }
    if job.kind is JobKind.PROCESSING:
        shown["ExitMessage"] = job.exit_message
    return shown


def _training(job: Job) -> dict[str, Any]:
    ran = None
    if job.started is not None and job.ended is not None:
        ran = max(1, round(job.ended - job.started))
    artifacts = {"S3ModelArtifacts": job.model_artifacts} if job.model_artifacts else None
    return {
        "SecondaryStatus": job.secondary,
        "SecondaryStatusTransitions": [_transition(t) for t in job.transitions],
        "ModelArtifacts": artifacts,
        "TrainingTimeInSeconds": ran,
        "BillableTimeInSeconds": ran,
    }


def _pool(job: Job, now: float) -> dict[str, Any] | None:
    if job.pool is None:
        return None
    return {"Status": job.pool.status.value, "ResourceRetainedBillableTimeInSeconds": job.pool.retained(now)}


def _transition(transition: Transition) -> dict[str, Any]:
    return without_none(
        {
            "Status": transition.status,
            "StartTime": transition.start,
            "EndTime": transition.end,
            "StatusMessage": transition.message,
        }
    )


def _resources(job: Job, asked: dict[str, Any]) -> dict[str, Any]:
    """Add what was selected, for lists only; a top-level InstanceType is never made up."""
    if job.selected is None or not job.demand.reports_selection:
        return asked
    return {
        **asked,
        "SelectedInstanceType": job.selected.instance_type,
        "SelectedInstanceCount": job.selected.count,
    }
