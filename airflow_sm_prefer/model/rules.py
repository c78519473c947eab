"""Rules for the request around a preference list, as far as they can be judged before AWS sees it.

The limits are those of botocore's models, which botocore itself checks only in part: it lets maxima, exclusions and
read-only members pass.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.beside import runs_on_spot
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.plans import check_plan_arn
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference, PreferenceList
from airflow_sm_prefer.model.rendered import has_template
from airflow_sm_prefer.model.written import integer, joined, part_of, refused, request_refused, shown

#: MaxRuntimeInSeconds if a training request has none (SageMaker API reference, ``StoppingCondition``).
_DEFAULT_RUNTIME = 86_400

#: The longest MaxRuntimeInSeconds: 28 days for training, 9 for processing.
_LONGEST_RUNTIME = {JobKind.TRAINING: 2_419_200, JobKind.PROCESSING: 777_600}

#: By path, the least and the most that AWS takes.
_RANGES: dict[JobKind, dict[str, tuple[int, int]]] = {
    JobKind.TRAINING: {
        "StoppingCondition.MaxRuntimeInSeconds": (1, _LONGEST_RUNTIME[JobKind.TRAINING]),
        "StoppingCondition.MaxPendingTimeInSeconds": (1800, 2_419_200),
        "ResourceConfig.KeepAlivePeriodInSeconds": (0, 21_600),
    },
    JobKind.PROCESSING: {
        "StoppingCondition.MaxRuntimeInSeconds": (1, _LONGEST_RUNTIME[JobKind.PROCESSING]),
        "ProcessingResources.ClusterConfig.VolumeSizeInGB": (1, 16_384),
    },
}

#: What only training jobs have, and what to use instead.
_NOT_FOR_PROCESSING = {
    "MaxPendingTimeInSeconds": "Give the operator max_pending, which holds for processing jobs too.",
    "MaxWaitTimeInSeconds": "It is for spot training jobs; give the operator max_pending.",
}


def validate_request(config: Mapping[str, Any], preferences: PreferenceList, kind: JobKind | str) -> None:
    """Check the request around a list.

    Raises:
        InvalidRequest: something in it can't work, whatever the list.
        InvalidPreference: something in it can't work for an entry of the list, which is named.
    """
    kind = JobKind(kind)
    validate_config(config, kind)
    _check_spot_times(config, preferences)
    resources = part_of(config, kind.resource_path)
    for number, entry in enumerate(preferences, start=1):
        place = f"entry {number} ({entry.instance_type})"
        _check_volume(config, entry, place, kind)
        _check_key(resources, entry, place)
        _check_runtime(entry, place, kind)
        _check_channels(config, entry, place, kind)


def validate_config(config: Mapping[str, Any], kind: JobKind | str) -> None:
    """Check what can be checked of a request without knowing its list.

    Raises:
        InvalidRequest: something in it can't work, whatever the list.
    """
    kind = JobKind(kind)
    resources = part_of(config, kind.resource_path)
    for key in ("SelectedInstanceType", "SelectedInstanceCount"):
        if key in resources:
            place = ".".join((*kind.resource_path, key))
            remedy = "Take it away: it is for AWS to say which entry it selected."
            raise request_refused(place, "is not accepted in a request", remedy)
    if kind is JobKind.PROCESSING:
        _check_limits_of_processing(config)
    elif resources.get("TrainingPlanArn") is not None:
        check_plan_arn(resources["TrainingPlanArn"], "ResourceConfig.TrainingPlanArn", _not_a_plan)
    for path, (least, most) in _RANGES[kind].items():
        _check_range(config, path, least, most)
    _check_tags(config.get("Tags"))


def _check_tags(tags: Any) -> None:
    """Refuse tags of another shape than AWS's, since ours are put beside them."""
    if tags is None or has_template(tags):
        return
    if not isinstance(tags, list | tuple) or not all(map(_is_tag, tags)):
        remedy = 'Write them as [{"Key": "team", "Value": "vision"}].'
        raise request_refused("Tags", f"have to be a list of dicts of strings, and are {shown(tags)}", remedy)


def _is_tag(tag: Any) -> bool:
    is_shaped = isinstance(tag, Mapping) and set(tag) == {"Key", "Value"}
    return is_shaped and all(isinstance(part, str) for part in tag.values())


def _not_a_plan(place: str, problem: str, remedy: str) -> InvalidRequest:
    return request_refused(place, f"is wrong: {problem}", remedy)


def _check_limits_of_processing(config: Mapping[str, Any]) -> None:
    stopping = part_of(config, ("StoppingCondition",))
    for key, remedy in _NOT_FOR_PROCESSING.items():
        if key in stopping:
            raise request_refused(f"StoppingCondition.{key}", "doesn't exist for processing jobs", remedy)


def _check_range(config: Mapping[str, Any], path: str, least: int, most: int) -> None:
    number = _integer_at(config, path)
    if number is not None and not least <= number <= most:
        raise request_refused(path, f"is {number}", f"AWS takes {least} to {most}.")


def _integer_at(config: Mapping[str, Any], path: str) -> int | None:
    *parts, key = path.split(".")
    value = part_of(config, parts).get(key)
    try:
        return None if value is None else integer(value)
    except ValueError:
        raise request_refused(path, f"is {shown(value)}", "AWS wants an integer there.") from None


def _check_spot_times(config: Mapping[str, Any], preferences: PreferenceList) -> None:
    """Check MaxWaitTimeInSeconds, which is for spot alone and includes the time that the job runs."""
    path = "StoppingCondition.MaxWaitTimeInSeconds"
    wait = _integer_at(config, path)
    if wait is None:
        return
    on_spot = [entry.overrides.max_runtime for entry in preferences if entry.kind is CapacityKind.SPOT]
    if preferences.as_written and runs_on_spot(config):
        on_spot = [None]
    if not on_spot:
        remedy = 'Take it away (the operator\'s max_pending bounds the wait), or list a spot("ml.…").'
        raise request_refused(path, "is for spot capacity, and the job doesn't ask for any", remedy)
    runtime = _integer_at(config, "StoppingCondition.MaxRuntimeInSeconds") or _DEFAULT_RUNTIME
    longest = max(own or runtime for own in on_spot)
    if wait < longest:
        remedy = "It covers waiting and running; make it at least as long as MaxRuntimeInSeconds."
        raise request_refused(path, f"is {wait}, and the job may run for {longest} seconds", remedy)


def _check_volume(config: Mapping[str, Any], entry: InstancePreference, place: str, kind: JobKind) -> None:
    """Check the size of the storage volume against a type (SageMaker API reference, ``VolumeSizeInGB``)."""
    size, name = entry.overrides.volume_size_gb, entry.instance_type
    if size is None:
        size = _integer_at(config, ".".join((*kind.resource_path, "VolumeSizeInGB")))
    if kind is JobKind.PROCESSING:
        _check_processing_volume(size, name, place)
    elif not size and name in catalog.TRAINING_TYPES and not catalog.has_local_storage(name):
        problem = "the type has no disks of its own, and the request has no VolumeSizeInGB"
        raise refused(place, problem, "Give ResourceConfig.VolumeSizeInGB; types with their own disks ignore it.")


def _check_processing_volume(size: int | None, instance_type: str, place: str) -> None:
    path = "ProcessingResources.ClusterConfig.VolumeSizeInGB"
    least, most = _RANGES[JobKind.PROCESSING][path]
    if size is None:
        raise request_refused(path, "is missing, and processing jobs need it", f"AWS takes {least} to {most}.")
    if size > most:
        raise refused(place, f"its volume_size_gb is {size}", f"AWS takes {least} to {most}.")
    disks = catalog.local_storage_gb(instance_type)
    if catalog.has_local_storage(instance_type) and disks is not None and size > disks:
        problem = f"VolumeSizeInGB is {size}, and the type's own disks have {disks} GB"
        raise refused(place, problem, f"Ask for {disks} or less, for this entry with volume_size_gb={disks}.")


def _check_key(resources: Mapping[str, Any], entry: InstancePreference, place: str) -> None:
    """Check the volume's key: AWS encrypts a type's own disks by itself and takes no key for them."""
    if resources.get("VolumeKmsKeyId") and catalog.has_local_storage(entry.instance_type):
        problem = "the type has disks of its own, and AWS takes no VolumeKmsKeyId for it"
        raise refused(place, problem, "Take away VolumeKmsKeyId, or list only types without disks of their own.")


def _check_runtime(entry: InstancePreference, place: str, kind: JobKind) -> None:
    runtime, most = entry.overrides.max_runtime, _LONGEST_RUNTIME[kind]
    if runtime is not None and runtime > most:
        raise refused(place, f"its max_runtime is {runtime} seconds", f"AWS takes 1 to {most}.")


def _check_channels(config: Mapping[str, Any], entry: InstancePreference, place: str, kind: JobKind) -> None:
    missing = entry.overrides.missing_channels(config, kind)
    if missing:
        problem = f"it changes channels that the request doesn't have: {joined(map(repr, missing))}"
        raise refused(place, problem, "Name channels of the request; an override can't add one.")
