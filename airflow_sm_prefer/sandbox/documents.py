"""Dataclasses as JSON, and back: how the sandbox's values are kept in files.

A dataclass is an object of its fields, an enumeration its value, a set a sorted list. What comes back is what was
there: ``__init__`` and ``__post_init__`` aren't run again. How each type is written and read is found out once.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable, Hashable, Mapping, Set
from enum import Enum
from functools import cache
from typing import Any, TypeVar

T = TypeVar("T")
Convert = Callable[[Any], Any]

_SCALARS = frozenset({str, int, float, bool, types.NoneType})


class Unfit(ValueError):
    """A document isn't one of the type that it is read as."""


def encode(value: Any) -> Any:
    """Return a value as JSON can hold it; infinities stay floats, which Python's JSON writes and reads.

    What is JSON-clean by its type, such as a request, is not copied.
    """
    kind = type(value)
    return value if kind in _SCALARS else _writer(typing.cast("Hashable", kind))(value)


def decode(shape: type[T], document: Any) -> T:
    """Return the value of a type that a document holds.

    A field that the document lacks gets its default, so that fields can be added.

    Raises:
        Unfit: it lacks a field without a default, has one that the type doesn't, or holds another type of value.
    """
    value: T = _reader(typing.cast("Hashable", shape))(document)
    return value


@cache
def _writer(kind: Hashable) -> Convert:
    assert isinstance(kind, type)
    if issubclass(kind, Enum):
        return lambda value: value.value
    if dataclasses.is_dataclass(kind):
        return _dataclass_writer(kind)
    if issubclass(kind, Mapping):
        return lambda value: {str(key): encode(member) for key, member in value.items()}
    if issubclass(kind, Set):
        return lambda value: sorted(encode(member) for member in value)
    return lambda value: [encode(member) for member in value]


def _dataclass_writer(kind: type) -> Convert:
    hints = _hints(kind)
    clean = [name for name, hint in hints.items() if _is_clean(hint)]
    others = [name for name in hints if name not in clean]

    def write(value: Any) -> dict[str, Any]:
        document = {name: getattr(value, name) for name in clean}
        for name in others:
            document[name] = encode(getattr(value, name))
        return document

    return write


def _is_clean(hint: Any) -> bool:
    """Whether every value of a type is JSON as it is."""
    if typing.get_origin(hint) is None:
        return hint is Any or hint in _SCALARS
    is_wrapper = typing.get_origin(hint) in {dict, list, types.UnionType}
    return is_wrapper and all(_is_clean(member) for member in typing.get_args(hint))


@cache
def _reader(shape: Hashable) -> Convert:
    if dataclasses.is_dataclass(shape):
        return _dataclass_reader(typing.cast("type", shape))
    origin, members = typing.get_origin(shape), typing.get_args(shape)
    if origin in {types.UnionType, typing.Union}:
        (present,) = (_reader(member) for member in members if member is not types.NoneType)
        return lambda document: None if document is None else present(document)
    if origin is tuple:
        return _tuple_reader(members)
    if origin is not None:
        return _container_reader(origin, members)
    return _scalar_reader(shape)


def _dataclass_reader(shape: type) -> Convert:
    fields = {field.name: field for field in dataclasses.fields(shape)}
    readers: dict[str, Convert] = {}

    def read(document: Any) -> Any:
        if not isinstance(document, dict):
            raise Unfit(f"{shape.__name__}: expected an object")
        if not readers:
            # Not before: a class may have fields of its own type.
            readers.update({name: _reader(hint) for name, hint in _hints(shape).items()})
        unknown = sorted(document.keys() - fields.keys())
        if unknown:
            raise Unfit(f"{shape.__name__}: unknown field {unknown[0]}")
        value: Any = object.__new__(shape)
        for name, reader in readers.items():
            part = reader(document[name]) if name in document else _default(shape, fields[name])
            # Frozen classes too.
            object.__setattr__(value, name, part)
        return value

    return read


def _tuple_reader(members: tuple[Any, ...]) -> Convert:
    readers = [_reader(member) for member in members if member is not Ellipsis]
    if members[-1] is Ellipsis:
        return lambda document: tuple(readers[0](part) for part in document)

    def read(document: Any) -> tuple[Any, ...]:
        if len(readers) != len(document):
            raise Unfit(f"expected {len(readers)} values, got {len(document)}")
        return tuple(reader(part) for reader, part in zip(readers, document, strict=True))

    return read


def _container_reader(origin: Any, members: tuple[Any, ...]) -> Convert:
    reader = _reader(members[-1])
    if not issubclass(origin, Mapping):
        return lambda document: origin(reader(part) for part in document)
    if members[1] is Any:
        return lambda document: document
    return lambda document: {key: reader(part) for key, part in document.items()}


def _scalar_reader(shape: Any) -> Convert:
    if shape is Any:
        return lambda document: document
    if issubclass(shape, Enum):
        return typing.cast("Convert", shape)
    accepted = (int, float) if shape is float else shape

    def read(document: Any) -> Any:
        if not isinstance(document, accepted):
            raise Unfit(f"expected {shape.__name__}, got {document!r}")
        return document

    return read


@cache
def _hints(shape: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, by name."""
    hints = typing.get_type_hints(shape)
    return {field.name: hints[field.name] for field in dataclasses.fields(shape)}


def _default(shape: type, field: dataclasses.Field[Any]) -> Any:
    if field.default is not dataclasses.MISSING:
        return field.default
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    raise Unfit(f"{shape.__name__}: no field {field.name}")
