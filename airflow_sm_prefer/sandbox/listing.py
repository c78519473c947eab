"""Order and pages of the List operations."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.filters import passing
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.settings import ModifiedFilter

T = TypeVar("T")
Key = Callable[[T], tuple[Any, ...]]

DEFAULT_PAGE = 10
"""Rows of a page when MaxResults isn't given, as ListTrainingJobs says."""


def list_jobs(
    jobs: Iterable[Job], request: Mapping[str, Any], modified_filter: ModifiedFilter
) -> tuple[list[Job], str | None]:
    """Return one page of jobs, and the token of the next one."""
    early = request
    if modified_filter is ModifiedFilter.AFTER_PAGING:
        early = {name: value for name, value in request.items() if not name.startswith("LastModifiedTime")}
    key = _sort_key(request)
    page, token = paged(in_order(passing(jobs, early), request, key), request, key)
    return passing(page, request), token


def in_order(rows: Iterable[T], request: Mapping[str, Any], key: Key[T]) -> list[T]:
    """Return rows by a key, in the request's SortOrder; the last comes first unless it says otherwise."""
    return sorted(rows, key=key, reverse=_is_descending(request))


def paged(rows: list[T], request: Mapping[str, Any], key: Key[T]) -> tuple[list[T], str | None]:
    """Return the page after NextToken of rows in order, and the token of the next one.

    A token holds the key of the last row of its page, so that rows which arrive meanwhile shift nothing.

    Raises:
        ApiError: the token isn't one of ours.
    """
    if "NextToken" in request:
        rows = _after(rows, request, key)
    size = int(request.get("MaxResults", DEFAULT_PAGE))
    page = rows[:size]
    return page, _token(key(page[-1])) if len(rows) > size else None


def _after(rows: list[T], request: Mapping[str, Any], key: Key[T]) -> list[T]:
    try:
        last = tuple(json.loads(base64.urlsafe_b64decode(request["NextToken"])))
        if _is_descending(request):
            return [row for row in rows if key(row) < last]
        return [row for row in rows if key(row) > last]
    except (binascii.Error, ValueError, TypeError):
        raise invalid("Invalid NextToken.") from None


def _is_descending(request: Mapping[str, Any]) -> bool:
    return bool(request.get("SortOrder", "Descending") == "Descending")


def _sort_key(request: Mapping[str, Any]) -> Key[Job]:
    # Two attributes at least, so that attrgetter makes a tuple; numbers and names are unique.
    by = {"Name": ("name", "number"), "Status": ("status", "number")}
    return attrgetter(*by.get(request.get("SortBy", "CreationTime"), ("created", "number")))


def _token(key: tuple[Any, ...]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
