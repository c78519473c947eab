"""The types that botocore's model has for a request's JSON: what has another can't be read at all.

AWS answers with a SerializationException then, before it looks at any constraint. The texts are those that its JSON
services are known by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from airflow_sm_prefer.sandbox.api_errors import ApiError

_SCALARS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "string": ((str,), "a String"),
    "boolean": ((bool,), "a Boolean"),
    "integer": ((int, float), "an Integer"),
    "long": ((int, float), "a Long"),
    "float": ((int, float), "a Float"),
    "double": ((int, float), "a Double"),
    "timestamp": ((int, float, str), "a Timestamp"),
}


def check_types(shape: Shape, value: Any) -> None:
    """Let a value through that can be read as a shape; null can be read as anything.

    Raises:
        ApiError: a SerializationException.
    """
    if value is None:
        return
    if isinstance(shape, ListShape):
        _check_list(shape, value)
    elif isinstance(shape, StructureShape | MapShape):
        _check_members(shape, value)
    else:
        _check_scalar(shape, value)


def known_members(shape: Shape, value: Any) -> Any:
    """Return a value without the members that a shape doesn't have, and without nulls, as AWS reads requests."""
    if isinstance(shape, ListShape):
        return [known_members(shape.member, one) for one in value if one is not None]
    if isinstance(shape, MapShape):
        return {key: known_members(shape.value, one) for key, one in value.items() if one is not None}
    if isinstance(shape, StructureShape):
        return {
            name: known_members(shape.members[name], one)
            for name, one in value.items()
            if name in shape.members and one is not None
        }
    return value


def unreadable(text: str) -> ApiError:
    """Return the refusal of what can't be read."""
    return ApiError("SerializationException", text)


def _check_list(shape: ListShape, value: Any) -> None:
    if not isinstance(value, list):
        raise unreadable("Expected list or null")
    for one in value:
        check_types(shape.member, one)


def _check_members(shape: StructureShape | MapShape, value: Any) -> None:
    if isinstance(value, list):
        raise unreadable("Start of list found where not expected")
    if not isinstance(value, Mapping):
        raise unreadable("Expected structure or null")
    for name, one in value.items():
        member = shape.value if isinstance(shape, MapShape) else shape.members.get(name)
        if member is not None:
            check_types(member, one)


def _check_scalar(shape: Shape, value: Any) -> None:
    if isinstance(value, Mapping):
        raise unreadable("Start of structure or map found where not expected.")
    if isinstance(value, list):
        raise unreadable("Start of list found where not expected")
    wanted, name = _SCALARS[shape.type_name]
    is_other_bool = isinstance(value, bool) and bool not in wanted
    is_no_number = isinstance(value, float) and not math.isfinite(value)
    if not isinstance(value, wanted) or is_other_bool or is_no_number:
        raise unreadable(f"{_token(value)} can not be converted to {name}")


def _token(value: Any) -> str:
    if isinstance(value, bool):
        return f"{value}_VALUE".upper()
    return "STRING_VALUE" if isinstance(value, str) else "NUMBER_VALUE"
