"""From what a DAG author wrote to a preference list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.beside import check_beside_list, runs_on_spot
from airflow_sm_prefer.model.entries import Entry, read_count, read_entry
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import (
    AS_WRITTEN,
    NATIVE_LIST_LIMIT,
    CapacityKind,
    InstancePreference,
    PreferenceList,
)
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.model.rendered import normalise_prefer
from airflow_sm_prefer.model.types import KnownTypes, TypeNames
from airflow_sm_prefer.model.written import part_of, refused, request_refused


def parse_preferences(
    prefer: Any,
    *,
    kind: JobKind | str,
    config: Mapping[str, Any],
    known_types: KnownTypes,
    allow_unknown_types: bool = False,
    queues: Queues | None = None,
) -> PreferenceList:
    """Read a preference list, and check all of it that can be checked without asking AWS.

    A string or a helper without a count takes the config's InstanceCount, else 1. A list made of AWS's own dicts only
    follows AWS's own rules: five entries at most, a type once, and a count either on every entry or on the cluster.

    Args:
        prefer: The list as rendered; None if there is none beside the config.
        kind: The kind of job.
        config: The job request.
        known_types: The types that the installed botocore knows for that kind, or what tells whether it does.
        allow_unknown_types: Let types through that botocore doesn't know.
        queues: What the operator says about queues; None where it knows none.

    Returns:
        The list; of one entry if the config has an InstanceType and there is no list.

    Raises:
        InvalidPreference: the list, or an entry of it, can't work.
        InvalidRequest: something in the config can't stand beside it, or nothing says what to run on.
    """
    kind = JobKind(kind)
    types = TypeNames(kind, known_types, allow_unknown_types)
    written = find_list(prefer, config, kind)
    if written is None:
        return _without_list(config, types, queues)
    place, items = written
    if not items:
        raise refused(place, "the list is empty", "Give at least one instance type, or no list at all.")
    entries = [read_entry(item, f"{place}, entry {number}", types, queues) for number, item in enumerate(items, 1)]
    check_beside_list(config, [entry.preference for entry in entries], types)
    _check_plans(entries)
    if all(entry.is_native for entry in entries):
        return _native_list(place, entries, config, kind)
    default = _cluster_count(config, kind) or 1
    return PreferenceList(tuple(_with_count(entry.preference, default) for entry in entries))


def find_list(prefer: Any, config: Mapping[str, Any], kind: JobKind) -> tuple[str, list[Any]] | None:
    """Return the one list there is, with the name of its place; None if there is none.

    Raises:
        InvalidPreference: there are two, or what should be one isn't.
    """
    inside = part_of(config, kind.resource_path).get("InstancePreferences")
    path = joined_path(kind, "InstancePreferences")
    if prefer is None:
        return None if inside is None else (path, normalise_prefer(inside))
    if inside is not None:
        msg = f"There are two lists, prefer and config's {path}.\nGive one of them; prefer can do more."
        raise InvalidPreference(msg)
    return "prefer", normalise_prefer(prefer)


def joined_path(kind: JobKind, key: str) -> str:
    """Return the path of a key of the resources, as messages name it."""
    return ".".join((*kind.resource_path, key))


def _with_count(preference: InstancePreference, default: int) -> InstancePreference:
    return preference if preference.instance_count is not None else replace(preference, instance_count=default)


def _cluster_count(config: Mapping[str, Any], kind: JobKind) -> int | None:
    value = part_of(config, kind.resource_path).get("InstanceCount")
    return None if value is None else read_count(value, f"config: {'.'.join(kind.resource_path)}", kind)


def _check_plans(entries: Sequence[Entry]) -> None:
    """Check that no plan is named for two types: a plan is of one (SageMaker API reference, ``InstancePreference``)."""
    first: dict[str, Entry] = {}
    for entry in entries:
        arn = entry.preference.training_plan_arn
        if arn is None:
            continue
        other = first.setdefault(arn, entry)
        if other.preference.instance_type != entry.preference.instance_type:
            problem = f"its training plan is also that of {other.preference.instance_type}"
            raise refused(entry.place, problem, "A plan is of one instance type; name each type's own plan.")


def _native_list(place: str, entries: list[Entry], config: Mapping[str, Any], kind: JobKind) -> PreferenceList:
    """Read a list made of AWS's own dicts only, by AWS's own rules."""
    if len(entries) > NATIVE_LIST_LIMIT:
        problem = f"the list has {len(entries)} entries, and AWS takes {NATIVE_LIST_LIMIT} in a list of its own dicts"
        raise refused(place, problem, f"{_WRITE_WITH_HELPERS} to have any number.")
    _check_once(entries)
    count = _cluster_count(config, kind)
    with_count = [entry for entry in entries if entry.preference.instance_count is not None]
    if count is not None and with_count:
        problem = f"it has an InstanceCount, and {joined_path(kind, 'InstanceCount')} is {count}"
        raise refused(with_count[0].place, problem, "AWS takes one or the other: a count on every entry, or that one.")
    if count is None and len(with_count) < len(entries):
        bare = next(entry for entry in entries if entry.preference.instance_count is None)
        remedy = f"Give every entry an InstanceCount, or none and {joined_path(kind, 'InstanceCount')}."
        raise refused(bare.place, "it has no InstanceCount, and the config has none for all", remedy)
    return PreferenceList(tuple(entry.preference for entry in entries), uniform_count=count)


_WRITE_WITH_HELPERS = 'Write it with strings or on_demand("ml.…"), training_plan(…)'


def _check_once(entries: Sequence[Entry]) -> None:
    first: dict[str, int] = {}
    for number, entry in enumerate(entries, start=1):
        before = first.setdefault(entry.preference.instance_type, number)
        if before != number:
            problem = f"entry {before} has the same type, and AWS takes a type once in a list of its own dicts"
            raise refused(entry.place, problem, f"{_WRITE_WITH_HELPERS} to have the type twice.")


def _without_list(config: Mapping[str, Any], types: TypeNames, queues: Queues | None) -> PreferenceList:
    """Make a list of one of what the config says itself."""
    resources = part_of(config, types.kind.resource_path)
    place = f"config: {'.'.join(types.kind.resource_path)}"
    if any(
        (resources.get("InstanceGroups"), resources.get("InstancePlacementConfig"), config.get("ServerlessJobConfig"))
    ):
        return AS_WRITTEN
    if resources.get("InstanceType") is None:
        msg = f'{place} doesn\'t say what to run on, and there is no list.\nGive prefer=["ml.…", …] or an InstanceType.'
        raise InvalidRequest(msg)
    count = resources.get("InstanceCount")
    written = {"InstanceType": resources["InstanceType"], "InstanceCount": 1 if count is None else count}
    if types.kind is JobKind.TRAINING:
        written |= _capacity_of(config, resources, through_queue=queues is not None and queues.default is not None)
    return PreferenceList((read_entry(written, place, types, queues).preference,))


def _capacity_of(config: Mapping[str, Any], resources: Mapping[str, Any], *, through_queue: bool) -> dict[str, Any]:
    """Say where the instances come from, in the keys of the helpers.

    AWS has a job with a plan of its own wait for that plan, so ours does too; in a queue, the queue waits for it.
    """
    plan, on_spot = resources.get("TrainingPlanArn"), runs_on_spot(config)
    if plan is not None and on_spot:
        raise request_refused(
            "ResourceConfig.TrainingPlanArn",
            "stands beside EnableManagedSpotTraining, and a job runs on one or the other",
            'Take one away, or write both as prefer=[training_plan("ml.…", arn=…), spot("ml.…")].',
        )
    if through_queue and on_spot:
        raise request_refused(
            "EnableManagedSpotTraining",
            "asks for spot capacity, and AWS Batch's queues hold On-Demand and training-plan capacity",
            'Take it away, or write the list out: prefer=[queued("ml.…"), spot("ml.…")].',
        )
    if through_queue:
        return {} if plan is None else {"TrainingPlanArns": [plan]}
    if plan is not None:
        return {"Capacity": CapacityKind.TRAINING_PLAN, "TrainingPlanArns": [plan], "WaitForPlan": True}
    return {"Capacity": CapacityKind.SPOT if on_spot else CapacityKind.ON_DEMAND}
