"""Whether the training plans that a job names can carry it, asked of AWS before the job is created.

AWS takes a job only on a plan of the entry's own type that was bought for training jobs and isn't over
(https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html), and refuses the
whole request for one entry that isn't so, without saying which.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind, resources_of
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.written import joined, refused
from airflow_sm_prefer.placement.plans import OVER, TARGET, PlanStatus

#: The key of a plan for the whole job.
_OF_JOB = "TrainingPlanArn"


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


class PlanReader:
    """Reads training plans for one stay of a task in a worker.

    Args:
        status: Says how a plan stands; None where AWS doesn't say, and then AWS's answer to the job will.
    """

    def __init__(self, status: Callable[[str], PlanStatus | None]) -> None:
        self._status = status
        self._just_read: dict[str, PlanStatus | None] = {}

    def read(self, arn: str) -> PlanStatus | None:
        """Return how a plan stands; what was read for the check of the list does for the first submission."""
        return self._just_read.pop(arn) if arn in self._just_read else self._status(arn)

    def check(self, preferences: PreferenceList, config: Mapping[str, Any]) -> None:
        """Check every plan that a training job names, each asked for once.

        A plan of an entry that is over is no mistake while the list has other entries: those are gone on with.

        Raises:
            InvalidPreference: a plan is of another type, isn't for training jobs, or is over and nothing else is left;
                AWS would refuse the job.
        """
        over = []
        for named in _named_plans(preferences, config):
            if named.arn not in self._just_read:
                self._just_read[named.arn] = self._status(named.arn)
            found = self._just_read[named.arn]
            if found is not None:
                _check(named, found)
                over += [_over(named, found)] if found.status in OVER else []
        if over and (len(over) >= len(preferences.preferences) or resources_of(JobKind.TRAINING, config).get(_OF_JOB)):
            raise over[0]


def _named_plans(preferences: PreferenceList, config: Mapping[str, Any]) -> Iterator[NamedPlan]:
    per_entry = False
    for number, entry in enumerate(preferences, start=1):
        if entry.training_plan_arn is not None:
            per_entry = True
            place = f"entry {number} ({entry.instance_type})"
            yield NamedPlan(entry.training_plan_arn, place, frozenset({entry.instance_type}))
    resources = resources_of(JobKind.TRAINING, config)
    arn = resources.get(_OF_JOB)
    if arn is not None and not per_entry:
        listed = [entry.instance_type for entry in preferences]
        grouped = [group["InstanceType"] for group in resources.get("InstanceGroups") or () if "InstanceType" in group]
        yield NamedPlan(arn, "config: ResourceConfig.TrainingPlanArn", frozenset([*listed, *grouped]))


def _check(named: NamedPlan, plan: PlanStatus) -> None:
    if plan.targets and TARGET not in plan.targets:
        problem = f"its training plan {plan.name} is for {joined(sorted(plan.targets))}, not for training jobs"
        raise refused(named.place, problem, f"Name a plan that was bought for {TARGET}, or take it away.")
    if named.types and plan.instance_types and not named.types & plan.instance_types:
        problem = f"its training plan {plan.name} is for {joined(sorted(plan.instance_types))}"
        raise refused(named.place, problem, "Give the plan to an entry of its own type, or name another plan.")


def _over(named: NamedPlan, plan: PlanStatus) -> InvalidPreference:
    problem = f"its training plan {plan.name} is {plan.status}, and AWS takes no job on it"
    return refused(named.place, problem, "Name a plan that is Scheduled or Active, or take it away.")
