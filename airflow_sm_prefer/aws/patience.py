"""Reads that are worth a little waiting: a worker shouldn't fail its task because AWS was busy for a moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, TypeVar

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed

#: What goes by by itself.
_PASSING = frozenset({FailureKind.THROTTLED, FailureKind.NETWORK, FailureKind.SERVER})

#: Tries, and the longest pause between two in real seconds; with full jitter about half a minute in all.
_TRIES = 8
_LONGEST = 10.0

T = TypeVar("T")


class PatientJobs:
    """The calls about jobs, with reads and stops that are repeated while AWS is throttling or away.

    A create is not: what its failure means is for the machine to decide.

    Args:
        jobs: The calls.
        clock: What pauses are waited with.
        draw: Draws evenly from 0 to 1.
    """

    def __init__(self, jobs: JobsApi | RoutedJobs, clock: Clock, draw: Callable[[], float]) -> None:
        self._jobs, self._clock, self._draw = jobs, clock, draw

    @property
    def kind(self) -> JobKind:
        """The kind of job."""
        return self._jobs.kind

    def create(self, request: Mapping[str, Any]) -> str:
        """Create a job and return its ARN; tried once."""
        return self._jobs.create(request)

    def describe(self, handle: str) -> dict[str, Any]:
        """Return AWS's Describe response."""
        return self._repeated(lambda: self._jobs.describe(handle))

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        """Return what AWS says of the job of a name, in a queue or at SageMaker itself; None if there is none."""
        return self._repeated(lambda: self._jobs.find(name, queue))

    def tags(self, arn: str) -> dict[str, str]:
        """Return a job's tags."""
        return self._repeated(lambda: self._jobs.tags(arn))

    def stop(self, handle: str, why: str = "") -> bool:
        """Ask for a job's end; False where there is nothing to stop."""
        return self._repeated(lambda: self._jobs.stop(handle, why))

    def add_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a job, or change them."""
        self._repeated(lambda: self._jobs.add_tags(arn, tags))

    def queues(self) -> list[str]:
        """Return the names of all job queues for training jobs that can be seen."""
        return self._repeated(self._jobs.queues)

    def listed(self, *, created_after: datetime, name_contains: str, status: str | None = None) -> list[Listed]:
        """Return the whole of a listing, newest first; a page that fails has it begin anew."""
        return self._repeated(
            lambda: list(self._jobs.listed(created_after=created_after, name_contains=name_contains, status=status))
        )

    def _repeated(self, call: Callable[[], T]) -> T:
        for number in range(1, _TRIES):
            try:
                return call()
            except CallFailed as failed:
                if failed.failure.kind not in _PASSING:
                    raise
                self._clock.sleep(min(_LONGEST, 2.0**number) * self._draw())
        return call()
