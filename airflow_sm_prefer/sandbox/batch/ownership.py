"""Which of AWS Batch's requests are about service jobs; all others are for the rest of Batch, which isn't ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.shown import KIND

_OURS = (":service-environment/", ":service-job/", ":scheduling-policy/", "/quota-share/")


def is_for_service_jobs(estate: Estate, operation: str, request: Mapping[str, Any]) -> bool:
    """Whether a request is about what an estate has, or may have.

    Job queues and tags are the two things that service jobs share with other jobs of Batch. A queue that names compute
    environments isn't ours, nor is whatever names only queues of others.
    """
    if operation == "CreateJobQueue":
        return bool(request.get("serviceEnvironmentOrder")) or request.get("jobQueueType") == KIND
    if "resourceArn" in request:
        arn = request["resourceArn"]
        return arn in estate.queues or any(kind in arn for kind in _OURS)
    named = request.get("jobQueues") or ([request["jobQueue"]] if operation.endswith("JobQueue") else [])
    return not named or any(one in {queue.name, queue.arn} for one in named for queue in estate.queues.values())
