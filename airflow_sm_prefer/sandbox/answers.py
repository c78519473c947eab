"""What an operation answers, as JSON.

The model is walked once for each shape: what that leaves behind drops members that the model doesn't have, and rounds
instants. Shapes without an instant anywhere in them, such as what Describe repeats of a request, were brought into
their form by reading the request, and go out as they came in.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from airflow_sm_prefer.sandbox.shapes import service_model

Writer = Callable[[Any], Any]
"""Turns a value of ours into what JSON can say."""


def write_answer(service: str, operation: str, response: dict[str, Any]) -> bytes:
    """Return the body of an answer.

    Args:
        service: As botocore calls it.
        operation: In AWS's spelling.
        response: In botocore's shape, without members that are None; instants in epoch seconds.
    """
    return json.dumps(_answer_writer(service, operation)(response)).encode()


@cache
def _answer_writer(service: str, operation: str) -> Writer:
    shape = service_model(service).operation_model(operation).output_shape
    return _structure(shape, {}) if isinstance(shape, StructureShape) else lambda _: {}


def _writer(shape: Shape, known: dict[str, Writer]) -> Writer:
    """Return the writer of a shape."""
    if not _has_instant(shape, frozenset()):
        return _unchanged
    if isinstance(shape, StructureShape):
        return _structure(shape, known)
    if isinstance(shape, ListShape):
        member = _writer(shape.member, known)
        return lambda items: [member(item) for item in items]
    if isinstance(shape, MapShape):
        entry = _writer(shape.value, known)
        return lambda entries: {key: entry(value) for key, value in entries.items()}
    return _instant


def _structure(shape: StructureShape, known: dict[str, Writer]) -> Writer:
    """Return the writer of a structure; one may contain itself, so it is known before its members are."""
    if shape.name in known:
        return known[shape.name]
    writers: dict[str, Writer] = {}

    def write(value: dict[str, Any]) -> dict[str, Any]:
        return {name: writers[name](member) for name, member in value.items() if name in writers}

    known[shape.name] = write
    writers.update((name, _writer(member, known)) for name, member in shape.members.items())
    return write


def _has_instant(shape: Shape, above: frozenset[str]) -> bool:
    """Whether there is an instant somewhere in a shape, below those that are looked at already."""
    if shape.name in above:
        return False
    within = above | {shape.name}
    if isinstance(shape, StructureShape):
        return any(_has_instant(member, within) for member in shape.members.values())
    if isinstance(shape, ListShape):
        return _has_instant(shape.member, within)
    if isinstance(shape, MapShape):
        return _has_instant(shape.value, within)
    return bool(shape.type_name == "timestamp")


def _unchanged(value: Any) -> Any:
    return value


def _instant(value: float) -> float:
    return round(value, 3)
