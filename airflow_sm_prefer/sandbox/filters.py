"""The filters of the List operations. Only those that a request has cost anything: there may be many jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from airflow_sm_prefer.sandbox.job import Job

Filter = Callable[[Job], bool]


def passing(jobs: Iterable[Job], request: Mapping[str, Any]) -> list[Job]:
    """Return the jobs that pass every filter of a request, in their order."""
    rows = list(jobs)
    for passes in _filters(request):
        rows = [job for job in rows if passes(job)]
    return rows


def within(instant: float, request: Mapping[str, Any], name: str) -> bool:
    """Whether an instant lies between ``<name>After`` and ``<name>Before``, as far as they are given."""
    after, before = request.get(f"{name}After"), request.get(f"{name}Before")
    return (after is None or instant > after) and (before is None or instant < before)


def _filters(request: Mapping[str, Any]) -> Iterator[Filter]:
    if "StatusEquals" in request:
        yield lambda job: job.status == request["StatusEquals"]
    if "NameContains" in request:
        yield lambda job: request["NameContains"] in job.name
    if "TrainingPlanArnEquals" in request:
        # A plan of an entry of a list isn't looked for: AWS doesn't say, and a summary has one plan.
        yield lambda job: job.plan_arn == request["TrainingPlanArnEquals"]
    if "WarmPoolStatusEquals" in request:
        yield lambda job: job.pool is not None and job.pool.status == request["WarmPoolStatusEquals"]
    if "CreationTimeAfter" in request or "CreationTimeBefore" in request:
        yield lambda job: within(job.created, request, "CreationTime")
    if "LastModifiedTimeAfter" in request or "LastModifiedTimeBefore" in request:
        yield lambda job: within(job.modified, request, "LastModifiedTime")
