"""Raising and lowering the priority of a service job that waits, or runs and could be preempted."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.aws.calls import call, paged
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.queues_there import name_in
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.service_job import TERMINAL
from airflow_sm_prefer.model.written import joined


def update_priority(client: Any, job: str, priority: int, queue: str | None = None) -> str:
    """Give a service job another scheduling priority, and return the job's id.

    It counts within the job's share, from the next time that AWS Batch looks at the queue, and for a job that runs in a
    quota share, when one is to be preempted.

    Args:
        client: A boto3 ``batch`` client.
        job: The job's id or ARN; with a queue, its name.
        priority: The priority, 0 to 9999; the higher goes first.
        queue: The name or ARN of the queue that a job of that name is in.

    Raises:
        InvalidSetting: there is no such job, or the queue has none that waits or runs, or several.
        CallFailed: AWS refused it, or didn't answer.
    """
    job_id = name_in(job) if queue is None else _live_job(client, job, queue)
    try:
        call(client.update_service_job, jobId=job_id, schedulingPriority=priority)
    except CallFailed as failed:
        if queue is not None or failed.failure.kind is not FailureKind.NOT_FOUND:
            raise
        msg = f"{failed}\nWithout a queue a job is named by its id or ARN; to name it by its name, say in which queue."
        raise InvalidSetting(msg) from failed
    return job_id


def _live_job(client: Any, name: str, queue: str) -> str:
    # The filter is blind to case, and takes a * at the end for anything.
    rows = paged(
        client.list_service_jobs,
        "jobSummaryList",
        jobQueue=queue,
        filters=[{"name": "JOB_NAME", "values": [name]}],
    )
    ids = [row["jobId"] for row in rows if row["jobName"] == name and row.get("status") not in TERMINAL]
    if not ids:
        msg = f"No job of the name {name!r} waits or runs in queue {queue}; it may be over, or in another queue."
        raise InvalidSetting(msg)
    if len(ids) > 1:
        msg = f"{len(ids)} jobs of the name {name!r} are in queue {queue}. Name one by its id: {joined(ids[:5])}."
        raise InvalidSetting(msg)
    only: str = ids[0]
    return only
