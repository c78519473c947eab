"""Faults that a scenario or a test injects: refused or unanswered calls, and jobs that AWS fails."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Any

from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.documents import decode, encode

INTERNAL_ERROR = "InternalServerError: We encountered an internal error. Please try again."
"""The failure reason of a job that AWS itself has failed."""


class CallError(StrEnum):
    """What a faulty call is answered with; ``drop`` is no answer at all.

    TooManyRequestsException and ServerException are AWS Batch's, ThrottlingException and InternalFailure SageMaker's.
    """

    DROP = "drop"
    THROTTLING = "ThrottlingException"
    TOO_MANY_REQUESTS = "TooManyRequestsException"
    INTERNAL_FAILURE = "InternalFailure"
    SERVER_EXCEPTION = "ServerException"
    UNAVAILABLE = "ServiceUnavailable"
    ACCESS_DENIED = "AccessDeniedException"
    EXPIRED_TOKEN = "ExpiredTokenException"  # noqa: S105 - an error code


_ANSWERS = {
    CallError.THROTTLING: (400, "Rate exceeded"),
    CallError.TOO_MANY_REQUESTS: (429, "Too Many Requests"),
    CallError.INTERNAL_FAILURE: (500, "The request processing has failed because of an unknown error."),
    CallError.SERVER_EXCEPTION: (500, "An internal error has occurred."),
    CallError.UNAVAILABLE: (503, "The service is unavailable. Please retry."),
    CallError.ACCESS_DENIED: (400, "User is not authorized to perform this operation."),
    CallError.EXPIRED_TOKEN: (400, "The security token included in the request is expired"),
}


@dataclass(frozen=True, slots=True)
class CallFault:
    """Some calls of one operation fail.

    Attributes:
        operation: Which, as ``DescribeTrainingJob``; ``*`` is any.
        error: How.
        after: How many calls go through first.
        times: How many fail then.
        job: Pattern of the job's name; calls without a name match only ``*``.
        takes_effect: The operation is carried out, and only its answer is lost.
    """

    operation: str
    error: CallError
    after: int = 0
    times: int = 1
    job: str = "*"
    takes_effect: bool = False

    def concerns(self, operation: str, name: str) -> bool:
        """Whether a call is one of those that the fault counts."""
        return fnmatchcase(operation, self.operation) and fnmatchcase(name, self.job)

    def exception(self) -> Exception:
        """Return what the caller gets."""
        if self.error is CallError.DROP:
            return DroppedConnection()
        status, message = _ANSWERS[self.error]
        return ApiError(self.error.value, message, status)


@dataclass(frozen=True, slots=True)
class JobFault:
    """AWS fails some jobs while they run.

    Attributes:
        job: Pattern of the job's name.
        reason: The FailureReason.
        after: Seconds from the start of the run, before the sandbox's speed is applied.
        times: How many runs it happens to.
    """

    job: str
    reason: str = INTERNAL_ERROR
    after: float = 0
    times: int = 1


class Faults:
    """The faults that are still to come, and how far each has been counted.

    Attributes:
        counted: How often any has counted a call.
    """

    def __init__(self, calls: Iterable[CallFault] = (), jobs: Iterable[JobFault] = ()) -> None:
        # How many calls or runs each has seen.
        self._calls: list[tuple[CallFault, Counter[str]]] = []
        self._jobs: list[tuple[JobFault, Counter[str]]] = []
        self._lock = threading.Lock()
        self.counted = 0
        self.add_calls(calls)
        self.add_jobs(jobs)

    def add_calls(self, faults: Iterable[CallFault]) -> None:
        """Inject more, counted from now."""
        with self._lock:
            self._calls.extend((fault, Counter()) for fault in faults)

    def add_jobs(self, faults: Iterable[JobFault]) -> None:
        """Inject more, counted from now."""
        with self._lock:
            self._jobs.extend((fault, Counter()) for fault in faults)

    def clear(self) -> None:
        """Forget them all."""
        with self._lock:
            self._calls.clear()
            self._jobs.clear()

    def to_come(self) -> dict[str, list[dict[str, Any]]]:
        """Return those that can still hit something, JSON-clean, and how many calls or runs each has ``seen``."""
        with self._lock:
            calls = [
                (fault, count["seen"]) for fault, count in self._calls if count["seen"] < fault.after + fault.times
            ]
            jobs = [(fault, count["seen"]) for fault, count in self._jobs if count["seen"] < fault.times]
        return {
            "call_faults": [{**asdict(call), "seen": seen} for call, seen in calls],
            "job_faults": [{**asdict(job), "seen": seen} for job, seen in jobs],
        }

    def document(self) -> dict[str, Any]:
        """Return all that there is to know, as JSON can hold it."""
        with self._lock:
            return {
                "calls": [[encode(fault), count["seen"]] for fault, count in self._calls],
                "jobs": [[encode(fault), count["seen"]] for fault, count in self._jobs],
            }

    def restore(self, document: Mapping[str, Any]) -> None:
        """Take up what a document says."""
        with self._lock:
            self._calls = [(decode(CallFault, fault), Counter(seen=seen)) for fault, seen in document["calls"]]
            self._jobs = [(decode(JobFault, fault), Counter(seen=seen)) for fault, seen in document["jobs"]]

    def for_call(self, operation: str, name: str) -> CallFault | None:
        """Count one call and return the fault that hits it, if any."""
        hit = None
        with self._lock:
            for fault, count in self._calls:
                if not fault.concerns(operation, name):
                    continue
                self.counted += 1
                count["seen"] += 1
                if hit is None and fault.after < count["seen"] <= fault.after + fault.times:
                    hit = fault
        return hit

    def for_run(self, name: str) -> JobFault | None:
        """Count one run and return the fault that will hit it, if any."""
        with self._lock:
            for fault, count in self._jobs:
                if fnmatchcase(name, fault.job) and count["seen"] < fault.times:
                    count["seen"] += 1
                    return fault
        return None
