"""What AWS shows of a task's job at its end, for the task's result."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.service_job import is_service_job, training_job


def describe_all(
    jobs: PatientJobs, kind: JobKind, handle: str, described: dict[str, Any] | None = None
) -> dict[str, dict[str, Any]]:
    """Return the Describe responses about a job under the words that the result has for them.

    Args:
        jobs: The calls.
        kind: The kind of job.
        handle: What AWS calls it by.
        described: What AWS has said of it just now; None asks.

    Returns:
        ``{"Training": …}`` or ``{"Processing": …}``. Of a service job ``{"ServiceJob": …, "Training": …}``, the former
        without its payload, the latter of the training job of its latest attempt: Batch deletes old ones, so that it
        is left out where it is gone.
    """
    described = described or jobs.describe(handle)
    if not is_service_job(handle):
        return {kind.word: described}
    shown = {"ServiceJob": {key: value for key, value in described.items() if key != "serviceRequestPayload"}}
    name = training_job(described)
    latest = jobs.find(name) if name is not None else None
    return shown if latest is None else {**shown, kind.word: latest}
