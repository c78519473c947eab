"""Jobs of a list that mixes job queues with requests to SageMaker itself: each call goes where the job is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import cached_property
from typing import Any

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.model.service_job import is_service_job
from airflow_sm_prefer.placement.listing import Page, Question

log = logging.getLogger(__name__)


class RoutedJobs:
    """The calls about training jobs, in queues and out of them.

    A service job is called by its ARN, one of SageMaker's own by its name. Every method may raise
    :class:`~airflow_sm_prefer.aws.failures.CallFailed`.

    Args:
        direct: The calls about SageMaker's own jobs.
        make_queued: Makes those about service jobs, when there is one.
    """

    kind = JobKind.TRAINING

    def __init__(self, direct: JobsApi, make_queued: Callable[[], ServiceJobsApi]) -> None:
        self.direct, self.pacing = direct, direct.pacing
        self._make_queued = make_queued

    @cached_property
    def queued(self) -> ServiceJobsApi:
        """The calls about service jobs."""
        return self._make_queued()

    def create(self, request: Mapping[str, Any]) -> str:
        """Create or submit a job and return its ARN."""
        return self.queued.submit(request) if "jobQueue" in request else self.direct.create(request)

    def describe(self, handle: str) -> dict[str, Any]:
        """Return AWS's Describe response."""
        return self.queued.describe(handle) if is_service_job(handle) else self.direct.describe(handle)

    def page(self, question: Question, queue: str | None = None) -> Page:
        """Return one page of a queue's jobs, or of SageMaker's own; newest first."""
        return self.direct.page(question) if queue is None else self.queued.page(queue, question)

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        """Return what AWS says of the job of a name, in a queue or at SageMaker itself; None if there is none."""
        return self.direct.find(name) if queue is None else self.queued.named(name, queue)

    def stop(self, handle: str, why: str = "") -> bool:
        """Ask for a job's end; False where there is nothing to stop."""
        return self.queued.terminate(handle, why) if is_service_job(handle) else self.direct.stop(handle, why)

    def places(self, queue: str) -> dict[str, int]:
        """Return the places, from 1, of those who are next in a queue or in one of its quota shares, by their ARNs."""
        fronts = self.queued.front(queue)
        return {arn: place for front in fronts for place, arn in enumerate(front, start=1)}

    def tags(self, arn: str) -> dict[str, str]:
        """Return a job's tags."""
        return self.queued.tags(arn) if is_service_job(arn) else self.direct.tags(arn)

    def add_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a job, or change them."""
        (self.queued if is_service_job(arn) else self.direct).add_tags(arn, tags)

    def listed(self, *, created_after: datetime, name_contains: str, status: str | None = None) -> Iterator[Listed]:
        """List jobs whose names contain something, in all queues and out of them, newest first.

        Where the role may not look at queues, there is a warning in the log, and theirs are left out.

        Args:
            created_after: The bound that keeps AWS from paging through its whole history.
            name_contains: What the names contain.
            status: ``InProgress`` for those that aren't over; None for all.
        """
        found = list(self.direct.listed(created_after=created_after, name_contains=name_contains, status=status))
        rows = self._queued_rows(created_after.timestamp(), is_live=status is not None)
        found += [Listed.from_service_job(row) for row in rows if name_contains in row["jobName"]]
        return iter(sorted(found, key=lambda job: job.created, reverse=True))

    def queues(self) -> list[str]:
        """Return the names of all job queues for training jobs; none, with a warning, where the role may not look."""
        try:
            return self.queued.queues()
        except CallFailed as failed:
            if failed.failure.kind is not FailureKind.DENIED:
                raise
            log.warning("Jobs in queues of AWS Batch are not looked at: %s", failed)
            return []

    def _queued_rows(self, after: float, *, is_live: bool) -> list[dict[str, Any]]:
        return [
            row
            for queue in self.queues()
            for row in (self.queued.live(queue) if is_live else self.queued.created(queue, after))
        ]
