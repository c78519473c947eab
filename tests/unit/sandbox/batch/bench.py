"""A sandbox on a fake clock with queues, for the tests of AWS Batch."""

from __future__ import annotations

import json
from typing import Any

from tests.unit.sandbox.builders import G5, Bench, single, training

FIFO = "fifo"
ENVIRONMENT = "environment"


class BatchBench(Bench):
    """A bench with the calls of AWS Batch that tests make most."""

    def environment(self, name: str = ENVIRONMENT, **limits: int) -> str:
        """Make an environment: NUM_INSTANCES=2, or G5=2 for a limit of its type."""
        units = {unit.replace("G5", G5): count for unit, count in limits.items()}
        return self.call(
            "CreateServiceEnvironment",
            {
                "serviceEnvironmentName": name,
                "serviceEnvironmentType": "SAGEMAKER_TRAINING",
                "capacityLimits": [{"maxCapacity": count, "capacityUnit": unit} for unit, count in units.items()],
            },
        )["serviceEnvironmentArn"]

    def queue(self, name: str = FIFO, environment: str = ENVIRONMENT, **more: Any) -> str:
        request = {
            "jobQueueName": name,
            "jobQueueType": "SAGEMAKER_TRAINING",
            "priority": 1,
            "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": environment}],
        }
        return self.call("CreateJobQueue", request | more)["jobQueueArn"]

    def fifo(self, instances: int = 1, **more: Any) -> None:
        """Make the queue ``fifo`` with so many instances."""
        self.environment(NUM_INSTANCES=instances)
        self.queue(**more)

    def fair(self, instances: int = 1, **weights: float) -> None:
        """Make the queue ``fair`` with so many instances and those shares."""
        self.environment(NUM_INSTANCES=instances)
        shares = [{"shareIdentifier": name, "weightFactor": weight} for name, weight in weights.items()]
        policy = {"name": "fair", "fairsharePolicy": {"shareDistribution": shares}}
        self.queue("fair", schedulingPolicyArn=self.call("CreateSchedulingPolicy", policy)["arn"])

    def managed(self, instances: int = 4) -> None:
        """Make the queue ``managed``, with quota management of so many instances."""
        self.environment(G5=instances)
        policy = {"name": "managed", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}
        self.queue("managed", schedulingPolicyArn=self.call("CreateSchedulingPolicy", policy)["arn"])

    def share(self, name: str, count: int = 2, *, preempts: bool = False, **sharing: Any) -> str:
        """Make a quota share of the queue ``managed``."""
        request = {
            "quotaShareName": name,
            "jobQueue": "managed",
            "capacityLimits": [{"maxCapacity": count, "capacityUnit": G5}],
            "resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW", **sharing},
            "preemptionConfiguration": {"inSharePreemption": "ENABLED" if preempts else "DISABLED"},
        }
        return self.call("CreateQuotaShare", request)["quotaShareArn"]

    def submit(self, name: str = "job", queue: str = FIFO, *, count: int = 1, **more: Any) -> str:
        """Submit a job, and return its id."""
        return self.call("SubmitServiceJob", submission(name, queue, count=count, **more))["jobId"]

    def describe(self, job_id: str) -> dict[str, Any]:
        return self.call("DescribeServiceJob", {"jobId": job_id})

    def status(self, job_id: str) -> str:
        return self.describe(job_id)["status"]

    def statuses(self, *job_ids: str) -> list[str]:
        return [self.status(job_id) for job_id in job_ids]

    def behind(self, job_id: str) -> dict[str, Any]:
        """Describe the latest training job of a service job."""
        arn = self.describe(job_id)["latestAttempt"]["serviceResourceId"]["value"]
        return self.training(arn.rpartition("/")[2])


def submission(
    name: str = "job", queue: str = FIFO, *, payload: dict[str, Any] | None = None, count: int = 1, **more: Any
) -> dict[str, Any]:
    """A SubmitServiceJob request."""
    return {
        "jobName": name,
        "jobQueue": queue,
        "serviceJobType": "SAGEMAKER_TRAINING",
        "serviceRequestPayload": json.dumps(training(name, single(G5, count)) if payload is None else payload),
        **more,
    }
