"""What a preference may change in the request when the job is sent for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.rendered import has_template
from airflow_sm_prefer.model.scalars import coerce_scalars
from airflow_sm_prefer.model.written import did_you_mean, integer, joined, refused, shown

Pairs = tuple[tuple[str, str], ...]

#: Where the inputs of a job are listed, and the key of an input's name.
_INPUTS = {
    JobKind.TRAINING: ("InputDataConfig", "ChannelName"),
    JobKind.PROCESSING: ("ProcessingInputs", "InputName"),
}


@dataclass(frozen=True, slots=True)
class Overrides:
    """Changes to the request, as a value: equal ones can share a wave. Nothing is changed by default.

    Attributes:
        hyperparameters: Names and values; added to the request's, key by key.
        environment: Names and values; added to the request's, key by key.
        image: The container image instead of the request's; an AlgorithmName gives way to it.
        volume_size_gb: The size of the storage volume instead of the request's, in GB.
        max_runtime: MaxRuntimeInSeconds instead of the request's.
        checkpoint: The CheckpointConfig instead of the request's.
        channels: By the name of a channel (of an input, for processing jobs), the keys of its settings that replace
            the request's; as JSON text, so that the value can't change.
    """

    # Kept out of repr, since both may hold secrets and a repr ends up in logs.
    hyperparameters: Pairs = field(default=(), repr=False)
    environment: Pairs = field(default=(), repr=False)
    image: str | None = None
    volume_size_gb: int | None = None
    max_runtime: int | None = None
    checkpoint: Pairs = ()
    channels: Pairs = ()

    def __bool__(self) -> bool:
        return self != _NOTHING

    def apply(self, request: Mapping[str, Any], kind: JobKind | str) -> dict[str, Any]:
        """Return the request with the changes made; the one that was handed in isn't changed."""
        kind = JobKind(kind)
        result = dict(request)
        for key, pairs in (("HyperParameters", self.hyperparameters), ("Environment", self.environment)):
            if pairs:
                result[key] = {**(result.get(key) or {}), **dict(pairs)}
        if self.checkpoint:
            result["CheckpointConfig"] = dict(self.checkpoint)
        if self.image is not None:
            result = _with_image(result, self.image, kind)
        if self.volume_size_gb is not None:
            result = _with(result, (*kind.resource_path, "VolumeSizeInGB"), self.volume_size_gb)
        if self.max_runtime is not None:
            result = _with(result, ("StoppingCondition", "MaxRuntimeInSeconds"), self.max_runtime)
        return self._with_channels(result, kind) if self.channels else result

    def missing_channels(self, request: Mapping[str, Any], kind: JobKind | str) -> list[str]:
        """Return the names of channels that the changes are for and that the request doesn't have."""
        inputs, name_key = _INPUTS[JobKind(kind)]
        listed = request.get(inputs) or []
        names = [item.get(name_key) for item in listed if isinstance(item, Mapping)] if _is_list(listed) else None
        if names is None or has_template(names):
            return []  # not known before it is rendered
        return [name for name, _ in self.channels if name not in names]

    def _with_channels(self, request: dict[str, Any], kind: JobKind) -> dict[str, Any]:
        inputs, name_key = _INPUTS[kind]
        settings = {name: json.loads(text) for name, text in self.channels}
        request[inputs] = [{**item, **settings.get(item.get(name_key), {})} for item in request.get(inputs) or ()]
        return coerce_scalars(request, kind)


_NOTHING = Overrides()


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)


def _with(request: Mapping[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """Return a request with a value at a path; what isn't on the path is shared, not copied."""
    key, *rest = path
    return {**request, key: _with(request.get(key) or {}, tuple(rest), value) if rest else value}


def _with_image(request: dict[str, Any], image: str, kind: JobKind) -> dict[str, Any]:
    if kind is JobKind.PROCESSING:
        return _with(request, ("AppSpecification", "ImageUri"), image)
    algorithm = {k: v for k, v in (request.get("AlgorithmSpecification") or {}).items() if k != "AlgorithmName"}
    return {**request, "AlgorithmSpecification": {**algorithm, "TrainingImage": image}}


def read_overrides(written: Any, kind: JobKind, place: str) -> Overrides:
    """Read what a preference changes, from the dict that the helpers write.

    None stands for no change. Hyperparameters and environment are strings to AWS: numbers and booleans are written
    as JSON writes them (``64``, ``0.1``, ``true``), anything else has to be a string already.

    Raises:
        InvalidPreference: a name isn't one of an override, or its value can't be used.
    """
    if not isinstance(written, Mapping):
        raise refused(place, f"Overrides has to be a dict, and it is {shown(written)}", f"It may have {_NAMES}.")
    values: dict[str, Any] = {}
    for name, value in written.items():
        check_name(name, kind, place)
        if value is not None:
            values[name] = _read(name, value, place)
    return Overrides(**values)


def check_name(name: object, kind: JobKind, place: str) -> None:
    """Check that a name is one of an override for a kind of job.

    Raises:
        InvalidPreference: it isn't.
    """
    if name not in _READERS:
        remedy = f"{did_you_mean(str(name), _READERS)} There are {_NAMES}.".strip()
        raise refused(place, f"there is no override {shown(name)}", remedy)
    if kind is JobKind.PROCESSING and name in _TRAINING_ONLY:
        remedy = "Pass it in environment, or in the arguments of the container."
        raise refused(place, f"processing jobs have no {name}", remedy)


def _read(name: str, value: Any, place: str) -> Any:
    try:
        return _READERS[name](value)
    except ValueError as error:
        raise refused(place, f"the override {name} can't be used", f"It has to be {error}.") from None


def _strings(value: Any) -> Pairs:
    if not isinstance(value, Mapping):
        msg = f"a dict of strings, and it is {type(value).__name__}"
        raise ValueError(msg)
    return tuple(sorted((str(name), _string(name, item)) for name, item in value.items()))


def _string(name: object, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return json.dumps(value)
    # The value isn't shown: it may be a secret.
    msg = f"a dict of strings, and {name!r} is {type(value).__name__}; json.dumps makes a string of it"
    raise ValueError(msg)


def _text(value: Any) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    msg = f"a string, and it is {shown(value)}"
    raise ValueError(msg)


def _positive(value: Any) -> int:
    try:
        number = integer(value)
    except ValueError:
        number = 0
    if number < 1:
        msg = f"an integer of 1 or more, and it is {shown(value)}"
        raise ValueError(msg)
    return number


def _seconds(value: Any) -> int:
    """Read a span of time: a timedelta, or seconds."""
    try:
        return _positive(int(value.total_seconds()) if isinstance(value, timedelta) else value)
    except ValueError:
        msg = f"a timedelta or whole seconds, 1 or more, and it is {shown(value)}"
        raise ValueError(msg) from None


def _checkpoint(value: Any) -> Pairs:
    config = value if isinstance(value, Mapping) else {"S3Uri": value}
    uri = config.get("S3Uri")
    if not isinstance(uri, str) or not uri.startswith(("s3://", "https://")):
        msg = f"an s3:// address, or a CheckpointConfig with one as S3Uri, and it is {shown(value)}"
        raise ValueError(msg)
    return tuple(sorted((str(key), _text(item)) for key, item in config.items() if item is not None))


def _channels(value: Any) -> Pairs:
    if not isinstance(value, Mapping) or not all(isinstance(item, Mapping) for item in value.values()):
        msg = f"a dict of dicts by the name of the channel, and it is {shown(value)}"
        raise ValueError(msg)
    return tuple(sorted((str(name), _json(name, item)) for name, item in value.items()))


def _json(name: object, settings: Mapping[Any, Any]) -> str:
    if not {"ChannelName", "InputName"}.isdisjoint(settings):
        msg = f"settings that leave the name of the channel {name!r} as it is"
        raise ValueError(msg)
    try:
        return json.dumps(dict(settings), sort_keys=True)
    except TypeError as error:
        msg = f"plain data, and for the channel {name!r} it isn't: {error}"
        raise ValueError(msg) from None


_READERS: dict[Any, Callable[[Any], Any]] = {
    "hyperparameters": _strings,
    "environment": _strings,
    "image": _text,
    "volume_size_gb": _positive,
    "max_runtime": _seconds,
    "checkpoint": _checkpoint,
    "channels": _channels,
}
_NAMES = joined(_READERS)
_TRAINING_ONLY = frozenset({"hyperparameters", "checkpoint"})
