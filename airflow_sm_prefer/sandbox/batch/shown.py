"""What Describe and List show. A key without a value is left out, never null; instants are epoch milliseconds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import Environment, Queue, QuotaShare, SchedulingPolicy
from airflow_sm_prefer.sandbox.batch.service_job import Attempt, ServiceJob
from airflow_sm_prefer.sandbox.describe import without_none

KIND = "SAGEMAKER_TRAINING"
NOT_IN_EVENTS = ("tags", "serviceRequestPayload")
"""Members of DescribeServiceJob that events don't have (service-job-events)."""

Shown = dict[str, Any]


def environment(one: Environment, elapsed: float) -> Shown:
    """Return a service environment."""
    return {
        "serviceEnvironmentName": one.name,
        "serviceEnvironmentArn": one.arn,
        "serviceEnvironmentType": KIND,
        "state": one.state,
        "status": one.status(elapsed),
        "capacityLimits": _limits(one.limits),
        "tags": dict(one.tags),
    }


def queue(one: Queue, elapsed: float) -> Shown:
    """Return a job queue."""
    return without_none(
        {
            "jobQueueName": one.name,
            "jobQueueArn": one.arn,
            "state": one.state,
            "schedulingPolicyArn": one.policy,
            "status": one.status(elapsed),
            "statusReason": "JobQueue Healthy",
            "priority": one.priority,
            "computeEnvironmentOrder": [],
            "serviceEnvironmentOrder": [{"order": one.order, "serviceEnvironment": one.environment}],
            "jobQueueType": KIND,
            "tags": dict(one.tags),
            "jobStateTimeLimitActions": one.time_limits or None,
        }
    )


def policy(one: SchedulingPolicy) -> Shown:
    """Return a scheduling policy."""
    shown = {"name": one.name, "arn": one.arn, "tags": dict(one.tags)}
    return shown | without_none({"fairsharePolicy": one.fairshare, "quotaSharePolicy": one.quota_share})


def share(one: QuotaShare, elapsed: float) -> Shown:
    """Return a quota share, but for its tags."""
    sharing: Shown = {"strategy": one.strategy}
    if one.strategy == "LEND_AND_BORROW":
        sharing["borrowLimit"] = one.borrow_limit
    return {
        "quotaShareName": one.name,
        "quotaShareArn": one.arn,
        "jobQueueArn": one.queue,
        "capacityLimits": _limits(one.limits),
        "resourceSharingConfiguration": sharing,
        "preemptionConfiguration": {"inSharePreemption": one.in_share_preemption},
        "state": one.state,
        "status": one.status(elapsed),
    }


def summary(job: ServiceJob) -> Shown:
    """Return a service job as a List shows it.

    ``startedAt`` is required by botocore's model of Describe, but AWS's samples of waiting jobs don't have it.
    """
    return without_none(
        {
            "jobArn": job.arn,
            "jobId": job.job_id,
            "jobName": job.name,
            "serviceJobType": KIND,
            "shareIdentifier": job.request.get("shareIdentifier"),
            "quotaShareName": job.request.get("quotaShareName"),
            "status": job.status,
            "statusReason": job.reason,
            "createdAt": milliseconds(job.created),
            "scheduledAt": milliseconds(job.scheduled),
            "startedAt": milliseconds(job.started),
            "stoppedAt": milliseconds(job.stopped),
            "isTerminated": job.is_terminated,
            "latestAttempt": _latest(job),
            "capacityUsage": capacity(job),
        }
    )


def describe(job: ServiceJob) -> Shown:
    """Return a service job as DescribeServiceJob shows it."""
    return summary(job) | without_none(
        {
            "jobQueue": job.queue,
            "attempts": [_attempt(attempt) for attempt in job.attempts],
            "retryStrategy": {"attempts": 1, "evaluateOnExit": [], **job.request.get("retryStrategy", {})},
            "schedulingPriority": job.priority,
            "serviceRequestPayload": job.request["serviceRequestPayload"],
            "preemptionConfiguration": job.request.get("preemptionConfiguration"),
            "preemptionSummary": preemptions(job) if job.preemptions else None,
            "timeoutConfig": job.request.get("timeoutConfig"),
            "tags": dict(job.tags),
        }
    )


def preemptions(job: ServiceJob) -> Shown:
    """Return the summary of a job's preemptions."""
    return {
        "preemptedAttemptCount": job.preemptions,
        "recentPreemptedAttempts": [_attempt(attempt) for attempt in job.preempted],
    }


def capacity(job: ServiceJob) -> list[Shown]:
    """Return what a job asks for: "for service jobs, this is the instance type" (ServiceJobCapacityUsageDetail)."""
    return [{"capacityUnit": job.instance_type, "quantity": float(job.instances)}]


def milliseconds(instant: float | None) -> int | None:
    """Return an instant as Batch shows it."""
    return None if instant is None else int(instant * 1000)


def overview(estate: Estate) -> Shown:
    """Return what an account has, for whoever controls the sandbox: limits, and by queue how many jobs are how far."""
    return {
        "account": estate.caller.account,
        "region": estate.caller.region,
        "environments": {one.name: dict(one.limits) for one in estate.environments.values()},
        "queues": {
            one.name: dict(Counter(job.status for job in estate.live_in(one))) for one in estate.queues.values()
        },
    }


def _attempt(attempt: Attempt) -> Shown:
    return without_none(
        {
            "serviceResourceId": _resource(attempt),
            "startedAt": milliseconds(attempt.started),
            "stoppedAt": milliseconds(attempt.stopped),
            "statusReason": attempt.reason,
        }
    )


def _latest(job: ServiceJob) -> Shown | None:
    resource = None if job.latest is None else _resource(job.latest)
    return None if resource is None else {"serviceResourceId": resource}


def _resource(attempt: Attempt) -> Shown | None:
    return None if attempt.arn is None else {"name": "TrainingJobArn", "value": attempt.arn}


def _limits(limits: Mapping[str, int]) -> list[Shown]:
    return [{"maxCapacity": count, "capacityUnit": unit} for unit, count in limits.items()]
