"""Whether the training plans that a job names can carry it, asked of AWS before the job is created.

AWS takes a job only on a plan of the entry's own type that was bought for training jobs and isn't over
(https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html), and refuses the
whole request for one entry that isn't so, without saying which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.aws.plans import PlanStatus
from airflow_sm_prefer.model.job import JobKind, resources_of
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.written import joined, refused

#: Statuses that a plan never leaves.
_OVER = frozenset({"Expired", "Failed"})

#: What a plan has to have been bought for.
_TARGET = "training-job"


@dataclass(frozen=True, slots=True)
class NamedPlan:
    """A plan where it is named.

    Attributes:
        arn: Its ARN.
        place: Where it is named, for messages.
        types: The types that it may be of; empty if any may be.
    """

    arn: str
    place: str
    types: frozenset[str]


def check_plans(
    preferences: PreferenceList, config: Mapping[str, Any], status: Callable[[str], PlanStatus | None]
) -> None:
    """Check every plan that a training job names, each asked for once.

    Args:
        preferences: The list.
        config: The job's request.
        status: Says how a plan stands; None where AWS doesn't say, and then AWS's answer to the job will.

    Raises:
        InvalidPreference: a plan is over, is of another type, or isn't for training jobs; AWS would refuse the job.
    """
    asked: dict[str, PlanStatus | None] = {}
    for named in _named_plans(preferences, config):
        if named.arn not in asked:
            asked[named.arn] = status(named.arn)
        found = asked[named.arn]
        if found is not None:
            _check(named, found)


def _named_plans(preferences: PreferenceList, config: Mapping[str, Any]) -> Iterator[NamedPlan]:
    per_entry = False
    for number, entry in enumerate(preferences, start=1):
        if entry.training_plan_arn is not None:
            per_entry = True
            place = f"entry {number} ({entry.instance_type})"
            yield NamedPlan(entry.training_plan_arn, place, frozenset({entry.instance_type}))
    resources = resources_of(JobKind.TRAINING, config)
    arn = resources.get("TrainingPlanArn")
    if arn is not None and not per_entry:
        listed = [entry.instance_type for entry in preferences]
        grouped = [group["InstanceType"] for group in resources.get("InstanceGroups") or () if "InstanceType" in group]
        yield NamedPlan(arn, "config: ResourceConfig.TrainingPlanArn", frozenset([*listed, *grouped]))


def _check(named: NamedPlan, plan: PlanStatus) -> None:
    name = plan.arn.rpartition("/")[2]
    if plan.status in _OVER:
        problem = f"its training plan {name} is {plan.status}, and AWS takes no job on it"
        raise refused(named.place, problem, "Name a plan that is Scheduled or Active, or take it away.")
    if plan.targets and _TARGET not in plan.targets:
        problem = f"its training plan {name} is for {joined(sorted(plan.targets))}, not for training jobs"
        raise refused(named.place, problem, f"Name a plan that was bought for {_TARGET}, or take it away.")
    if named.types and plan.instance_types and not named.types & plan.instance_types:
        problem = f"its training plan {name} is for {joined(sorted(plan.instance_types))}"
        raise refused(named.place, problem, "Give the plan to an entry of its own type, or name another plan.")
