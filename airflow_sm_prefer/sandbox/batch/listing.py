"""Pages and filters of AWS Batch's List and Describe operations."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.service_job import RUNNING, ServiceJob
from airflow_sm_prefer.sandbox.batch.shown import milliseconds

T = TypeVar("T")
Test = Callable[[ServiceJob], bool]
Key = Callable[[T], str | int]

MOST_ROWS = 100
WITH_STATUS = frozenset({"SHARE_IDENTIFIER", "QUOTA_SHARE_NAME"})
"""The filters beside which jobStatus counts (ListServiceJobs)."""


def paged(rows: Sequence[T], request: Mapping[str, Any], key: Key[T]) -> tuple[list[T], str | None]:
    """Return the page after nextToken of rows in order, and the token of the next one.

    A token holds the key of the last row of its page, so that rows which arrive meanwhile shift nothing.

    Args:
        rows: In ascending order of their keys, or in descending order of numbers.
        request: What may have maxResults and nextToken.
        key: A unique text or number of a row; by numbers, the highest comes first.

    Raises:
        ApiError: maxResults is out of range, or the token isn't one of ours.
    """
    size = request.get("maxResults", MOST_ROWS)
    if not 1 <= size <= MOST_ROWS:
        raise client_error(f"maxResults must be between 1 and {MOST_ROWS}, not {size}")
    if "nextToken" in request:
        rows = _after(rows, request["nextToken"], key)
    page = list(rows[:size])
    return page, _token(key(page[-1])) if len(rows) > size else None


def wanted(jobs: Iterable[ServiceJob], request: Mapping[str, Any]) -> list[ServiceJob]:
    """Return the jobs that ListServiceJobs is asked for, the latest first.

    Without a filter those of one status, RUNNING unless jobStatus says otherwise.

    Raises:
        ApiError: a filter isn't known, has no value, or isn't the only one.
    """
    filters = request.get("filters") or []
    if len(filters) > 1:
        raise client_error("Only one filter can be used at a time")
    tests = [_test(one) for one in filters]
    status = request.get("jobStatus")
    if not filters or (status and filters[0].get("name") in WITH_STATUS):
        tests.append(lambda job: job.status == (status or RUNNING))
    rows = [job for job in jobs if all(test(job) for test in tests)]
    return sorted(rows, key=lambda job: job.number, reverse=True)


def _test(given: Mapping[str, Any]) -> Test:
    name, values = given.get("name"), given.get("values") or []
    if len(values) != 1:
        raise client_error(f"Filter {name} needs one value")
    value = values[0]
    if name in {"BEFORE_CREATED_AT", "AFTER_CREATED_AT"} and not value.isdecimal():
        raise client_error(f"Filter {name} needs a number of milliseconds, not {value!r}")
    tests: dict[str, Test] = {
        "JOB_NAME": lambda job: _fits(job.name, value),
        "BEFORE_CREATED_AT": lambda job: (milliseconds(job.created) or 0) < int(value),
        "AFTER_CREATED_AT": lambda job: (milliseconds(job.created) or 0) > int(value),
        "SHARE_IDENTIFIER": lambda job: job.request.get("shareIdentifier") == value,
        "QUOTA_SHARE_NAME": lambda job: job.request.get("quotaShareName") == value,
    }
    if name not in tests:
        raise client_error(f"Filter {name} is not one of {', '.join(tests)}")
    return tests[name]


def _fits(name: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return name.lower().startswith(pattern[:-1].lower())
    return name.lower() == pattern.lower()


def _token(last: str | int) -> str:
    return base64.b64encode(json.dumps(last).encode()).decode()


def _after(rows: Sequence[T], token: str, key: Key[T]) -> list[T]:
    try:
        last = json.loads(base64.b64decode(token, validate=True))
        if isinstance(last, int):
            return [row for row in rows if key(row) < last]  # type: ignore[operator]
        return [row for row in rows if key(row) > last]
    except (binascii.Error, ValueError, TypeError):
        raise client_error(f"nextToken {token!r} is not valid") from None
