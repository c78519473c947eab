"""Requests of AWS's REST services in JSON: what their paths name, and where else their members are.

Everything is read from botocore's model of the service; nothing is written by hand.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NoReturn

from botocore.model import StructureShape

from airflow_sm_prefer.sandbox.json_types import check_types, known_members, unreadable
from airflow_sm_prefer.sandbox.shapes import service_model

_PLACE = re.compile(r"\\\{(\w+)\\\}")
"""A part of a path that is a member of the request, as it stands in an escaped one."""


def operation_of(service: str, method: str, path: str) -> tuple[str, dict[str, str]] | None:
    """Return the operation that a request is for, and the members that its path holds; None if there is none.

    Args:
        service: As botocore calls it.
        method: The HTTP method.
        path: Decoded, without the query.
    """
    for known, pattern, operation in _routes(service):
        found = pattern.fullmatch(path)
        if known == method and found:
            return operation, found.groupdict()
    return None


def read(
    service: str, operation: str, body: bytes, in_path: Mapping[str, str], query: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Return a request in botocore's shape; members that the model doesn't have are dropped, as AWS drops them.

    Args:
        service: As botocore calls it.
        operation: In AWS's spelling.
        body: All of it.
        in_path: The members that the path holds.
        query: The arguments behind the path.

    Raises:
        ApiError: it isn't JSON, or a member has the wrong type.
    """
    shape = service_model(service).operation_model(operation).input_shape
    try:
        given = json.loads(body or b"{}", parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise unreadable("Unexpected token received from parser") from None
    if not isinstance(shape, StructureShape):
        return {}
    check_types(shape, given)
    asked: dict[str, Any] = known_members(shape, given or {})
    return asked | _elsewhere(shape, in_path, query)


def _elsewhere(shape: StructureShape, in_path: Mapping[str, str], query: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the members that aren't in the body."""
    found: dict[str, Any] = {}
    for name, member in shape.members.items():
        place, key = member.serialization.get("location"), member.serialization.get("name", name)
        if place == "uri" and key in in_path:
            found[name] = in_path[key]
        elif place == "querystring" and key in query:
            found[name] = list(query[key]) if member.type_name == "list" else query[key][0]
    return found


@cache
def _routes(service: str) -> list[tuple[str, re.Pattern[str], str]]:
    model = service_model(service)
    routes = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        pattern = _PLACE.sub(r"(?P<\1>.+)", re.escape(http["requestUri"]))
        routes.append((http["method"], re.compile(pattern), name))
    return routes


def _no_json(constant: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's JSON reads and JSON doesn't have."""
    raise ValueError(constant)
