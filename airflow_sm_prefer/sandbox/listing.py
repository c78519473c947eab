"""Filters, order and pages of the List operations."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.settings import ModifiedFilter

T = TypeVar("T")
Key = Callable[[T], tuple[Any, ...]]

DEFAULT_PAGE = 10
"""Rows of a page when MaxResults isn't given, as ListTrainingJobs says."""


def matches(job: Job, request: Mapping[str, Any]) -> bool:
    """Whether a job passes every filter but LastModifiedTime."""
    plan = job.plan_arn
    return (
        request.get("NameContains", "") in job.name
        and request.get("StatusEquals", job.status) == job.status
        and request.get("TrainingPlanArnEquals", plan) == plan
        # The sandbox keeps no warm pools, so no job has one in any status.
        and "WarmPoolStatusEquals" not in request
        and within(job.created, request, "CreationTime")
    )


def within(instant: float, request: Mapping[str, Any], name: str) -> bool:
    """Whether an instant lies between ``<name>After`` and ``<name>Before``, as far as they are given."""
    after, before = request.get(f"{name}After"), request.get(f"{name}Before")
    return (after is None or instant > after) and (before is None or instant < before)


def list_jobs(
    jobs: Iterable[Job], request: Mapping[str, Any], modified_filter: ModifiedFilter
) -> tuple[list[Job], str | None]:
    """Return one page of jobs, and the token of the next one."""

    def is_recent(job: Job) -> bool:
        return within(job.modified, request, "LastModifiedTime")

    early = modified_filter is ModifiedFilter.BEFORE_PAGING
    fitting = [job for job in jobs if matches(job, request) and (not early or is_recent(job))]
    key = _sort_key(request)
    page, token = paged(in_order(fitting, request, key), request, key)
    return [job for job in page if is_recent(job)], token


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
    by = request.get("SortBy", "CreationTime")
    if by == "Name":
        return lambda job: (job.name,)
    if by == "Status":
        return lambda job: (job.status, job.number)
    return lambda job: (job.created, job.number)


def _token(key: tuple[Any, ...]) -> str:
    return base64.urlsafe_b64encode(json.dumps(key).encode()).decode()
