"""EventBridge events of service jobs (service-job-events, batch-service-job-queue-blocked-events, …-preemption-events).

Their detail is what DescribeServiceJob shows, but for tags and payload. There is none for the submission itself.
"""

from __future__ import annotations

import json
from typing import Any

from airflow_sm_prefer.sandbox.batch.service_job import Attempt, ServiceJob
from airflow_sm_prefer.sandbox.batch.shown import NOT_IN_EVENTS, describe, preemptions

Event = dict[str, Any]


def state_change(job: ServiceJob, instant: float) -> Event:
    """Return the PutEvents entry for a job's present state."""
    return _event("Batch Service Job State Change", job, instant, _detail(job))


def blocked(job: ServiceJob, instant: float) -> Event:
    """Return the entry for a job that blocks its queue."""
    return _event("Batch Service Job Queue Blocked", job, instant, _detail(job))


def preemption_started(job: ServiceJob, attempt: Attempt, instant: float) -> Event:
    """Return the entry for a job whose instances another is to have."""
    detail = {
        "statusReason": f"PREEMPTION_IN_PROGRESS: {attempt.cause}",
        "preemptedJobArn": job.arn,
        "status": job.status,
    }
    return _event("Batch Service Job Preemption Started", job, instant, detail)


def preemption_completed(job: ServiceJob, instant: float) -> Event:
    """Return the entry for a job that has given its instances back."""
    detail = {"preemptedJobArn": job.arn, "preemptionSummary": preemptions(job), "status": job.status}
    return _event("Batch Service Job Preemption Completed", job, instant, detail)


def _detail(job: ServiceJob) -> dict[str, Any]:
    return {name: value for name, value in describe(job).items() if name not in NOT_IN_EVENTS}


def _event(title: str, job: ServiceJob, instant: float, detail: dict[str, Any]) -> Event:
    return {
        "Source": "aws.batch",
        "DetailType": title,
        "Resources": [job.arn],
        "Time": instant,
        "Detail": json.dumps(detail),
    }
