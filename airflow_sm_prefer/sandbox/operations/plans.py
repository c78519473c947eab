"""The operations on training plans."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import not_found
from airflow_sm_prefer.sandbox.demand import Candidate, CapacityKind
from airflow_sm_prefer.sandbox.filters import within
from airflow_sm_prefer.sandbox.listing import in_order, paged
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.plans import Block, Plan


class TrainingPlans(Operations):
    """Training plans."""

    NAMES = ("DescribeTrainingPlan", "ListTrainingPlans")

    def describe_training_plan(self, caller: Caller, request: Request) -> Response:
        """Show a plan, named by its name or its ARN."""
        wanted = request["TrainingPlanName"]
        plans = self.account(caller).plans.values()
        plan = next((p for p in plans if wanted in (p.arn, p.spec.name)), None)
        if plan is None:
            raise not_found()
        spares = {"UnhealthyInstanceCount": 0, "AvailableSpareInstanceCount": 0}
        return self._shown(caller, plan) | spares

    def list_training_plans(self, caller: Caller, request: Request) -> Response:
        """List plans, filtered by status and start."""
        rows = [self._shown(caller, plan) for plan in self.account(caller).plans.values()]
        # Status is the only filter that there is; a plan has one of several that are named.
        statuses = {wanted["Value"] for wanted in request.get("Filters", [])}
        rows = [row for row in rows if not statuses or row["Status"] in statuses]
        rows = [row for row in rows if within(row["StartTime"], request, "StartTime")]
        by = request.get("SortBy", "StartTime")

        def key(row: Response) -> tuple[Any, ...]:
            return row[by], row["TrainingPlanArn"]

        page, token = paged(in_order(rows, request, key), request, key)
        response: Response = {"TrainingPlanSummaries": page}
        return response if token is None else {**response, "NextToken": token}

    def _shown(self, caller: Caller, plan: Plan) -> Response:
        blocks = plan.spec.blocks
        lasts = sum(block.lasts for block in blocks)
        taken, total = self._taken(caller, plan), plan.spec.count
        free = max(0, total - taken) if plan.is_usable(self._elapsed()) else 0
        return {
            "TrainingPlanArn": plan.arn,
            "TrainingPlanName": plan.spec.name,
            "Status": plan.status(self._elapsed()),
            "DurationHours": int(lasts // 3600),
            "DurationMinutes": int(lasts % 3600 // 60),
            "StartTime": self.engine.time.pace.instant_of(blocks[0].starts),
            "EndTime": self.engine.time.pace.instant_of(blocks[-1].ends),
            "UpfrontFee": "0",
            "CurrencyCode": "USD",
            "TotalInstanceCount": total,
            "AvailableInstanceCount": free,
            "InUseInstanceCount": taken,
            "TargetResources": [plan.spec.target],
            "ReservedCapacitySummaries": [
                self._block(caller, plan, number, block) for number, block in enumerate(blocks, start=1)
            ],
        }

    def _block(self, caller: Caller, plan: Plan, number: int, block: Block) -> Response:
        prefix = f"arn:aws:sagemaker:{caller.region}:{caller.account}:reserved-capacity"
        return {
            "ReservedCapacityArn": f"{prefix}/{plan.spec.name}-{number}",
            "ReservedCapacityType": "Instance",
            "InstanceType": plan.spec.instance_type,
            "TotalInstanceCount": plan.spec.count,
            "Status": plan.block_status(block, self._elapsed()),
            "AvailabilityZone": plan.spec.zone or f"{caller.region}a",
            "DurationHours": int(block.lasts // 3600),
            "DurationMinutes": int(block.lasts % 3600 // 60),
            "StartTime": self.engine.time.pace.instant_of(block.starts),
            "EndTime": self.engine.time.pace.instant_of(block.ends),
        }

    def _taken(self, caller: Caller, plan: Plan) -> int:
        spec = plan.spec
        like = Candidate(spec.instance_type, 1, CapacityKind.TRAINING_PLAN, plan.arn)
        return self.engine.capacity.taken(caller.region, like)

    def _elapsed(self) -> float:
        return self.engine.time.now().elapsed
