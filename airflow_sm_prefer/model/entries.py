"""One entry of a preference list, read from what was written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.overrides import Overrides, read_overrides
from airflow_sm_prefer.model.plans import check_plan_arn
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference
from airflow_sm_prefer.model.queue_entries import QUEUE_KEYS, Queues, read_queue
from airflow_sm_prefer.model.types import TypeNames
from airflow_sm_prefer.model.written import did_you_mean, flag, integer, joined, refused, shown

#: The keys of AWS's own InstancePreference (SageMaker API reference).
AWS_KEYS = ("InstanceType", "InstanceCount", "TrainingPlanArns")

#: What the helpers write beside them.
OUR_KEYS = ("Capacity", "Overrides", "WaitForPlan", *sorted(QUEUE_KEYS))

#: AWS takes no more instances than this for one processing job (SageMaker API reference, ``ProcessingClusterConfig``).
_MOST_FOR_PROCESSING = 100

_HOW_TO_WRITE = (
    'Write a type such as "ml.g5.xlarge", on_demand(…), training_plan(…), spot(…), queued(…) or AWS\'s own dict'
)


#: What the name of a type is made of; anything else isn't a slip of the finger but something else altogether.
_NAME = re.compile(r"[A-Za-z0-9.-]{1,63}")


@dataclass(frozen=True, slots=True)
class Entry:
    """A candidate as it was written.

    Attributes:
        place: Where it stands, as messages name it: ``prefer, entry 3 (ml.p5.48xlarge)``.
        preference: The candidate; its count is None if none was written.
        is_native: Whether it was written with AWS's own keys only.
    """

    place: str
    preference: InstancePreference
    is_native: bool


def read_entry(written: Any, place: str, types: TypeNames, queues: Queues | None = None) -> Entry:
    """Read one entry of a list.

    Args:
        written: A string, a helper's dict or AWS's own.
        place: Where it stands, without its type.
        types: The types that may be asked for.
        queues: What the operator says about queues; None where it knows none.

    Raises:
        InvalidPreference: it can't be asked for, or not like this.
    """
    values = {"InstanceType": written} if isinstance(written, str) else written
    if not isinstance(values, Mapping):
        raise refused(place, f"it is {shown(written)}", f"{_HOW_TO_WRITE}.")
    _check_keys(values, place)
    name = _type_name(values, place)
    place = f"{place} ({name})"
    types.check(name, place)
    kind = _capacity(values, place)
    queue = read_queue(values, place, queues, kind)
    return Entry(
        place=place,
        preference=InstancePreference(
            instance_type=name,
            instance_count=_count(values, place, types.kind),
            kind=_allowed(kind, place, types),
            training_plan_arn=_plan(values, kind, place, types),
            overrides=_overrides(values, place, types.kind),
            wait_for_plan=_wait_for_plan(values, kind, place),
            queue=queue,
        ),
        is_native=not isinstance(written, str) and set(values) <= set(AWS_KEYS) and queue is None,
    )


def read_count(value: Any, place: str, kind: JobKind) -> int:
    """Read a number of instances.

    Raises:
        InvalidPreference: it isn't one that a job of that kind can have.
    """
    try:
        count = integer(value)
    except ValueError as error:
        raise refused(place, f"the InstanceCount can't be read: {error}", _COUNT_REMEDY) from None
    if count < 1:
        raise refused(place, f"the InstanceCount is {count}", _COUNT_REMEDY)
    if kind is JobKind.PROCESSING and count > _MOST_FOR_PROCESSING:
        remedy = f"A processing job can have {_MOST_FOR_PROCESSING} at most."
        raise refused(place, f"the InstanceCount is {count}", remedy)
    return count


_COUNT_REMEDY = "Give a whole number of instances, 1 or more."


def _check_keys(values: Mapping[Any, Any], place: str) -> None:
    for key in values:
        if key not in AWS_KEYS and key not in OUR_KEYS:
            remedy = f"{did_you_mean(str(key), AWS_KEYS + OUR_KEYS)} There are {joined(AWS_KEYS + OUR_KEYS)}."
            raise refused(place, f"there is no key {shown(key)}", remedy.strip())


def _type_name(values: Mapping[str, Any], place: str) -> str:
    name = values.get("InstanceType")
    if not isinstance(name, str) or not _NAME.fullmatch(name.strip()):
        raise refused(place, f"its InstanceType is {shown(name)}", f"{_HOW_TO_WRITE} with an InstanceType.")
    return name.strip()


def _count(values: Mapping[str, Any], place: str, kind: JobKind) -> int | None:
    value = values.get("InstanceCount")
    return None if value is None else read_count(value, place, kind)


def _capacity(values: Mapping[str, Any], place: str) -> CapacityKind:
    value = values.get("Capacity")
    if value is None:
        return CapacityKind.TRAINING_PLAN if "TrainingPlanArns" in values else CapacityKind.ON_DEMAND
    try:
        return CapacityKind(value)
    except ValueError:
        remedy = f"{did_you_mean(str(value), CapacityKind)} There are {joined(CapacityKind)}.".strip()
        raise refused(place, f"there is no Capacity {shown(value)}", remedy) from None


def _allowed(kind: CapacityKind, place: str, types: TypeNames) -> CapacityKind:
    """Check that a job of its kind can use a kind of capacity; processing jobs have On-Demand alone."""
    if types.kind is JobKind.PROCESSING and kind is not CapacityKind.ON_DEMAND:
        word = "spot capacity" if kind is CapacityKind.SPOT else "training plans"
        raise refused(place, f"processing jobs can't use {word}", "Ask for On-Demand instances: on_demand(…).")
    return kind


def _plan(values: Mapping[str, Any], kind: CapacityKind, place: str, types: TypeNames) -> str | None:
    arns = values.get("TrainingPlanArns")
    if kind is not CapacityKind.TRAINING_PLAN:
        if arns is not None:
            remedy = "Write it with training_plan(…), or leave TrainingPlanArns away."
            raise refused(place, f"its Capacity is {kind.value}, and it has TrainingPlanArns", remedy)
        return None
    if not isinstance(arns, list | tuple) or len(arns) != 1:
        problem = f"TrainingPlanArns has to be a list of exactly one ARN, and it is {shown(arns)}"
        raise refused(place, problem, "Write one entry for each plan: training_plan(type, arn=…).")
    types.check_reservable(values["InstanceType"].strip(), place)
    return check_plan_arn(arns[0], place, refused)


def _overrides(values: Mapping[str, Any], place: str, kind: JobKind) -> Overrides:
    written = values.get("Overrides")
    return Overrides() if written is None else read_overrides(written, kind, place)


def _wait_for_plan(values: Mapping[str, Any], kind: CapacityKind, place: str) -> bool:
    try:
        wait = flag(values.get("WaitForPlan"))
    except ValueError as error:
        raise refused(place, f"WaitForPlan can't be read: {error}", "Write True or False.") from None
    if wait and kind is not CapacityKind.TRAINING_PLAN:
        raise refused(place, "it is to wait for a plan and has none", "Write it with training_plan(type, arn=…).")
    if wait and not QUEUE_KEYS.isdisjoint(values):
        raise refused(
            place, "it waits in a queue and is to wait for its plan", "The queue does; leave WaitForPlan away."
        )
    return wait
