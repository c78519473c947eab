"""Training plans, as far as they matter for a job: how much of one is free now."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from airflow_sm_prefer.aws.failures import CALL_ERRORS, FailureKind, classify
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """A training plan at one moment.

    Attributes:
        arn: Its ARN.
        status: ``Pending``, ``Scheduled``, ``Active``, ``Expired`` or ``Failed``.
        instance_types: The types that its blocks of capacity hold.
        available: Instances that a job could have now.
        in_use: Instances that jobs have.
        total: Instances that it has been bought with.
        start: When its first block begins, in seconds since 1970.
        end: When its last block ends.
        targets: What it was bought for: ``training-job`` and the like; empty where AWS doesn't say.
    """

    arn: str
    status: str
    instance_types: frozenset[str]
    available: int
    in_use: int
    total: int
    start: float | None
    end: float | None
    targets: frozenset[str] = frozenset()

    @classmethod
    def from_describe(cls, response: Mapping[str, Any]) -> PlanStatus:
        """Read a DescribeTrainingPlan response; the types stand in its blocks only."""
        blocks = response.get("ReservedCapacitySummaries") or ()
        return cls(
            arn=response["TrainingPlanArn"],
            status=response["Status"],
            instance_types=frozenset(block["InstanceType"] for block in blocks if "InstanceType" in block),
            available=response.get("AvailableInstanceCount") or 0,
            in_use=response.get("InUseInstanceCount") or 0,
            total=response.get("TotalInstanceCount") or 0,
            start=_seconds(response.get("StartTime")),
            end=_seconds(response.get("EndTime")),
            targets=frozenset(response.get("TargetResources") or ()),
        )


class PlansApi:
    """Reads training plans, paced. Blocks; safe for threads."""

    def __init__(self, client: Any, pacing: Pacing, clock: Clock) -> None:
        """Take a boto3 ``sagemaker`` client and the buckets of its account and Region."""
        self._client = client
        self._pacing = pacing
        self._clock = clock

    def status(self, arn: str) -> PlanStatus | None:
        """Return how a plan stands.

        None, and a warning in the log, where AWS doesn't answer or the role may not ask: whoever wants to use the
        plan then just tries.
        """
        operation = "DescribeTrainingPlan"
        self._clock.sleep(self._pacing.acquire(operation))
        try:
            response = self._client.describe_training_plan(TrainingPlanName=_name(arn))
        except CALL_ERRORS as error:
            failure = classify(error, operation)
            if failure.kind is FailureKind.THROTTLED:
                self._pacing.throttled(operation)
            log.warning("How training plan %s stands is not known: %s", arn, failure)
            return None
        return PlanStatus.from_describe(response)


def _name(arn: str) -> str:
    """Return the name in ``arn:aws:sagemaker:<region>:<account>:training-plan/<name>``, which Describe wants."""
    return arn.rpartition("/")[2]


def _seconds(value: Any) -> float | None:
    return value.timestamp() if isinstance(value, datetime) else value
