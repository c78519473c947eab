"""Order and pages of the List operations."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import Any, TypeVar

from airflow_sm_prefer.sandbox.api_errors import bad_token
from airflow_sm_prefer.sandbox.filters import passing
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.settings import ModifiedFilter

T = TypeVar("T")
Key = Callable[[T], tuple[Any, ...]]

DEFAULT_PAGE = 10
"""Rows of a page when MaxResults isn't given, as ListTrainingJobs says."""


def late_filters(request: Mapping[str, Any], modified_filter: ModifiedFilter) -> set[str]:
    """Return the filters that are applied to a page that is cut already, so that it may be empty and have a token.

    ListTrainingJobs says so of StatusEquals beside MaxResults. Of NameContains beside MaxResults, and of
    LastModifiedTimeAfter, it has been seen: https://github.com/boto/boto3/issues/2838,
    https://github.com/aws/aws-sdk/issues/486.
    """
    late = {"StatusEquals"} if "MaxResults" in request else set()
    if modified_filter is ModifiedFilter.AFTER_PAGING:
        late |= {"LastModifiedTimeAfter", "LastModifiedTimeBefore"}
        late |= {"NameContains"} if "MaxResults" in request else set()
    return late


def list_jobs(
    jobs: Iterable[Job], request: Mapping[str, Any], modified_filter: ModifiedFilter
) -> tuple[list[Job], str | None]:
    """Return one page of jobs, and the token of the next one."""
    late = late_filters(request, modified_filter)
    early = {name: value for name, value in request.items() if name not in late}
    key = _sort_key(request)
    page, token = paged(in_order(passing(jobs, early), request, key), request, key)
    return passing(page, request), token


def in_order(rows: Iterable[T], request: Mapping[str, Any], key: Key[T]) -> list[T]:
    """Return rows by a key, in the request's SortOrder; the last comes first unless it says otherwise.

    ListTrainingJobs calls Ascending the default of SortOrder, and describes its pages as going "from the most current
    to the oldest", which is what it does.
    """
    return sorted(rows, key=key, reverse=_is_descending(request))


def paged(rows: list[T], request: Mapping[str, Any], key: Key[T]) -> tuple[list[T], str | None]:
    """Return the page after NextToken of rows in order, and the token of the next one.

    A token holds the key of the last row of its page, so that rows which arrive meanwhile shift nothing, and what was
    asked for: it is good for the same question only, though its pages may be of another size.

    A token is of characters that Service Quotas takes too.

    Raises:
        ApiError: the token isn't one of ours, or is another question's.
    """
    if "NextToken" in request:
        rows = _after(rows, request, key)
    size = int(request.get("MaxResults", DEFAULT_PAGE))
    page = rows[:size]
    return page, _token(request, key(page[-1])) if len(rows) > size else None


def _after(rows: list[T], request: Mapping[str, Any], key: Key[T]) -> list[T]:
    try:
        question, last = json.loads(base64.b64decode(request["NextToken"]))
        if question != _question(request):
            raise ValueError
        if _is_descending(request):
            return [row for row in rows if key(row) < tuple(last)]
        return [row for row in rows if key(row) > tuple(last)]
    except (binascii.Error, ValueError, TypeError):
        raise bad_token() from None


def _token(request: Mapping[str, Any], key: tuple[Any, ...]) -> str:
    return base64.b64encode(json.dumps([_question(request), key]).encode()).decode()


def _question(request: Mapping[str, Any]) -> str:
    """Return a short form of everything that a request asks for, but for the page."""
    asked = {name: value for name, value in request.items() if name not in {"NextToken", "MaxResults"}}
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:16]


def _is_descending(request: Mapping[str, Any]) -> bool:
    return bool(request.get("SortOrder", "Descending") == "Descending")


def _sort_key(request: Mapping[str, Any]) -> Key[Job]:
    # Two attributes at least, so that attrgetter makes a tuple; numbers and names are unique.
    by = {"Name": ("name", "number"), "Status": ("status", "number")}
    return attrgetter(*by.get(request.get("SortBy", "CreationTime"), ("created", "number")))
