"""One wave's request: the author's config, with what the wave adds and nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference, PreferenceList
from airflow_sm_prefer.model.service_job import training_request
from airflow_sm_prefer.placement.queueing import Terms, service_request
from airflow_sm_prefer.placement.waves import Wave

#: MaxRuntimeInSeconds of a job that doesn't say
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html).
DEFAULT_MAX_RUNTIME = 86400


@dataclass(frozen=True, slots=True)
class Envelope:
    """What a job is sent with besides what it does.

    Attributes:
        name: Its name.
        tags: Our tags, in AWS's form.
        pending_limit: The MaxPendingTimeInSeconds for it, where AWS honours one.
        inner_name: The name of the training job, if it goes through a queue.
        token: The client token of its submission, if it goes through a queue.
        priority: Its scheduling priority there; None leaves it out.
    """

    name: str
    tags: Sequence[Mapping[str, str]]
    pending_limit: int
    inner_name: str = ""
    token: str = ""
    priority: int | None = None


def build_request(
    kind: JobKind,
    config: Mapping[str, Any],
    preferences: PreferenceList,
    wave: Wave,
    envelope: Envelope,
    *,
    terms: Terms | None = None,
) -> dict[str, Any]:
    """Return the request of one wave: CreateTrainingJob, CreateProcessingJob or SubmitServiceJob.

    Args:
        kind: The kind of job.
        config: The author's request, which is left as it is.
        preferences: The list.
        wave: Which part of it.
        envelope: What the job is sent with besides what it does.
        terms: What it is sent with through a queue.

    Raises:
        InvalidRequest: it is larger than AWS Batch takes.
    """
    if wave.queue is None:
        return _job_request(kind, config, preferences, wave, envelope)
    inner = replace(envelope, name=envelope.inner_name)
    return service_request(
        _job_request(kind, config, preferences, wave, inner),
        wave.queue,
        terms or Terms(),
        name=envelope.name,
        token=envelope.token,
        priority=envelope.priority,
    )


def _job_request(
    kind: JobKind, config: Mapping[str, Any], preferences: PreferenceList, wave: Wave, envelope: Envelope
) -> dict[str, Any]:
    request = copy.deepcopy(dict(config))
    request[kind.name_key] = envelope.name
    request["Tags"] = [*(request.get("Tags") or []), *map(dict, envelope.tags)]
    if wave.preferences:
        _name_instances(_resources(kind, request), preferences, wave)
        request = wave.preferences[0].overrides.apply(request, kind.value)
    if kind is JobKind.TRAINING:
        _bound_waiting(request, wave, envelope.pending_limit)
    return request


def max_runtime(request: Mapping[str, Any]) -> float:
    """Return how long a job may take once it has begun, in seconds; a spot job's waits in between count too."""
    stopping = training_request(request).get("StoppingCondition", {})
    limits = [stopping.get("MaxRuntimeInSeconds", DEFAULT_MAX_RUNTIME), stopping.get("MaxWaitTimeInSeconds", 0)]
    return float(max(limits))


def sent_pending_limit(request: Mapping[str, Any]) -> float | None:
    """Return the pending limit that AWS will hold a request to; None where it holds it to none, as through a queue."""
    if "serviceRequestPayload" in request:
        return None
    limit = request.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
    return float(limit) if limit is not None and _honours_pending_limit(request) else None


def _resources(kind: JobKind, request: dict[str, Any]) -> dict[str, Any]:
    part = request
    for key in kind.resource_path:
        part = part.setdefault(key, {})
    return part


def _name_instances(resources: dict[str, Any], preferences: PreferenceList, wave: Wave) -> None:
    for key in ("InstanceType", "InstanceCount", "InstancePreferences"):
        resources.pop(key, None)
    if not wave.native:
        _name_one(resources, preferences.count_of(wave.indices[0]), wave.preferences[0])
        return
    uniform = preferences.uniform_count
    if uniform is not None:
        resources["InstanceCount"] = uniform
    resources["InstancePreferences"] = [_native(entry, uniform) for entry in wave.preferences]


def _name_one(resources: dict[str, Any], count: int, entry: InstancePreference) -> None:
    resources["InstanceType"], resources["InstanceCount"] = entry.instance_type, count
    if entry.training_plan_arn is not None:
        resources["TrainingPlanArn"] = entry.training_plan_arn


def _native(entry: InstancePreference, uniform: int | None) -> dict[str, Any]:
    written: dict[str, Any] = {"InstanceType": entry.instance_type}
    if uniform is None:
        written["InstanceCount"] = entry.instance_count
    if entry.training_plan_arn is not None:
        written["TrainingPlanArns"] = [entry.training_plan_arn]
    return written


def _bound_waiting(request: dict[str, Any], wave: Wave, limit: int) -> None:
    """Tell AWS how long the job may wait, in the way that its kind of capacity knows.

    Spot jobs have MaxWaitTimeInSeconds for waiting and running together, which all others refuse; CPU types know no
    limit at all (https://docs.aws.amazon.com/sagemaker/latest/dg/train-get-capacity.html).
    """
    if any(entry.kind is CapacityKind.SPOT for entry in wave.preferences):
        _ask_for_spot(request, limit)
        return
    if wave.preferences:
        request.get("StoppingCondition", {}).pop("MaxWaitTimeInSeconds", None)
    if wave.queue is not None:
        return  # at its end Batch would only send the job again
    if _honours_pending_limit(request):
        request.setdefault("StoppingCondition", {})["MaxPendingTimeInSeconds"] = limit


def _ask_for_spot(request: dict[str, Any], limit: int) -> None:
    """Make it a managed spot job, without what AWS takes for other capacity only: a pending limit and warm pools.

    Sources: https://docs.aws.amazon.com/sagemaker/latest/dg/train-get-capacity.html and
    https://docs.aws.amazon.com/sagemaker/latest/dg/train-warm-pools.html
    """
    request["EnableManagedSpotTraining"] = True
    request.get("ResourceConfig", {}).pop("KeepAlivePeriodInSeconds", None)
    stopping = request.setdefault("StoppingCondition", {})
    stopping.pop("MaxPendingTimeInSeconds", None)
    runtime = stopping.setdefault("MaxRuntimeInSeconds", DEFAULT_MAX_RUNTIME)
    stopping.setdefault("MaxWaitTimeInSeconds", runtime + limit)


def _honours_pending_limit(request: Mapping[str, Any]) -> bool:
    resources = request.get("ResourceConfig", {})
    entries = [resources, *resources.get("InstancePreferences", []), *resources.get("InstanceGroups", [])]
    types = [entry["InstanceType"] for entry in entries if "InstanceType" in entry]
    return not request.get("EnableManagedSpotTraining") and any(map(catalog.is_accelerated, types))
