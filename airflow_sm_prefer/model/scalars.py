"""Integers and booleans that a template rendered to strings become what AWS wants again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.written import flag, integer

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

#: Every boolean of a request, likewise.
BOOLEANS: dict[JobKind, tuple[str, ...]] = {
    JobKind.TRAINING: (
        "AlgorithmSpecification.EnableSageMakerMetricsTimeSeries",
        "InputDataConfig.[].DataSource.S3DataSource.ModelAccessConfig.AcceptEula",
        "ResourceConfig.InstancePlacementConfig.EnableMultipleJobs",
        "EnableNetworkIsolation",
        "EnableInterContainerTrafficEncryption",
        "EnableManagedSpotTraining",
        "ProfilerConfig.DisableProfiler",
        "RemoteDebugConfig.EnableRemoteDebug",
        "InfraCheckConfig.EnableInfraCheck",
        "SessionChainingConfig.EnableSessionTagChaining",
        "ServerlessJobConfig.AcceptEula",
    ),
    JobKind.PROCESSING: (
        "ProcessingInputs.[].AppManaged",
        "ProcessingOutputConfig.Outputs.[].AppManaged",
        "NetworkConfig.EnableInterContainerTrafficEncryption",
        "NetworkConfig.EnableNetworkIsolation",
    ),
}

_Read = Callable[[str], object]


def coerce_scalars(request: Mapping[str, Any], kind: JobKind | str) -> dict[str, Any]:
    """Return a request whose integers and booleans are that, also where a template has left strings.

    Everything else is as it was, parts that this package knows nothing of included, and the request that was handed
    in isn't changed.

    Raises:
        InvalidRequest: a string stands where AWS wants an integer or a boolean, and is none.
    """
    kind = JobKind(kind)
    result: Any = request
    for paths, read, wanted in ((INTEGERS[kind], integer, "an integer"), (BOOLEANS[kind], flag, "a boolean")):
        for path in paths:
            result = _coerced(result, path.split("."), "", read, wanted)
    return dict(result)


def _coerced(value: Any, path: list[str], place: str, read: _Read, wanted: str) -> Any:
    """Return a value in which what lies at a path is read; a value of another shape is left alone."""
    if not path:
        return _read_at(value, place, read, wanted) if isinstance(value, str) else value
    key, *rest = path
    if key == "[]":
        if not isinstance(value, list | tuple):
            return value
        places = (f"{place} entry {number}" for number in range(1, len(value) + 1))
        return [_coerced(item, rest, where, read, wanted) for item, where in zip(value, places, strict=True)]
    if not isinstance(value, Mapping) or key not in value:
        return value
    return {**value, key: _coerced(value[key], rest, f"{place}.{key}" if place else key, read, wanted)}


def _read_at(value: str, place: str, read: _Read, wanted: str) -> object:
    try:
        return read(value)
    except ValueError as error:
        msg = f"config: {place}: {error}.\nAWS wants {wanted} there; see what its template renders to."
        raise InvalidRequest(msg) from None
