"""Buying a training plan: any size at any time is on offer, and costs nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox import quotas
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import in_use, not_found
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.plans import Block, PlanSpec, plan_arn
from airflow_sm_prefer.sandbox.shapes import service_model

DAY_SECONDS = 86_400
SOONEST_SECONDS = 30 * 60
"""A plan can begin in half an hour at the earliest (reserve-capacity-with-training-plans)."""

LATEST_DAYS = 56
"""How far ahead it can begin at the latest."""

MOST_DAYS = 182
"""How long it can last."""


class Offerings(Operations):
    """SearchTrainingPlanOfferings and CreateTrainingPlan."""

    NAMES = ("SearchTrainingPlanOfferings", "CreateTrainingPlan")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._offered: dict[str, PlanSpec] = {}

    def document(self) -> dict[str, Any]:
        """Return what was offered, as JSON can hold it."""
        return {offering: encode(spec) for offering, spec in self._offered.items()}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Have offered what a document says."""
        self._offered = {offering: decode(PlanSpec, spec) for offering, spec in document.items()}

    def search_training_plan_offerings(self, caller: Caller, request: Request) -> Response:
        """Offer one block of what is asked for, as early as may be; without a type, one of each.

        Extensions of a plan aren't offered.
        """
        if "TrainingPlanArn" in request:
            return {"TrainingPlanOfferings": [], "TrainingPlanExtensionOfferings": []}
        block = self._block(request)
        if block is None or "training-job" not in request.get("TargetResources", ["training-job"]):
            return {"TrainingPlanOfferings": []}
        types = [request["InstanceType"]] if "InstanceType" in request else reservable_types()
        return {"TrainingPlanOfferings": [self._offer(caller, request, name, block) for name in types]}

    def create_training_plan(self, caller: Caller, request: Request) -> Response:
        """Buy what was offered.

        Raises:
            ApiError: nothing of that id was offered, a plan of that name is there, or the account may not use as many
                instances in training jobs, which has to be allowed first (training-plan-quotas).
        """
        spec = self._offered.get(request["TrainingPlanOfferingId"])
        if spec is None:
            raise not_found()
        name = request["TrainingPlanName"]
        arn = plan_arn(caller.region, caller.account, name)
        if arn in self.account(caller).plans:
            raise in_use(f"Training plan {arn} already exists.")
        wanted = quotas.Use(quotas.usage_quota(JobKind.TRAINING, spec.instance_type), spec.count)
        quotas.check([wanted], {}, self.engine.quotas)
        self.engine.give_plan(self.account(caller), spec.named(name))
        return {"TrainingPlanArn": arn}

    def _block(self, request: Request) -> Block | None:
        """Return the first stretch that is wanted and can be had, or None; plans last for whole days."""
        elapsed = self.engine.time.now().elapsed
        days = math.ceil(request.get("DurationHours", 24) / 24)
        asked = self.engine.time.pace.elapsed_at(request.get("StartTimeAfter", 0))
        block = Block(max(asked, elapsed + SOONEST_SECONDS), days * DAY_SECONDS)
        too_long = days > MOST_DAYS or block.starts > elapsed + LATEST_DAYS * DAY_SECONDS
        ends = self.engine.time.pace.instant_of(block.ends)
        return None if too_long or ends > request.get("EndTimeBefore", ends) else block

    def _offer(self, caller: Caller, request: Request, instance_type: str, block: Block) -> Response:
        spec = PlanSpec("offered", instance_type, request.get("InstanceCount", 1), (block,), caller.region)
        offering = f"tpo-{len(self._offered) + 1:06d}"
        self._offered[offering] = spec
        self.engine.keeper.world_changed()
        asked = {
            "RequestedStartTimeAfter": request.get("StartTimeAfter"),
            "RequestedEndTimeBefore": request.get("EndTimeBefore"),
        }
        return without_none(self._shown(caller, offering, spec) | asked)

    def _shown(self, caller: Caller, offering: str, spec: PlanSpec) -> Response:
        (block,) = spec.blocks
        length = {"DurationHours": int(block.lasts // 3600), "DurationMinutes": 0}
        return {
            "TrainingPlanOfferingId": offering,
            "TargetResources": ["training-job"],
            "UpfrontFee": "0",
            "CurrencyCode": "USD",
            **length,
            "ReservedCapacityOfferings": [
                {
                    "ReservedCapacityType": "Instance",
                    "InstanceType": spec.instance_type,
                    "InstanceCount": spec.count,
                    "AvailabilityZone": f"{caller.region}a",
                    "StartTime": self.engine.time.pace.instant_of(block.starts),
                    "EndTime": self.engine.time.pace.instant_of(block.ends),
                    **length,
                }
            ],
        }


def reservable_types() -> list[str]:
    """Return the instance types that plans are for, as botocore knows them."""
    return list(service_model("sagemaker").shape_for("ReservedCapacityInstanceType").metadata["enum"])
