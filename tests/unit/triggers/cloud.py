"""A scripted AWS for the watcher: each job is what its script says of the instant, and every call is noted."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import FakeClock, utc
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import PAGE, Page, Question
from airflow_sm_prefer.triggers.connection import Connection

PENDING, TRAINING = ("InProgress", "Pending"), ("InProgress", "Training")
STOPPING, STOPPED = ("Stopping", "Stopping"), ("Stopped", "Stopped")
COMPLETED, FAILED = ("Completed", "Completed"), ("Failed", "Failed")
Status = tuple[str, str]


def failed(kind: FailureKind, operation: str = "DescribeTrainingJob") -> CallFailed:
    return CallFailed(CallFailure(kind, "Code", "words", operation))


@dataclass
class Job:
    """A job, and what it becomes when."""

    handle: str
    created: float
    script: list[tuple[float, Status]]
    more: dict[str, Any] = field(default_factory=dict)

    def at(self, now: float) -> tuple[float, Status]:
        return max((entry for entry in reversed(self.script) if entry[0] <= now), key=lambda entry: entry[0])


@dataclass(frozen=True)
class Call:
    operation: str
    handle: str
    at: float
    thread: str


class Cloud:
    """The calls that the watcher makes.

    ``failing`` takes, by operation or by operation and handle (``"describe job-1"``), what a call is to fail with, or
    what decides that.
    """

    kind = JobKind.TRAINING

    def __init__(self, clock: FakeClock, **rates: float) -> None:
        self.clock, self.pacing = clock, Pacing(clock, rates)
        self.jobs: dict[str, Job] = {}
        self.calls: list[Call] = []
        self.questions: list[Question] = []
        self.failing: dict[str, Exception | Callable[[], Exception | None]] = {}
        self.hidden: set[str] = set()
        self.front: list[str] = []
        self.filters_late = False
        self.built = 0
        self._lock = threading.Lock()

    # -- what a test sets up and asks ----------------------------------------------------------------------

    def has(self, handle: str, *changes: tuple[float, Status], age: float = 0.0, **more: Any) -> Job:
        """Have a job that is Pending, and becomes something else after so many seconds."""
        created = self.clock.time() - age
        script = [(created, PENDING), *((created + after, status) for after, status in changes)]
        self.jobs[handle] = job = Job(handle, created, script, more)
        return job

    def becomes(self, handle: str, status: Status) -> None:
        self.jobs[handle].script.append((self.clock.time(), status))

    def count(self, operation: str, handle: str | None = None) -> int:
        return sum(call.operation == operation and handle in {None, call.handle} for call in self.calls)

    def told(self) -> Counter[str]:
        return Counter(call.operation for call in self.calls)

    def connected(self) -> Any:
        """Have every connection lead here."""

        def hook(*_: Any) -> Any:
            self._maybe_fail("connect")
            self.built += 1
            return SimpleNamespace(jobs=lambda kind: self)

        return mock.patch.object(Connection, "hook", hook)

    # -- what the watcher calls ----------------------------------------------------------------------------

    def page(self, question: Question, queue: str | None = None) -> Page:
        self._called("page", queue or "")
        self.questions.append(question)
        now = self.clock.time()
        rows = [self._row(job, now) for job in self.jobs.values() if job.handle not in self.hidden]
        rows = [row for row in rows if row.created > question.created_after and question.name_contains in row.name]
        if question.created_before is not None:
            rows = [row for row in rows if row.created < question.created_before]
        rows.sort(key=lambda row: row.created, reverse=True)
        after = question.modified_after
        wanted = rows if after is None else [row for row in rows if (row.modified or 0.0) > after]
        if not self.filters_late:
            rows = wanted
        begin = int(question.token or 0)
        cut = [row for row in rows[begin : begin + PAGE] if row in wanted]
        return Page(tuple(cut), str(begin + PAGE) if begin + PAGE < len(rows) else None, now)

    def describe(self, handle: str) -> dict[str, Any]:
        self._called("describe", handle)
        if handle not in self.jobs:
            raise failed(FailureKind.NOT_FOUND)
        job = self.jobs[handle]
        at, (status, secondary) = job.at(self.clock.time())
        changes = [{"Status": second, "StartTime": utc(since)} for since, (_, second) in sorted(job.script)]
        answer = {
            "TrainingJobName": handle,
            "TrainingJobStatus": status,
            "SecondaryStatus": secondary,
            "CreationTime": utc(job.created),
            "SecondaryStatusTransitions": [change for change in changes if change["StartTime"] <= utc(at)],
            **job.more,
        }
        return {**answer, "TrainingEndTime": utc(at)} if _is_over(status) else answer

    def stop(self, handle: str, why: str = "") -> bool:
        self._called("stop", handle)
        self.becomes(handle, STOPPED)
        return True

    def _row(self, job: Job, now: float) -> Listed:
        at, (status, secondary) = job.at(now)
        ended = at if _is_over(status) else None
        return Listed(job.handle, f"arn:{job.handle}", status, job.created, ended, at, secondary)

    def _called(self, operation: str, handle: str) -> None:
        with self._lock:
            self.calls.append(Call(operation, handle, self.clock.time(), threading.current_thread().name))
        self._maybe_fail(operation)
        self._maybe_fail(f"{operation} {handle}")

    def _maybe_fail(self, what: str) -> None:
        failing = self.failing.get(what)
        error = failing() if callable(failing) else failing
        if error is not None:
            raise error


def _is_over(status: str) -> bool:
    return status in {"Completed", "Failed", "Stopped"}


class QueuedCloud(Cloud, RoutedJobs):
    """The same for service jobs, which have places in their queue."""

    ARN = "arn:aws:batch:us-east-1:123456789012:service-job/"

    def describe(self, handle: str) -> dict[str, Any]:
        self._called("describe", handle)
        job = self.jobs[handle]
        at, (_, written) = job.at(self.clock.time())
        answer = {
            "jobName": "job-1",
            "jobArn": handle,
            "serviceJobType": "SAGEMAKER_TRAINING",
            "status": written,
            "createdAt": job.created * 1000,
            **job.more,
        }
        return {**answer, "stoppedAt": at * 1000} if written in {"SUCCEEDED", "FAILED"} else answer

    def _row(self, job: Job, now: float) -> Listed:
        at, (_, written) = job.at(now)
        row = {"jobName": "job-1", "jobArn": job.handle, "status": written, "createdAt": job.created * 1000}
        return Listed.from_service_job({**row, "stoppedAt": at * 1000, "statusReason": job.more.get("statusReason")})

    def stop(self, handle: str, why: str = "") -> bool:
        self._called("stop", handle)
        self.jobs[handle].more |= {"isTerminated": True, "statusReason": why}
        self.becomes(handle, ("Stopped", "FAILED"))
        return True

    def places(self, queue: str) -> dict[str, int]:
        self._called("places", queue)
        return {arn: place for place, arn in enumerate(self.front, start=1)}
