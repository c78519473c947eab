"""Buying a training plan: any size at any time is on offer, and costs nothing."""

from __future__ import annotations

from airflow_sm_prefer.sandbox import quotas
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import in_use, invalid, not_found
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.plans import Block, PlanSpec, plan_arn

SOONEST_SECONDS = 30 * 60
"""A plan can begin in half an hour at the earliest (reserve-capacity-with-training-plans)."""


class Offerings(Operations):
    """SearchTrainingPlanOfferings and CreateTrainingPlan."""

    NAMES = ("SearchTrainingPlanOfferings", "CreateTrainingPlan")

    def __init__(self, engine: Engine) -> None:
        super().__init__(engine)
        self._offered: dict[str, PlanSpec] = {}

    def search_training_plan_offerings(self, caller: Caller, request: Request) -> Response:
        """Offer one block of what is asked for, as early as may be.

        Raises:
            ApiError: no instance type, or no duration, is asked for.
        """
        if "InstanceType" not in request or "DurationHours" not in request:
            raise invalid("InstanceType and DurationHours are required.")
        elapsed = self.engine.time.now().elapsed
        asked = self.engine.time.pace.elapsed_at(request.get("StartTimeAfter", 0))
        block = Block(max(asked, elapsed + SOONEST_SECONDS), request["DurationHours"] * 3600)
        ends = self.engine.time.pace.instant_of(block.ends)
        targets = request.get("TargetResources", ["training-job"])
        if ends > request.get("EndTimeBefore", ends) or "training-job" not in targets:
            return {"TrainingPlanOfferings": []}
        spec = PlanSpec("offered", request["InstanceType"], request.get("InstanceCount", 1), (block,), caller.region)
        offering = f"tpo-{len(self._offered) + 1:06d}"
        self._offered[offering] = spec
        return {"TrainingPlanOfferings": [self._shown(caller, offering, spec)]}

    def create_training_plan(self, caller: Caller, request: Request) -> Response:
        """Buy what was offered.

        Raises:
            ApiError: nothing of that id was offered, a plan of that name is there, or it is above the account's quota.
        """
        spec = self._offered.get(request["TrainingPlanOfferingId"])
        if spec is None:
            raise not_found()
        name = request["TrainingPlanName"]
        arn = plan_arn(caller.region, caller.account, name)
        if arn in self.account(caller).plans:
            raise in_use(f"Training plan {arn} already exists.")
        # The account's quota for the type has to be at least the plan's count (reserve-capacity-with-training-plans).
        whole = quotas.Use(quotas.usage_quota(JobKind.TRAINING, spec.instance_type), spec.count)
        quotas.check([whole], {}, self.engine.quotas)
        self.engine.buy_plan(caller, spec.named(name))
        return {"TrainingPlanArn": arn}

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
                    "InstanceType": spec.instance_type,
                    "InstanceCount": spec.count,
                    "AvailabilityZone": f"{caller.region}a",
                    "StartTime": self.engine.time.pace.instant_of(block.starts),
                    "EndTime": self.engine.time.pace.instant_of(block.ends),
                    **length,
                }
            ],
        }
