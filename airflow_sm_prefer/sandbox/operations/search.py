"""Search over training jobs: the only call that shows many jobs whole."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from botocore.utils import parse_timestamp

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.describe import describe
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.listing import in_order, paged
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "Equals": lambda have, want: have == want,
    "NotEquals": lambda have, want: have != want,
    "GreaterThan": lambda have, want: have > want,
    "GreaterThanOrEqualTo": lambda have, want: have >= want,
    "LessThan": lambda have, want: have < want,
    "LessThanOrEqualTo": lambda have, want: have <= want,
    "Contains": lambda have, want: str(want) in str(have),
    "In": lambda have, want: str(have) in str(want).split(","),
}


class Search(Operations):
    """Search with ``Resource=TrainingJob``; other resources are not ours."""

    NAMES = ("Search",)

    def search(self, caller: Caller, request: Request) -> Response:
        """Return the training jobs that an expression fits."""
        jobs = self.account(caller).jobs_of(JobKind.TRAINING)
        now = self.engine.clock.time()
        rows = [row for job in jobs if fits(row := _row(job, now), request.get("SearchExpression", {}))]
        by = request.get("SortBy", "LastModifiedTime")

        def key(row: Response) -> tuple[Any, ...]:
            return str(_property(row, by)), row["TrainingJobName"]

        page, token = paged(in_order(rows, request, key), request, key)
        hits = {"Value": len(rows), "Relation": "EqualTo"}
        response: Response = {"Results": [{"TrainingJob": row} for row in page], "TotalHits": hits}
        return response if token is None else {**response, "NextToken": token}


def fits(row: Mapping[str, Any], expression: Mapping[str, Any]) -> bool:
    """Whether a job fits a SearchExpression.

    Raises:
        ApiError: it has nested filters, which this sandbox doesn't know.
    """
    if "NestedFilters" in expression:
        raise invalid("This sandbox does not know NestedFilters.")
    answers = [_passes(row, one) for one in expression.get("Filters", [])]
    answers += [fits(row, part) for part in expression.get("SubExpressions", [])]
    if not answers:
        return True
    return any(answers) if expression.get("Operator") == "Or" else all(answers)


def _row(job: Job, now: float) -> Response:
    return describe(job, now) | {"Tags": [{"Key": key, "Value": value} for key, value in job.tags.items()]}


def _passes(row: Mapping[str, Any], one: Mapping[str, Any]) -> bool:
    have = _property(row, one["Name"])
    operator = str(one.get("Operator", "Equals"))
    if operator in {"Exists", "NotExists"}:
        return (have is None) is (operator == "NotExists")
    if have is None:
        return operator == "NotEquals"
    want: Any = one.get("Value", "")
    if isinstance(have, int | float):
        want = _as_number(want)
    return bool(_COMPARISONS[operator](have, want))


def _property(row: Mapping[str, Any], name: str) -> Any:
    """Return a property by its dotted name; ``Tags.key`` is the value of a tag."""
    if name.startswith("Tags."):
        return next((tag["Value"] for tag in row["Tags"] if tag["Key"] == name.removeprefix("Tags.")), None)
    value: Any = row
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _as_number(text: str) -> float:
    """Read a number, or an instant as epoch seconds."""
    with contextlib.suppress(ValueError):
        return float(text)
    try:
        return float(parse_timestamp(text).timestamp())
    except ValueError:
        raise invalid(f"Invalid filter value: {text}") from None
