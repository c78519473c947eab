"""Queues in a sandbox for tests, and operators that use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_sm_prefer import BatchPreferTrainingOperator

from .harness import TRAINING, Airflow, client

HOUR = 3600.0


def batch(airflow: Airflow) -> Any:
    return client(airflow, "batch")


def environment(airflow: Airflow, name: str, limits: Mapping[str, int]) -> str:
    given = [{"capacityUnit": unit, "maxCapacity": most} for unit, most in limits.items()]
    made = batch(airflow).create_service_environment(
        serviceEnvironmentName=name, serviceEnvironmentType="SAGEMAKER_TRAINING", capacityLimits=given
    )
    arn: str = made["serviceEnvironmentArn"]
    return arn


def queue(airflow: Airflow, name: str, *, instances: int = 1, policy: str | None = None, **more: Any) -> str:
    """Make a queue with an environment of its own."""
    limits = more.pop("limits", {"NUM_INSTANCES": instances})
    scheduling = {} if policy is None else {"schedulingPolicyArn": policy}
    made = batch(airflow).create_job_queue(
        jobQueueName=name,
        jobQueueType="SAGEMAKER_TRAINING",
        priority=1,
        serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": environment(airflow, f"{name}-env", limits)}],
        **scheduling,
        **more,
    )
    arn: str = made["jobQueueArn"]
    return arn


def fair_share(airflow: Airflow, **weights: float) -> str:
    shares = [{"shareIdentifier": name, "weightFactor": weight} for name, weight in weights.items()]
    arn: str = batch(airflow).create_scheduling_policy(name="fair", fairsharePolicy={"shareDistribution": shares})[
        "arn"
    ]
    return arn


def quota_shares(airflow: Airflow) -> str:
    policy = {"idleResourceAssignmentStrategy": "FIFO"}
    arn: str = batch(airflow).create_scheduling_policy(name="quotas", quotaSharePolicy=policy)["arn"]
    return arn


def quota_share(airflow: Airflow, of: str, name: str, limits: Mapping[str, int], *, preempts: bool = False) -> None:
    batch(airflow).create_quota_share(
        quotaShareName=name,
        jobQueue=of,
        capacityLimits=[{"capacityUnit": unit, "maxCapacity": most} for unit, most in limits.items()],
        resourceSharingConfiguration={"strategy": "LEND_AND_BORROW"},
        preemptionConfiguration={"inSharePreemption": "ENABLED" if preempts else "DISABLED"},
    )


def training(prefer: Sequence[Any] | None, **arguments: Any) -> BatchPreferTrainingOperator:
    config = {**TRAINING, "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints"}}
    # These jobs write no log, and for hours a log that may yet come is asked for.
    few_calls = {"check_interval": 60, "print_log": False}
    return BatchPreferTrainingOperator(
        **{"task_id": "train", "config": config, "prefer": prefer, **few_calls, **arguments}
    )


def service_jobs(airflow: Airflow, *queues: str) -> list[dict[str, Any]]:
    """Return all service jobs of some queues, described, in order of their submission."""
    found = []
    for name in queues:
        after = [{"name": "AFTER_CREATED_AT", "values": ["1"]}]
        rows = batch(airflow).list_service_jobs(jobQueue=name, filters=after)["jobSummaryList"]
        found += [batch(airflow).describe_service_job(jobId=row["jobId"]) for row in rows]
    return sorted(found, key=lambda job: job["createdAt"])


def occupy(airflow: Airflow, queue: str, *, count: int = 1, instance_type: str = "ml.g5.xlarge", **more: Any) -> str:
    """Submit somebody else's job; returns its id."""
    import json

    payload = {
        **TRAINING,
        "TrainingJobName": "other",
        "ResourceConfig": {"InstanceType": instance_type, "InstanceCount": count, "VolumeSizeInGB": 30},
    }
    made = batch(airflow).submit_service_job(
        jobName="other",
        jobQueue=queue,
        serviceJobType="SAGEMAKER_TRAINING",
        serviceRequestPayload=json.dumps(payload),
        **more,
    )
    airflow.server.sandbox.advance(5)
    job_id: str = made["jobId"]
    return job_id
