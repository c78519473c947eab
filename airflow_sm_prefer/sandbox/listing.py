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

DEFAULT_PAGE = 10
"""Rows of a page when MaxResults isn't given, as ListTrainingJobs says."""


def matches(job: Job, request: Mapping[str, Any]) -> bool:
    """Whether a job passes every filter but LastModifiedTime."""
    plan = job.request.get("ResourceConfig", {}).get("TrainingPlanArn")
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
    page, token = paged(in_order(fitting, request, _sort_key(request)), request)
    return [job for job in page if is_recent(job)], token


def in_order(
    rows: Iterable[T], request: Mapping[str, Any], key: Callable[[T], Any], default: str = "Descending"
) -> list[T]:
    """Return rows by a key, in the request's SortOrder."""
    return sorted(rows, key=key, reverse=request.get("SortOrder", default) == "Descending")


def paged(rows: list[T], request: Mapping[str, Any], default: int = DEFAULT_PAGE) -> tuple[list[T], str | None]:
    """Return the page that NextToken points at, and the token of the next one.

    Raises:
        ApiError: the token isn't one of ours.
    """
    start = _read_token(request["NextToken"]) if "NextToken" in request else 0
    end = start + int(request.get("MaxResults", default))
    return rows[start:end], _token(end) if end < len(rows) else None


def _sort_key(request: Mapping[str, Any]) -> Callable[[Job], Any]:
    by = request.get("SortBy", "CreationTime")
    if by == "Name":
        return lambda job: job.name
    if by == "Status":
        return lambda job: (job.status, job.number)
    return lambda job: (job.created, job.number)


def _token(start: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"start": start}).encode()).decode()


def _read_token(token: str) -> int:
    try:
        return int(json.loads(base64.urlsafe_b64decode(token))["start"])
    except (binascii.Error, ValueError, KeyError, TypeError):
        raise invalid("Invalid NextToken.") from None
