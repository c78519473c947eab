"""The rules for a Create request that no model has: what excludes what, and what has to be there.

Sources: train-instance-preferences, processing-job-instance-preferences and the API reference of ResourceConfig,
ProcessingClusterConfig and StoppingCondition. Where AWS's own text isn't known, the text says the same in our words.
Each rule yields the texts of its breaches; the first is what the caller gets.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox import config_rules, data_rules
from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.plans import JOBS_TARGET, Plan

MOST_RUNTIME_SECONDS = 28 * 86_400

Breaches = Iterator[str]


@dataclass(frozen=True, slots=True)
class Context:
    """What the rules have to know besides the request.

    Attributes:
        plans: The account's plans by ARN.
        elapsed: The seconds of the scenario that have passed.
        algorithms: By pattern of a training image, the patterns of the types that it supports.
    """

    plans: Mapping[str, Plan] = field(default_factory=dict)
    elapsed: float = 0
    algorithms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def check_training(request: Mapping[str, Any], context: Context) -> None:
    """Let a CreateTrainingJob request through.

    Raises:
        ApiError: a ValidationException with the first breach.
    """
    _raise_first([config_rules.serverless(request)])
    resources = request.get("ResourceConfig")
    if resources is None or "AlgorithmSpecification" not in request:
        missing = "ResourceConfig" if resources is None else "AlgorithmSpecification"
        raise invalid(f"{missing} is required.")
    _raise_first(
        [
            tags(request.get("Tags", [])),
            config_rules.image(request),
            config_rules.profiler(request.get("ProfilerConfig", {})),
            config_rules.debugger(request),
            data_rules.channels(request),
            _types(resources, others=("InstanceType", "InstanceGroups", "InstancePlacementConfig")),
            _counts(resources),
            config_rules.placement(resources),
            _spot(request),
            _limits(request.get("StoppingCondition", {})),
            _plans(resources, context),
            _training_volume(resources),
            _algorithm(request, context),
        ]
    )


def check_processing(request: Mapping[str, Any], context: Context) -> None:
    """Let a CreateProcessingJob request through.

    Raises:
        ApiError: a ValidationException with the first breach.
    """
    cluster = request["ProcessingResources"]["ClusterConfig"]
    _raise_first(
        [
            tags(request.get("Tags", [])),
            data_rules.inputs_and_outputs(request),
            _types(cluster, others=("InstanceType",)),
            _counts(_with_default_count(cluster)),
            _processing_volume(cluster),
            _algorithm(request, context),
        ]
    )


def _with_default_count(cluster: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without a list, InstanceCount is 1 unless it says otherwise (ProcessingClusterConfig)."""
    return cluster if "InstancePreferences" in cluster else {"InstanceCount": 1, **cluster}


def entries(resources: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the preferences of a list, or the one type of a request without one."""
    return list(resources.get("InstancePreferences") or [resources])


def _raise_first(rules: Iterable[Breaches]) -> None:
    for rule in rules:
        for breach in rule:
            raise invalid(breach)


def check_update(request: Mapping[str, Any]) -> None:
    """Let an UpdateTrainingJob request through.

    Raises:
        ApiError: a ValidationException with the first breach.
    """
    _raise_first([config_rules.profiler(request.get("ProfilerConfig", {})), config_rules.debugger(request)])


def check_tags(added: Iterable[Mapping[str, str]]) -> None:
    """Let tags through that are to be added to a job.

    Raises:
        ApiError: a ValidationException with the first breach.
    """
    _raise_first([tags(added)])


def tags(given: Iterable[Mapping[str, str]]) -> Breaches:
    """Check tags. Keys know case, and those that begin with ``aws:`` in any case are AWS's own.

    The text for a key that comes twice is SageMaker's for a trial component:
    https://github.com/aws/sagemaker-python-sdk/pull/3608.
    """
    keys = [tag["Key"] for tag in given]
    if data_rules.repeated(keys):
        yield "Duplicate tag key"
    for key in keys:
        if key.lower().startswith("aws:"):
            yield f"Tag keys starting with 'aws:' are reserved for AWS: {key}"


def _types(resources: Mapping[str, Any], others: tuple[str, ...]) -> Breaches:
    for member in sorted({"SelectedInstanceType", "SelectedInstanceCount"} & resources.keys()):
        yield f"{member} is read-only and is not accepted in a request."
    if "InstancePreferences" not in resources:
        if "InstanceGroups" in resources:
            yield "This sandbox does not run InstanceGroups."
        elif "InstanceType" not in resources:
            yield "Either InstanceType or InstancePreferences must be specified."
        return
    for member in sorted(set(others) & resources.keys()):
        yield f"InstancePreferences and {member} are mutually exclusive."
    types = Counter(entry["InstanceType"] for entry in resources["InstancePreferences"])
    twice = [name for name, count in types.items() if count > 1]
    if twice:
        yield f"InstancePreferences must not contain duplicate instance types: {twice}."


def _counts(resources: Mapping[str, Any]) -> Breaches:
    preferences = resources.get("InstancePreferences", [])
    own = [entry for entry in preferences if "InstanceCount" in entry]
    if "InstanceCount" in resources and own:
        yield "The cluster-level InstanceCount and InstanceCount in InstancePreferences are mutually exclusive."
    if "InstanceCount" not in resources and (not preferences or len(own) < len(preferences)):
        where = "every element of InstancePreferences must set its own InstanceCount"
        yield f"InstanceCount is required; without it, {where}."
    for holder in [resources, *preferences]:
        if holder.get("InstanceCount", 1) < 1:
            yield "InstanceCount must be at least 1."


def _spot(request: Mapping[str, Any]) -> Breaches:
    spot = bool(request.get("EnableManagedSpotTraining"))
    stopping = request.get("StoppingCondition", {})
    resources = request["ResourceConfig"]
    most = stopping.get("MaxWaitTimeInSeconds")
    if not spot:
        if most is not None:
            only = "It is only supported when EnableManagedSpotTraining is set to true"
            yield f"Invalid MaxWaitTimeInSeconds. {only}"
        return
    if "InstancePreferences" in resources:
        yield "InstancePreferences and EnableManagedSpotTraining are mutually exclusive."
    if "TrainingPlanArn" in resources:
        yield "TrainingPlanArn and EnableManagedSpotTraining are mutually exclusive."
    if resources.get("KeepAlivePeriodInSeconds"):
        # https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html
        yield "KeepAlivePeriodInSeconds is not supported when EnableManagedSpotTraining is set to true."
    if most is None:
        yield "MaxWaitTimeInSeconds is required when EnableManagedSpotTraining is set to true"
    elif most < stopping.get("MaxRuntimeInSeconds", 86_400):
        above = "It must be present and be greater than or equal to MaxRuntimeInSeconds"
        yield f"Invalid MaxWaitTimeInSeconds. {above}"


def _limits(stopping: Mapping[str, Any]) -> Breaches:
    if stopping.get("MaxRuntimeInSeconds", 0) > MOST_RUNTIME_SECONDS:
        yield f"MaxRuntimeInSeconds must be at most {MOST_RUNTIME_SECONDS} seconds (28 days)."


def _plans(resources: Mapping[str, Any], context: Context) -> Breaches:
    job_plan = resources.get("TrainingPlanArn")
    listed = entries(resources)
    own = [(e["InstanceType"], arn) for e in listed for arn in e.get("TrainingPlanArns", ())]
    if job_plan is not None and own:
        yield "TrainingPlanArn and TrainingPlanArns in InstancePreferences are mutually exclusive."
    for instance_type, arn in own:
        yield from _plan(arn, {instance_type}, context)
    if job_plan is not None:
        yield from _plan(job_plan, {e["InstanceType"] for e in listed}, context)


def _plan(arn: str, types: set[str], context: Context) -> Breaches:
    plan = context.plans.get(arn)
    if plan is None:
        yield f"Training plan {arn} does not exist."
    else:
        yield from _plan_fits(plan, types, context)


def _plan_fits(plan: Plan, types: set[str], context: Context) -> Breaches:
    if plan.spec.target != JOBS_TARGET:
        yield f"Training plan {plan.arn} is for target resource {plan.spec.target}, not for {JOBS_TARGET}."
    status = plan.status(context.elapsed)
    if status not in {"Scheduled", "Active"}:
        yield f"Training plan {plan.arn} is in status {status}; it must be Scheduled or Active."
    if plan.spec.instance_type not in types:
        asked = ", ".join(sorted(types))
        yield f"Training plan {plan.arn} is for instance type {plan.spec.instance_type}, not for {asked}."


def _training_volume(resources: Mapping[str, Any]) -> Breaches:
    types = [entry["InstanceType"] for entry in entries(resources)]
    yield from _volume_key(resources, types)
    on_ebs = [name for name in types if not catalog.has_local_storage(name)]
    if on_ebs and resources.get("VolumeSizeInGB", 0) < 1:
        yield f"VolumeSizeInGB must be at least 1 for instance type {on_ebs[0]}."


def _processing_volume(cluster: Mapping[str, Any]) -> Breaches:
    types = [entry["InstanceType"] for entry in entries(cluster)]
    yield from _volume_key(cluster, types)
    asked = cluster["VolumeSizeInGB"]
    for name in types:
        local = catalog.local_storage_gb(name)
        if local and asked > local:
            yield (
                f"VolumeSizeInGB {asked} is greater than the total size of the local instance storage of "
                f"{name}, {local} GB."
            )


def _volume_key(resources: Mapping[str, Any], types: list[str]) -> Breaches:
    """One entry with local storage is enough: AWS doesn't say what a mixed list gets, so the strict reading holds."""
    local = next((name for name in types if catalog.has_local_storage(name)), None)
    if "VolumeKmsKeyId" in resources and local is not None:
        yield f"VolumeKmsKeyId is not supported for instance type {local}, which has local storage."


def _algorithm(request: Mapping[str, Any], context: Context) -> Breaches:
    """Every type of a list has to be one that a built-in algorithm supports."""
    if "AppSpecification" in request:
        image, resources = request["AppSpecification"]["ImageUri"], request["ProcessingResources"]["ClusterConfig"]
    else:
        image = request["AlgorithmSpecification"].get("TrainingImage", "")
        resources = request["ResourceConfig"]
    for pattern, supported in context.algorithms.items():
        if not fnmatchcase(image, pattern):
            continue
        for entry in entries(resources):
            name = entry["InstanceType"]
            if not any(fnmatchcase(name, good) for good in supported):
                yield f"Instance type {name} is not supported by the algorithm of image {image}."
