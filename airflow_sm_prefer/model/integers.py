"""Integers that a template rendered to strings become integers again, wherever AWS wants them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.written import integer

#: Every integer of a request: keys from the outside in; ``[]`` stands for each item of a list. From botocore's
#: models of CreateTrainingJob and CreateProcessingJob; a test holds this against the installed one.
INTEGERS: dict[JobKind, tuple[str, ...]] = {
    JobKind.TRAINING: (
        "ResourceConfig.InstanceCount",
        "ResourceConfig.VolumeSizeInGB",
        "ResourceConfig.KeepAlivePeriodInSeconds",
        "ResourceConfig.InstanceGroups.[].InstanceCount",
        "ResourceConfig.InstancePlacementConfig.PlacementSpecifications.[].InstanceCount",
        "ResourceConfig.InstancePreferences.[].InstanceCount",
        "ResourceConfig.SelectedInstanceCount",
        "StoppingCondition.MaxRuntimeInSeconds",
        "StoppingCondition.MaxWaitTimeInSeconds",
        "StoppingCondition.MaxPendingTimeInSeconds",
        "RetryStrategy.MaximumRetryAttempts",
        "InputDataConfig.[].ShuffleConfig.Seed",
        "DebugRuleConfigurations.[].VolumeSizeInGB",
        "ProfilerConfig.ProfilingIntervalInMilliseconds",
        "ProfilerRuleConfigurations.[].VolumeSizeInGB",
    ),
    JobKind.PROCESSING: (
        "ProcessingResources.ClusterConfig.InstanceCount",
        "ProcessingResources.ClusterConfig.VolumeSizeInGB",
        "ProcessingResources.ClusterConfig.InstancePreferences.[].InstanceCount",
        "ProcessingResources.ClusterConfig.SelectedInstanceCount",
        "StoppingCondition.MaxRuntimeInSeconds",
    ),
}


def coerce_integers(request: Mapping[str, Any], kind: JobKind | str) -> dict[str, Any]:
    """Return a request whose integers are integers, also where a template has left strings.

    Everything else is as it was, parts that this package knows nothing of included, and the request that was handed
    in isn't changed.

    Raises:
        InvalidRequest: a string stands where AWS wants an integer, and is none.
    """
    result: Any = request
    for path in INTEGERS[JobKind(kind)]:
        result = _coerced(result, path.split("."), "")
    return dict(result)


def _coerced(value: Any, path: list[str], place: str) -> Any:
    """Return a value in which what lies at a path is an integer; a value of another shape is left alone."""
    if not path:
        return _integer_at(value, place) if isinstance(value, str) else value
    key, *rest = path
    if key == "[]":
        return _each_coerced(value, rest, place)
    if not isinstance(value, Mapping) or key not in value:
        return value
    return {**value, key: _coerced(value[key], rest, f"{place}.{key}" if place else key)}


def _each_coerced(items: Any, path: list[str], place: str) -> Any:
    if not isinstance(items, list | tuple):
        return items
    return [_coerced(item, path, f"{place} entry {number}") for number, item in enumerate(items, start=1)]


def _integer_at(value: str, place: str) -> int:
    try:
        return integer(value)
    except ValueError as error:
        msg = f"config: {place}: {error}.\nAWS wants an integer there; see what its template renders to."
        raise InvalidRequest(msg) from None
