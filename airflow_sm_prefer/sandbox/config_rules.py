"""The rules for a training job's other settings: its image, profiler, debugger and placement.

Sources: the API reference of AlgorithmSpecification, TrainingImageConfig, ProfilerConfig, DebugRuleConfiguration,
CollectionConfiguration, InstancePlacementConfig and ServerlessJobConfig. AWS's own texts aren't known.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from airflow_sm_prefer.sandbox.data_rules import repeated

Breaches = Iterator[str]

PROFILING_INTERVALS = (100, 200, 500, 1000, 5000, 60_000)
"""The values of ProfilingIntervalInMilliseconds that its reference names."""


def image(request: Mapping[str, Any]) -> Breaches:
    """Check what says which container runs."""
    algorithm = request["AlgorithmSpecification"]
    if ("TrainingImage" in algorithm) == ("AlgorithmName" in algorithm):
        yield "Exactly one of TrainingImage and AlgorithmName must be given in AlgorithmSpecification."
    registry = algorithm.get("TrainingImageConfig", {})
    if registry.get("TrainingRepositoryAccessMode") == "Vpc" and "VpcConfig" not in request:
        # https://docs.aws.amazon.com/sagemaker/latest/dg/docker-containers-adapt-your-own-private-registry.html
        yield "TrainingRepositoryAccessMode Vpc requires VpcConfig."


def profiler(config: Mapping[str, Any]) -> Breaches:
    """Check a ProfilerConfig, of a Create or an Update request."""
    interval = config.get("ProfilingIntervalInMilliseconds")
    if interval is not None and interval not in PROFILING_INTERVALS:
        yield f"ProfilingIntervalInMilliseconds {interval} must be one of {list(PROFILING_INTERVALS)}."


def debugger(request: Mapping[str, Any]) -> Breaches:
    """Rule configurations and collections have names of their own."""
    for member in ("DebugRuleConfigurations", "ProfilerRuleConfigurations"):
        twice = repeated(rule["RuleConfigurationName"] for rule in request.get(member, []))
        if twice:
            yield f"{member} must not contain duplicate rule configuration names: {twice}."
    collections = request.get("DebugHookConfig", {}).get("CollectionConfigurations", [])
    twice = repeated(one["CollectionName"] for one in collections if "CollectionName" in one)
    if twice:
        yield f"CollectionConfigurations must not contain duplicate collection names: {twice}."


def placement(resources: Mapping[str, Any]) -> Breaches:
    """UltraServers are had by training plans, of the types that are named after their superchips."""
    if "InstancePlacementConfig" in resources and not str(resources.get("InstanceType")).startswith("ml.p6e-"):
        yield "InstancePlacementConfig is supported for UltraServer capacity only."


def serverless(request: Mapping[str, Any]) -> Breaches:
    """A serverless job chooses its own resources."""
    if "ServerlessJobConfig" in request:
        yield "This sandbox does not run serverless jobs."
