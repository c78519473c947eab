"""Every operation of AWS Batch that the sandbox has, on jobs in every state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.unit.sandbox.batch.bench import submission
from tests.unit.sandbox.builders import G5, single, training

KIND = "SAGEMAKER_TRAINING"
LIMIT = {
    "reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
    "state": "RUNNABLE",
    "maxTimeSeconds": 600,
    "action": "TERMINATE",
}


def call_everything(batch: Any, advance: Callable[[float], None]) -> None:
    """Make queues of all three sorts, have jobs wait, run, end, and be preempted, and delete everything.

    Args:
        batch: The client; jobs of the sandbox whose name begins with ``long`` don't end by themselves.
        advance: Lets the sandbox's seconds pass.
    """
    _environment(batch, "all", "NUM_INSTANCES")
    _environment(batch, "types", G5)
    fair = batch.create_scheduling_policy(
        name="fair", fairsharePolicy={"shareDistribution": [{"shareIdentifier": "red", "weightFactor": 0.5}]}
    )["arn"]
    managed = batch.create_scheduling_policy(
        name="managed", quotaSharePolicy={"idleResourceAssignmentStrategy": "FIFO"}, tags={"a": "1"}
    )["arn"]
    _queue(batch, "fifo", "all", jobStateTimeLimitActions=[LIMIT])
    _queue(batch, "fair", "all", schedulingPolicyArn=fair)
    arn = _queue(batch, "managed", "types", schedulingPolicyArn=managed)
    shares = [_share(batch, name) for name in ("red", "blue")]
    jobs = _submit(batch)
    _look(batch, jobs, shares, [fair, managed])
    advance(60)
    jobs.append(_job(batch, "blue", "managed", quotaShareName="blue"))
    advance(10)
    batch.update_service_job(jobId=jobs[0], schedulingPriority=5)
    _look(batch, jobs, shares, [fair, managed])
    advance(1000)
    _look(batch, jobs, shares, [fair, managed])
    batch.tag_resource(resourceArn=arn, tags={"b": "2"})
    batch.list_tags_for_resource(resourceArn=arn)
    batch.untag_resource(resourceArn=arn, tagKeys=["b"])
    batch.terminate_service_job(jobId=jobs[0], reason="enough")
    batch.terminate_service_jobs(jobs=jobs, reason="enough")
    advance(200)
    _look(batch, jobs, shares, [fair, managed])
    _delete(batch, advance, shares, [fair, managed])


def _environment(batch: Any, name: str, unit: str) -> None:
    limits = [{"maxCapacity": 2, "capacityUnit": unit}]
    batch.create_service_environment(
        serviceEnvironmentName=name, serviceEnvironmentType=KIND, capacityLimits=limits, tags={"a": "1"}
    )
    batch.update_service_environment(serviceEnvironment=name, capacityLimits=limits)


def _queue(batch: Any, name: str, environment: str, **more: Any) -> str:
    order = [{"order": 1, "serviceEnvironment": environment}]
    made = batch.create_job_queue(
        jobQueueName=name, jobQueueType=KIND, priority=1, serviceEnvironmentOrder=order, tags={"a": "1"}, **more
    )
    arn: str = made["jobQueueArn"]
    return arn


def _share(batch: Any, name: str) -> str:
    made = batch.create_quota_share(
        quotaShareName=name,
        jobQueue="managed",
        capacityLimits=[{"maxCapacity": 1, "capacityUnit": G5}],
        resourceSharingConfiguration={"strategy": "LEND_AND_BORROW", "borrowLimit": 100},
        preemptionConfiguration={"inSharePreemption": "ENABLED"},
        tags={"a": "1"},
    )
    arn: str = made["quotaShareArn"]
    return arn


def _submit(batch: Any) -> list[str]:
    everything = {
        "retryStrategy": {"attempts": 2, "evaluateOnExit": [{"action": "EXIT", "onStatusReason": "*"}]},
        "schedulingPriority": 1,
        "timeoutConfig": {"attemptDurationSeconds": 900},
        "preemptionConfiguration": {"preemptionRetriesBeforeTermination": 5},
        "tags": {"a": "1"},
        "clientToken": "once",
    }
    return [
        *(
            _job(batch, "long", "managed", quotaShareName="red", **everything | {"clientToken": f"t{i}"})
            for i in (1, 2)
        ),
        _job(batch, "done", "fair", shareIdentifier="red"),
        _job(batch, "fails", "fifo"),
        _job(batch, "waits", "fifo", count=2),
        _job(batch, "refused", "fair", shareIdentifier="blue", refused=True),
    ]


def _job(batch: Any, name: str, queue: str, *, count: int = 1, refused: bool = False, **more: Any) -> str:
    payload = training(name, single(G5, count))
    if refused:
        del payload["RoleArn"]
    job_id: str = batch.submit_service_job(**submission(name, queue, payload=payload, **more))["jobId"]
    return job_id


def _look(batch: Any, jobs: list[str], shares: list[str], policies: list[str]) -> None:
    for job_id in jobs:
        batch.describe_service_job(jobId=job_id)
    for queue in ("fifo", "fair", "managed"):
        batch.get_job_queue_snapshot(jobQueue=queue)
        batch.list_service_jobs(jobQueue=queue)
        batch.list_service_jobs(jobQueue=queue, maxResults=1, filters=[{"name": "JOB_NAME", "values": ["*"]}])
    batch.describe_job_queues()
    batch.describe_service_environments(maxResults=1)
    batch.describe_scheduling_policies(arns=policies)
    batch.list_scheduling_policies(maxResults=1)
    batch.list_quota_shares(jobQueue="managed")
    for arn in shares:
        batch.describe_quota_share(quotaShareArn=arn)


def _delete(batch: Any, advance: Callable[[float], None], shares: list[str], policies: list[str]) -> None:
    for arn in shares:
        batch.update_quota_share(quotaShareArn=arn, state="DISABLED")
        batch.delete_quota_share(quotaShareArn=arn)
    for queue in ("fifo", "fair", "managed"):
        batch.update_job_queue(jobQueue=queue, state="DISABLED")
        batch.delete_job_queue(jobQueue=queue)
    advance(1)
    batch.update_scheduling_policy(arn=policies[0], fairsharePolicy={})
    for arn in policies:
        batch.delete_scheduling_policy(arn=arn)
    for environment in ("all", "types"):
        batch.update_service_environment(serviceEnvironment=environment, state="DISABLED")
        batch.delete_service_environment(serviceEnvironment=environment)
