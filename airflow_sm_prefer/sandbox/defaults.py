"""What AWS fills in for members that a Create request leaves out, as Describe shows it.

Seen in Describe's answers of 2023 and 2026; the defaults themselves are in the API reference of CreateTrainingJob,
OutputDataConfig, Channel, ProcessingInput, ProcessingOutput and ProcessingClusterConfig.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Members = dict[str, Any]

STOPPING = {"MaxRuntimeInSeconds": 86_400}


def training(request: Mapping[str, Any]) -> Members:
    """Return a CreateTrainingJob request with AWS's defaults."""
    algorithm = request["AlgorithmSpecification"]
    # Metrics by definition are kept as time series too (AlgorithmSpecification).
    series = {"EnableSageMakerMetricsTimeSeries": bool(algorithm.get("MetricDefinitions"))}
    shown = {
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": False,
        "EnableManagedSpotTraining": False,
        "StoppingCondition": STOPPING,
        "ProfilingStatus": _profiling(request.get("ProfilerConfig")),
        **request,
        "AlgorithmSpecification": series | algorithm,
        "OutputDataConfig": {"KmsKeyId": "", "CompressionType": "GZIP", **request["OutputDataConfig"]},
    }
    # Without channels AWS shows an empty list, which its own model doesn't allow.
    if "InputDataConfig" in request:
        shown["InputDataConfig"] = [_channel(one) for one in request["InputDataConfig"]]
    return shown


def processing(request: Mapping[str, Any]) -> Members:
    """Return a CreateProcessingJob request with AWS's defaults."""
    resources = request["ProcessingResources"]
    shown: Members = {
        "StoppingCondition": STOPPING,
        **request,
        "ProcessingResources": {**resources, "ClusterConfig": _cluster(resources["ClusterConfig"])},
    }
    if "ProcessingInputs" in request:
        shown["ProcessingInputs"] = [_managed(one) for one in request["ProcessingInputs"]]
    if "ProcessingOutputConfig" in request:
        config = request["ProcessingOutputConfig"]
        shown["ProcessingOutputConfig"] = {**config, "Outputs": [_managed(one) for one in config["Outputs"]]}
    return shown


def _profiling(config: Mapping[str, Any] | None) -> str:
    return "Disabled" if config is None or config.get("DisableProfiler") else "Enabled"


def _channel(given: Mapping[str, Any]) -> Members:
    return {"CompressionType": "None", "RecordWrapperType": "None", **given}


def _managed(given: Mapping[str, Any]) -> Members:
    return {"AppManaged": False, **given}


def _cluster(given: Mapping[str, Any]) -> Members:
    """Without a list, there is one instance unless the request says otherwise."""
    return dict(given) if "InstancePreferences" in given else {"InstanceCount": 1, **given}
