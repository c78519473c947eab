"""What can be checked when the DAG is parsed, before any template is rendered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.model.beside import check_beside_any_list
from airflow_sm_prefer.model.entries import read_entry
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import joined_path, parse_preferences
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.model.rendered import has_template, normalise_config, normalise_prefer, without_templates
from airflow_sm_prefer.model.rules import validate_config, validate_request
from airflow_sm_prefer.model.scalars import coerce_scalars
from airflow_sm_prefer.model.types import KnownTypes, TypeNames

#: The parts of a request that decide, together with the list, whether the list can work.
_DECIDING = ("ResourceConfig", "ProcessingResources", "StoppingCondition", "EnableManagedSpotTraining")


def check_what_is_plain(
    prefer: Any,
    config: Any,
    kind: JobKind | str,
    *,
    known_types: KnownTypes,
    allow_unknown_types: bool = False,
    queues: Queues | None = None,
) -> None:
    """Check as much of a list and its request as is known at parse time; the rest is checked when it is rendered.

    Args:
        prefer: The list as it was written: plain, with templates in it, a template as a whole, or an XComArg.
        config: The request, likewise.
        kind: The kind of job.
        known_types: As for ``parse_preferences``.
        allow_unknown_types: As for ``parse_preferences``.
        queues: As for ``parse_preferences``.

    Raises:
        InvalidPreference: something plain in the list can't work.
        InvalidRequest: something plain in the request can't work.
    """
    kind = JobKind(kind)
    types = TypeNames(kind, known_types, allow_unknown_types)
    if _is_unknown(config):
        _check_entries(prefer, "prefer", types, queues)
        return
    request = normalise_config(config)
    deciding = {key: request[key] for key in _DECIDING if key in request}
    if has_template(prefer) or has_template(deciding):
        _check_partly(prefer, deciding, types, queues)
        return
    plain = {**request, **coerce_scalars(deciding, kind)}
    preferences = parse_preferences(
        prefer,
        kind=kind,
        config=plain,
        known_types=known_types,
        allow_unknown_types=allow_unknown_types,
        queues=queues,
    )
    validate_request(plain, preferences, kind)


def _check_partly(prefer: Any, deciding: Mapping[str, Any], types: TypeNames, queues: Queues | None) -> None:
    """Check each part for itself, since how they go together isn't known yet."""
    plain = coerce_scalars(without_templates(deciding), types.kind)
    validate_config(plain, types.kind)
    inside: Any = deciding
    for key in (*types.kind.resource_path, "InstancePreferences"):
        inside = inside.get(key) if isinstance(inside, Mapping) else None
    if _is_list(prefer) or _is_list(inside):
        check_beside_any_list(plain, types.kind)
    _check_entries(prefer, "prefer", types, queues)
    _check_entries(inside, joined_path(types.kind, "InstancePreferences"), types, queues)


def _check_entries(written: Any, place: str, types: TypeNames, queues: Queues | None) -> None:
    """Check the entries that are plain, and of the others the types that are."""
    if written is None or _is_unknown(written):
        return
    for number, item in enumerate(normalise_prefer(written), start=1):
        where = f"{place}, entry {number}"
        if not has_template(item):
            read_entry(item, where, types, queues)
        elif isinstance(item, Mapping) and not has_template(name := item.get("InstanceType")):
            types.check(str(name), f"{where} ({name})")


def _is_unknown(value: Any) -> bool:
    """Whether a value as a whole is known only when the task runs."""
    return not isinstance(value, Mapping) and not _is_list(value) and has_template(value)


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
