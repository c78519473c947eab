"""Search over training jobs: the only call that shows many jobs whole."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from airflow_sm_prefer.sandbox import searching
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.describe import describe
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.listing import in_order, paged
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.shapes import service_model


class Search(Operations):
    """Search with ``Resource=TrainingJob``; other resources are not ours."""

    NAMES = ("Search",)

    def search(self, caller: Caller, request: Request) -> Response:
        """Return the training jobs that an expression fits.

        Raises:
            ApiError: the expression or SortBy can't be made sense of.
        """
        if "SearchExpression" in request:
            searching.check(request["SearchExpression"])
        by = searching.sort_property(request.get("SortBy", "LastModifiedTime"))
        now = self.engine.clock.time()
        shown = (_row(job, now) for job in self._searched(caller, request))
        rows = [row for row in shown if _is_wanted(row, request)]

        def key(row: Response) -> tuple[Any, ...]:
            return (*by.rank(row), row["TrainingJobName"])

        page, token = paged(in_order(rows, request, key), request, key)
        hits = {"Value": len(rows), "Relation": "EqualTo"}
        response: Response = {"Results": [{"TrainingJob": row} for row in page], "TotalHits": hits}
        return response if token is None else {**response, "NextToken": token}

    def _searched(self, caller: Caller, request: Request) -> Iterable[Job]:
        """Return the caller's jobs: no other account has made any of its own discoverable."""
        if request.get("CrossAccountFilterOption") == "CrossAccount":
            return []
        return self.account(caller).jobs_of(JobKind.TRAINING)


def _is_wanted(row: Mapping[str, Any], request: Request) -> bool:
    visible = all(
        one.get("Value") in searching.property_of(one["Key"]).values(row)
        for one in request.get("VisibilityConditions", [])
        if "Key" in one
    )
    return visible and ("SearchExpression" not in request or searching.fits(row, request["SearchExpression"]))


def _row(job: Job, now: float) -> Response:
    """Return a job as Search shows it: less of it than Describe, but with its tags."""
    row = {name: value for name, value in describe(job, now).items() if name in _shown()}
    return row | {"Tags": [{"Key": key, "Value": value} for key, value in job.tags.items()]}


@cache
def _shown() -> frozenset[str]:
    return frozenset(service_model("sagemaker").shape_for("TrainingJob").members)
