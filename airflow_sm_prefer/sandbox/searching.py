"""Search expressions over training jobs: the properties that there are, and what passes a filter.

Sources: the API reference of Search, SearchExpression, Filter and NestedFilters. Properties and their types are those
of botocore's shape ``TrainingJob``; a name without a place in it is refused, as Filter demands.
"""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.utils import parse_timestamp

from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.shapes import service_model

Row = Mapping[str, Any]
Expression = Mapping[str, Any]
Compare = Callable[[Any, Any], Any]

MOST_PARTS = 50
"""How many filters and expressions an expression may have, those within others included."""

_EQUALITY: dict[str, Compare] = {"Equals": operator.eq, "NotEquals": operator.eq}
_ORDER: dict[str, Compare] = {
    "GreaterThan": operator.gt,
    "GreaterThanOrEqualTo": operator.ge,
    "LessThan": operator.lt,
    "LessThanOrEqualTo": operator.le,
}
_TEXT: dict[str, Compare] = {
    "Contains": lambda have, want: want in have,
    "In": lambda have, want: have in want.split(","),
}
_PRESENCE = {"Exists", "NotExists"}
_BY_TYPE: Mapping[str, Mapping[str, Compare]] = {
    "text": _EQUALITY | _TEXT,
    "number": _EQUALITY | _ORDER,
    "timestamp": _EQUALITY | _ORDER,
    "boolean": _EQUALITY,
    # Hyperparameters and metrics: numbers if both sides are, else text.
    "either": _EQUALITY | _ORDER | _TEXT,
    "object": {},
}
_TYPES = {"string": "text", "integer": "number", "long": "number", "double": "number", "float": "number"}


@dataclass(frozen=True, slots=True)
class Property:
    """A property of a training job.

    Attributes:
        name: Its dotted name.
        type: A key of the operators above: ``text``, ``number``, ``timestamp``, ``boolean``, ``either`` or ``object``.
    """

    name: str
    type: str

    def values(self, row: Row) -> list[Any]:
        """Return the values that a job has of it: of a list's members, each has one."""
        head, _, rest = self.name.partition(".")
        if head == "Tags" and rest:
            return [tag["Value"] for tag in row["Tags"] if tag["Key"] == rest]
        if head == "Metrics":
            return [m["Value"] for m in row.get("FinalMetricDataList", []) if m["MetricName"] == rest]
        return list(_values(row, self.name))

    def rank(self, row: Row) -> tuple[int, Any]:
        """Return what jobs are sorted by; those without the property come before all others."""
        for value in self.values(row):
            if self.type == "either":
                number = _as_number(value)
                return (2, str(value)) if number is None else (1, number)
            return (1, value)
        return (0, 0)


@cache
def property_of(name: str) -> Property:
    """Return a property by its name.

    Raises:
        ApiError: a training job has none of that name.
    """
    head, _, rest = name.partition(".")
    if head == "Tags" and rest:
        return Property(name, "text")
    if head == "Metrics" and rest:
        return Property(name, "either")
    found = _type(service_model("sagemaker").shape_for("TrainingJob"), name)
    if found is None:
        raise invalid(f"Invalid property name: {name}")
    return Property(name, found)


def sort_property(name: str) -> Property:
    """Return the property of a SortBy.

    Raises:
        ApiError: there is none, or it is no single value.
    """
    found = property_of(name)
    if found.type == "object":
        raise invalid(f"Results can't be sorted by {name}, which is no single value.")
    return found


def check(expression: Expression) -> None:
    """Let an expression through that can be evaluated.

    Raises:
        ApiError: it is empty or too big, or a filter's property, operator and value don't fit each other.
    """
    parts = list(_parts(expression))
    if len(parts) > MOST_PARTS:
        raise invalid(f"A SearchExpression can have at most {MOST_PARTS} filters and expressions, not {len(parts)}.")
    filters = [part for part in parts if "Name" in part]
    if sum(one.get("Operator") == "Contains" for one in filters) > 1:
        raise invalid("'CONTAINS' operator usage limit of 1 exceeded.")
    for one in filters:
        _check_filter(one)


def fits(row: Row, expression: Expression) -> bool:
    """Whether a job fits an expression that has been checked."""
    answers = [_passes(row, one) for one in expression.get("Filters", [])]
    answers += [_has_object(row, nested) for nested in expression.get("NestedFilters", [])]
    answers += [fits(row, part) for part in expression.get("SubExpressions", [])]
    return any(answers) if expression.get("Operator") == "Or" else all(answers)


def _parts(expression: Expression) -> Iterator[Mapping[str, Any]]:
    """Return the filters, nested filters and expressions within an expression."""
    members = ("Filters", "NestedFilters", "SubExpressions")
    if not any(expression.get(member) for member in members):
        raise invalid(f"A SearchExpression must have at least one of {', '.join(members)}.")
    yield from expression.get("Filters", [])
    for nested in expression.get("NestedFilters", []):
        yield nested
        property_of(nested["NestedPropertyName"])
        yield from nested["Filters"]
    for part in expression.get("SubExpressions", []):
        yield part
        yield from _parts(part)


def _check_filter(one: Mapping[str, Any]) -> None:
    name, chosen = one["Name"], _operator(one)
    kind = property_of(name).type
    if chosen in _PRESENCE:
        return
    if chosen not in _BY_TYPE[kind]:
        raise invalid(f"Operator {chosen} is not supported for property {name}, which is of type {kind}.")
    if "Value" not in one:
        raise invalid(f"The filter on property {name} has no Value, which operator {chosen} needs.")
    _wanted(kind, one["Value"])


def _operator(one: Mapping[str, Any]) -> str:
    return str(one.get("Operator", "Equals"))


def _passes(row: Row, one: Mapping[str, Any]) -> bool:
    wanted, chosen = property_of(one["Name"]), _operator(one)
    values = wanted.values(row)
    if chosen in _PRESENCE:
        return bool(values) is (chosen == "Exists")
    if wanted.name.startswith("HyperParameters.") and one["Value"].isdigit():
        # Beside an integer, decimal hyperparameters are integers (Filter).
        values = [value if (number := _as_number(value)) is None else int(number) for value in values]
    compare, want = _BY_TYPE[wanted.type][chosen], _wanted(wanted.type, one["Value"])
    found = any(_compared(compare, value, want, wanted.type, chosen) for value in values)
    return found is not (chosen == "NotEquals")


def _compared(compare: Compare, have: Any, want: Any, kind: str, chosen: str) -> bool:
    if kind == "either" and chosen not in _TEXT:
        numbers = _as_number(have), _as_number(want)
        if None not in numbers:
            return bool(compare(*numbers))
        return chosen in _EQUALITY and bool(compare(str(have), want))
    return bool(compare(str(have) if kind == "either" else have, want))


def _has_object(row: Row, nested: Mapping[str, Any]) -> bool:
    """Whether one object of a list passes all filters at once."""
    prefix = f"{nested['NestedPropertyName']}."
    for one in _values(row, nested["NestedPropertyName"]):
        alone = _wrapped(prefix.rstrip(".").split("."), one)
        if all(_passes(alone, wanted) for wanted in nested["Filters"]):
            return True
    return False


def _wrapped(path: list[str], value: Any) -> dict[str, Any]:
    """Return a job that has nothing but one object, at its place."""
    head, *rest = path
    return {"Tags": [], head: _wrapped(rest, value) if rest else value}


def _type(shape: Shape, name: str) -> str | None:
    """Return the type of what a dotted name leads to, None if it leads nowhere."""
    if isinstance(shape, ListShape):
        return _type(shape.member, name)
    if isinstance(shape, MapShape):
        return "either" if name else "object"
    if isinstance(shape, StructureShape):
        head, _, rest = name.partition(".")
        return _type(shape.members[head], rest) if head in shape.members else None if name else "object"
    return None if name else _TYPES.get(shape.type_name, shape.type_name)


def _values(value: Any, name: str) -> Iterator[Any]:
    """Return what a dotted name leads to, by way of each member of a list."""
    if isinstance(value, list):
        for one in value:
            yield from _values(one, name)
    elif not name:
        yield value
    elif isinstance(value, Mapping):
        if name in value:  # a map's key may have dots
            yield from _values(value[name], "")
            return
        head, _, rest = name.partition(".")
        if head in value:
            yield from _values(value[head], rest)


def _wanted(kind: str, text: str) -> Any:
    """Read a filter's value as its property's type.

    Raises:
        ApiError: it is of another.
    """
    if kind in {"text", "either"}:
        return text
    if kind == "boolean" and text.lower() in {"true", "false"}:
        return text.lower() == "true"
    number = None if kind == "boolean" else _as_number(text)
    if number is None and kind == "timestamp":
        with contextlib.suppress(ValueError):
            number = float(parse_timestamp(text).timestamp())
    if number is None:
        raise invalid(f"Invalid filter value: {text} is no {kind}.")
    return number


def _as_number(text: Any) -> float | None:
    try:
        return float(text)
    except (TypeError, ValueError):
        return None
