"""The constraints that botocore's own model has for a request: lengths, ranges, patterns, enumerations.

botocore checks a few of them before it sends; AWS checks all, and answers with the texts made here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

import botocore.session
from botocore.model import ListShape, MapShape, OperationModel, ServiceModel, Shape, StructureShape

from airflow_sm_prefer.sandbox.api_errors import invalid


@cache
def service_model(name: str) -> ServiceModel:
    """Return botocore's model of a service."""
    return botocore.session.get_session().get_service_model(name)


class Constraints:
    """Checks requests against the model.

    Args:
        maximum_lengths: By name of a list shape, a length other than the model's.
        open_enums: Whether values are accepted that an enumeration doesn't have.
    """

    def __init__(self, maximum_lengths: Mapping[str, int] | None = None, *, open_enums: bool = False) -> None:
        self._maximum_lengths = dict(maximum_lengths or {})
        self._open_enums = open_enums

    def check(self, operation: OperationModel, request: Mapping[str, Any]) -> None:
        """Let a request through.

        Raises:
            ApiError: a ValidationException that names every breach, as AWS does.
        """
        if operation.input_shape is None:
            return
        breaches = list(self._structure(operation.input_shape, request, ""))
        if breaches:
            plural = "s" if len(breaches) > 1 else ""
            raise invalid(f"{len(breaches)} validation error{plural} detected: {'; '.join(breaches)}")

    def _any(self, shape: Shape, value: Any, path: str) -> Iterator[str]:
        if value is None:
            yield _null(path)
        elif isinstance(shape, StructureShape):
            yield from self._structure(shape, value, path)
        elif isinstance(shape, ListShape):
            yield from self._list(shape, value, path)
        elif isinstance(shape, MapShape):
            yield from self._map(shape, value, path)
        else:
            yield from self._scalar(shape, value, path)

    def _structure(self, shape: StructureShape, value: Mapping[str, Any], path: str) -> Iterator[str]:
        for name, member in shape.members.items():
            where = f"{path}.{_lower(name)}" if path else _lower(name)
            if name in value:
                yield from self._any(member, value[name], where)
            elif name in shape.required_members:
                yield _null(where)

    def _list(self, shape: ListShape, value: list[Any], path: str) -> Iterator[str]:
        yield from self._length(shape, value, path)
        for index, item in enumerate(value, start=1):
            yield from self._any(shape.member, item, f"{path}.{index}.member")

    def _map(self, shape: MapShape, value: Mapping[str, Any], path: str) -> Iterator[str]:
        yield from self._length(shape, value, path)
        for key, item in value.items():
            yield from self._scalar(shape.key, key, f"{path}.key")
            yield from self._any(shape.value, item, f"{path}.{key}.member")

    def _scalar(self, shape: Shape, value: Any, path: str) -> Iterator[str]:
        if shape.type_name in {"integer", "long", "float", "double"}:
            yield from self._range(shape, value, path)
        elif shape.type_name == "string":
            yield from self._length(shape, value, path)
            yield from self._text(shape, value, path)

    def _text(self, shape: Shape, value: str, path: str) -> Iterator[str]:
        known = shape.metadata.get("enum")
        if known and not self._open_enums and value not in known:
            yield _breach(value, path, f"Member must satisfy enum value set: [{', '.join(known)}]")
        pattern = shape.metadata.get("pattern")
        if pattern and not _compiled(pattern).fullmatch(value):
            yield _breach(value, path, f"Member must satisfy regular expression pattern: {pattern}")

    def _length(self, shape: Shape, value: Any, path: str) -> Iterator[str]:
        least = shape.metadata.get("min")
        most = self._maximum_lengths.get(shape.name, shape.metadata.get("max"))
        if least is not None and len(value) < least:
            yield _breach(value, path, f"Member must have length greater than or equal to {least}")
        if most is not None and len(value) > most:
            yield _breach(value, path, f"Member must have length less than or equal to {most}")

    def _range(self, shape: Shape, value: float, path: str) -> Iterator[str]:
        least, most = shape.metadata.get("min"), shape.metadata.get("max")
        if least is not None and value < least:
            yield _breach(value, path, f"Member must have value greater than or equal to {least}")
        if most is not None and value > most:
            yield _breach(value, path, f"Member must have value less than or equal to {most}")


_CLASSES = {
    r"\p{L}": r"\w",
    r"\p{M}": "",
    r"\p{N}": r"\d",
    r"\p{Z}": "\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\p{S}": r"$+<=>^`|~",
    r"\p{P}": r"!-/:-@\[-`{-~",
    r"\p{Alnum}": "a-zA-Z0-9",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF",
}
"""Java's classes of characters and its surrogate pairs, which Python lacks, as near as it comes."""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for theirs, ours in _CLASSES.items():
        pattern = pattern.replace(theirs, ours)
    return re.compile(pattern)


def _null(path: str) -> str:
    return f"Value null at '{path}' failed to satisfy constraint: Member must not be null"


def _breach(value: Any, path: str, constraint: str) -> str:
    return f"Value '{_shown(value)}' at '{path}' failed to satisfy constraint: {constraint}"


def _shown(value: Any) -> str:
    """Write a value as AWS does: members in lower case, no quotes."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_lower(str(k))}={_shown(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_shown(item) for item in value) + "]"
    return str(value)


def _lower(name: str) -> str:
    return name[:1].lower() + name[1:]
