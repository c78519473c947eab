"""What a Create request asks for: its candidates in order, and what happens while none has capacity."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.settings import ProcessingShortage, Settings

PlanTypes = Callable[[str], str | None]
"""Tells the instance type of a training plan by its ARN."""


class CapacityKind(StrEnum):
    """Where instances come from."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"
    TRAINING_PLAN = "training_plan"


@dataclass(frozen=True, slots=True)
class Candidate:
    """One instance type that a job may run on, and how many of it, all at once."""

    instance_type: str
    count: int
    kind: CapacityKind = CapacityKind.ON_DEMAND
    plan_arn: str | None = None


@dataclass(frozen=True, slots=True)
class Demand:
    """What a job asks for.

    Attributes:
        candidates: In order of preference; the first with capacity wins.
        waits: Whether the job waits for capacity, or fails when the first look finds none.
        pending_limit: Seconds that it waits at most, or None.
        reports_selection: Whether Describe shows SelectedInstanceType: only for preference lists.
    """

    candidates: tuple[Candidate, ...]
    waits: bool
    pending_limit: float | None
    reports_selection: bool

    @property
    def is_spot(self) -> bool:
        """Whether the job runs on spot capacity."""
        return self.candidates[0].kind is CapacityKind.SPOT

    @property
    def plans(self) -> tuple[str, ...]:
        """The plans that it depends on: none, unless every candidate is on one."""
        arns = [candidate.plan_arn for candidate in self.candidates]
        return tuple(arn for arn in arns if arn is not None) if None not in arns else ()


def training_demand(request: Mapping[str, Any], settings: Settings, plan_type: PlanTypes) -> Demand:
    """Return what a valid CreateTrainingJob request asks for."""
    resources = request["ResourceConfig"]
    stopping = request.get("StoppingCondition", {})
    listed = "InstancePreferences" in resources
    spot = bool(request.get("EnableManagedSpotTraining"))
    candidates = tuple(_training_candidates(resources, spot=spot, plan_type=plan_type))
    accelerated = any(catalog.is_accelerated(c.instance_type) for c in candidates)
    limit: float | None = None
    if spot:
        limit = stopping.get("MaxWaitTimeInSeconds")
    elif accelerated:
        limit = stopping.get("MaxPendingTimeInSeconds", settings.default_pending_seconds)
    return Demand(candidates, spot or accelerated, limit, listed)


def processing_demand(request: Mapping[str, Any], settings: Settings) -> Demand:
    """Return what a valid CreateProcessingJob request asks for; it has no pending limit."""
    cluster = request["ProcessingResources"]["ClusterConfig"]
    candidates = tuple(
        Candidate(entry["InstanceType"], entry.get("InstanceCount") or cluster.get("InstanceCount", 1))
        for entry in cluster.get("InstancePreferences", [cluster])
    )
    waits = settings.processing_shortage is ProcessingShortage.WAITS
    return Demand(candidates, waits, None, "InstancePreferences" in cluster)


def _training_candidates(resources: Mapping[str, Any], *, spot: bool, plan_type: PlanTypes) -> Iterable[Candidate]:
    job_plan = resources.get("TrainingPlanArn")
    for entry in resources.get("InstancePreferences", [resources]):
        instance_type = entry["InstanceType"]
        count = entry.get("InstanceCount") or resources["InstanceCount"]
        plan = next(iter(entry.get("TrainingPlanArns", ())), None)
        # A job-level plan beside a list belongs to the one entry of the plan's type.
        if plan is None and job_plan is not None and plan_type(job_plan) == instance_type:
            plan = job_plan
        if plan is not None:
            yield Candidate(instance_type, count, CapacityKind.TRAINING_PLAN, plan)
        else:
            yield Candidate(instance_type, count, CapacityKind.SPOT if spot else CapacityKind.ON_DEMAND)
