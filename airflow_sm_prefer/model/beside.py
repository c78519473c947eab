"""What can't stand in a request beside a preference list.

The rules are AWS's: https://docs.aws.amazon.com/sagemaker/latest/dg/train-instance-preferences.html and
https://docs.aws.amazon.com/sagemaker/latest/dg/processing-job-instance-preferences.html
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference
from airflow_sm_prefer.model.types import TypeNames
from airflow_sm_prefer.model.written import flag, part_of, request_refused

_REMEDIES = {
    "InstanceType": "Take it away; if the job may run on that type, make it an entry of the list.",
    "InstanceGroups": "A list is for jobs of one instance type; take away the groups or the list.",
    "InstancePlacementConfig": "A list can't be placed on UltraServers; take away the placement or the list.",
}


def check_beside_list(config: Mapping[str, Any], preferences: Sequence[InstancePreference], types: TypeNames) -> None:
    """Check that nothing in a request contradicts the list beside it.

    Raises:
        InvalidRequest: something does.
    """
    check_beside_any_list(config, types.kind)
    if types.kind is JobKind.TRAINING:
        arn = part_of(config, types.kind.resource_path).get("TrainingPlanArn")
        _check_plan(arn, preferences, types)


def check_beside_any_list(config: Mapping[str, Any], kind: JobKind) -> None:
    """Check that nothing in a request contradicts every list, whatever is in it.

    Raises:
        InvalidRequest: something does.
    """
    resources = part_of(config, kind.resource_path)
    for key, remedy in _REMEDIES.items():
        if resources.get(key):
            place = ".".join((*kind.resource_path, key))
            raise request_refused(place, "can't stand beside a preference list", remedy)
    if kind is JobKind.TRAINING:
        _check_spot(config)


def runs_on_spot(config: Mapping[str, Any]) -> bool:
    """Tell whether a request asks for managed spot training.

    Raises:
        InvalidRequest: what it says there is neither a yes nor a no.
    """
    value = config.get("EnableManagedSpotTraining")
    try:
        return flag(value)
    except ValueError as error:
        remedy = "AWS wants a boolean there; see what its template renders to."
        raise request_refused("EnableManagedSpotTraining", f"can't be read: {error}", remedy) from None


def _check_spot(config: Mapping[str, Any]) -> None:
    if runs_on_spot(config):
        raise request_refused(
            "EnableManagedSpotTraining",
            "can't stand beside a preference list",
            'Take it away, and write the entries that may run on spot capacity as spot("ml.…") in prefer.',
        )


def _check_plan(arn: Any, preferences: Sequence[InstancePreference], types: TypeNames) -> None:
    """Check a plan for the whole job, which AWS binds to the one entry of the plan's type."""
    if arn is None:
        return
    place = "ResourceConfig.TrainingPlanArn"
    kinds = {preference.kind for preference in preferences}
    if kinds != {CapacityKind.ON_DEMAND}:
        other = "training plans" if CapacityKind.TRAINING_PLAN in kinds else "spot entries"
        remedy = "Take it away, and write the entry that it is for as training_plan(type, arn=…)."
        raise request_refused(place, f"can't stand beside {other} in the list", remedy)
    if not any(types.may_be_reserved(preference.instance_type) for preference in preferences):
        remedy = "AWS refuses a plan that fits no entry; list the plan's own type, or take the plan away."
        raise request_refused(place, "fits no entry: there are no training plans for any type in the list", remedy)
