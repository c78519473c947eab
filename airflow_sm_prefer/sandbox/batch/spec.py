"""What every account has of AWS Batch when a sandbox begins: a scenario's ``batch`` section, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.making import make_environment, make_policy, make_queue, make_share

Request = dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchSpec:
    """Create requests of AWS Batch, in which a queue may name its policy instead of giving an ARN.

    Attributes:
        environments: CreateServiceEnvironment.
        policies: CreateSchedulingPolicy.
        queues: CreateJobQueue.
        quota_shares: CreateQuotaShare.
    """

    environments: tuple[Request, ...] = ()
    policies: tuple[Request, ...] = ()
    queues: tuple[Request, ...] = ()
    quota_shares: tuple[Request, ...] = ()

    def furnish(self, estate: Estate, elapsed: float) -> None:
        """Make everything for an account."""
        for request in self.environments:
            make_environment(estate, request)
        for request in self.policies:
            make_policy(estate, request)
        for request in self.queues:
            make_queue(estate, with_policy(estate, request), elapsed)
        for request in self.quota_shares:
            make_share(estate, request, elapsed)


def with_policy(estate: Estate, request: Request) -> Request:
    """Return a CreateJobQueue request whose policy is given by its ARN."""
    named = request.get("schedulingPolicyArn")
    if named is None or named.startswith("arn:"):
        return request
    return request | {"schedulingPolicyArn": estate.arn("scheduling-policy", named)}
