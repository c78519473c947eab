"""Training plans, read from AWS: how much of one is free now, and when its blocks begin and end."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from airflow_sm_prefer.aws.failures import CALL_ERRORS, FailureKind, classify
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.placement.plans import PlanStatus

log = logging.getLogger(__name__)


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
        return plan_status(response)


def plan_status(response: Mapping[str, Any]) -> PlanStatus:
    """Read a DescribeTrainingPlan response; types, and when there is capacity, stand in its blocks only."""
    blocks = response.get("ReservedCapacitySummaries") or ()
    times = [(_seconds(block.get("StartTime")), _seconds(block.get("EndTime"))) for block in blocks]
    return PlanStatus(
        arn=response["TrainingPlanArn"],
        status=response["Status"],
        instance_types=frozenset(block["InstanceType"] for block in blocks if "InstanceType" in block),
        available=response.get("AvailableInstanceCount") or 0,
        in_use=response.get("InUseInstanceCount") or 0,
        total=response.get("TotalInstanceCount") or 0,
        start=_seconds(response.get("StartTime")),
        end=_seconds(response.get("EndTime")),
        targets=frozenset(response.get("TargetResources") or ()),
        blocks=tuple(sorted((begin, end) for begin, end in times if begin is not None and end is not None)),
    )


def _name(arn: str) -> str:
    """Return the name in ``arn:aws:sagemaker:<region>:<account>:training-plan/<name>``, which Describe wants."""
    return arn.rpartition("/")[2]


def _seconds(value: Any) -> float | None:
    return value.timestamp() if isinstance(value, datetime) else value
