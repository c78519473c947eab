"""How a training job's end reads to Batch, and whether the service job is tried again (service-job-retries)."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from airflow_sm_prefer.sandbox.job import Job


def found_no_capacity(job: Job, expiry_secondary: str) -> bool:
    """Whether Batch takes a training job's end for a shortage (sm_job_stuck_in_runnable_capacity).

    Args:
        job: An ended training job.
        expiry_secondary: The secondary status of one that has timed out in pending.
    """
    failed = job.status == "Failed" and (job.failure_reason or "").startswith("CapacityError")
    return failed or (job.status == "Stopped" and job.secondary == expiry_secondary)


def reason_of(job: Job) -> str:
    """Return the statusReason that a training job's end gives its service job."""
    return from_sagemaker(job.failure_reason or job.transitions[-1].message)


def from_sagemaker(text: str) -> str:
    """Return a statusReason for what SageMaker has said."""
    return f"Received status from SageMaker: {text}"


def is_tried_again(request: dict[str, Any], reason: str, attempts: int) -> bool:
    """Whether a service job that failed for a reason becomes RUNNABLE once more.

    The first rule that fits decides; if none does, it is tried again, as the page on container jobs says
    (job_retries). Patterns may have ``*`` anywhere, as AWS's examples do.

    Args:
        request: The SubmitServiceJob request.
        reason: The statusReason.
        attempts: How many have ended, this one included.
    """
    strategy = request.get("retryStrategy", {})
    if attempts >= strategy.get("attempts", 1):
        return False
    for rule in strategy.get("evaluateOnExit", []):
        if fnmatchcase(reason, _literal(rule.get("onStatusReason", "*"))):
            return bool(rule["action"] == "RETRY")
    return True


def _literal(pattern: str) -> str:
    """Return a pattern in which only ``*`` means anything."""
    return pattern.replace("[", "[[]").replace("?", "[?]")
