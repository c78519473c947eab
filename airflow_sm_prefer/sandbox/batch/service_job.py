"""One service job, and its life in AWS Batch's statuses.

Every attempt is a training job. One that found no capacity, or was preempted, is none of the attempts that
retryStrategy counts. What clients are shown is kept as instants of the clock, every duration in elapsed seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from airflow_sm_prefer.sandbox.pace import Moment

SUBMITTED = "SUBMITTED"
RUNNABLE = "RUNNABLE"
SCHEDULED = "SCHEDULED"
STARTING = "STARTING"
RUNNING = "RUNNING"
SUCCEEDED = "SUCCEEDED"
FAILED = "FAILED"

SHORTAGE = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
SHORTAGE_REASON = f"{SHORTAGE} - Unable to provision requested compute resources"
"""While a job is stuck for it (sm_job_stuck_in_runnable_capacity)."""

ENDED = frozenset({SUCCEEDED, FAILED})
MOST_PREEMPTED_SHOWN = 10
"""How many preempted attempts a summary shows; AWS calls it a sliding window."""


class Cause(StrEnum):
    """Why Batch stops a training job; the values are why its attempt has ended then, where AWS has a text."""

    TERMINATED = "Terminated"
    TIMEOUT = "Job attempt duration exceeded timeout"
    CROSS_SHARE = "Cross-share preemption triggered to reclaim borrowed capacity"
    IN_SHARE = "In-share preemption triggered by a job of higher priority"
    """AWS's samples have the one across shares only."""

    @property
    def is_preemption(self) -> bool:
        """Whether the job's instances are for another."""
        return self in {Cause.CROSS_SHARE, Cause.IN_SHARE}


@dataclass(slots=True, kw_only=True)
class Attempt:
    """One training job, or the request for one that SageMaker refused.

    Attributes:
        name: The training job's name.
        arn: Its ARN, None if it was refused.
        scheduled: Elapsed seconds at which it was made.
        started: When it got its instances, in epoch seconds.
        started_elapsed: The elapsed seconds at that instant.
        stopped: When it ended, in epoch seconds.
        reason: Why.
        cause: Why Batch stops it.
    """

    name: str
    arn: str | None = None
    scheduled: float = 0.0
    started: float | None = None
    started_elapsed: float | None = None
    stopped: float | None = None
    reason: str | None = None
    cause: Cause | None = None


@dataclass(slots=True, kw_only=True)
class ServiceJob:
    """A service job.

    Attributes:
        account: Whose it is.
        region: Where it is.
        number: Which service job of this sandbox it is; gives the order of arrival.
        job_id: Its id.
        arn: Its ARN.
        request: The SubmitServiceJob request, as accepted.
        queue: The ARN of its queue.
        instance_type: What its payload asks for; empty if it can't be told.
        instances: How many of them.
        created: When it was submitted, in epoch seconds.
        arrived: The elapsed seconds at that instant.
        priority: Its scheduling priority.
        tags: By key.
        status: In AWS Batch's words.
        reason: Why it has that status.
        attempts: The ended ones that retryStrategy counts.
        latest: The latest of all, live or not.
        scheduled: When it was SCHEDULED last, in epoch seconds.
        started: When its latest attempt started.
        stopped: When it ended.
        is_terminated: Whether somebody has terminated it.
        termination: The reason that was given for that.
        preempted: The latest attempts that were preempted.
        preemptions: How many were.
        short_of: The name of the latest training job that found no capacity, until it is deleted.
        not_before: Elapsed seconds before which no other training job is made.
        shortage_spent: Seconds that count against a time limit for the capacity reason, up to the present wait.
        waits_since: Elapsed seconds since which it is RUNNABLE for its present reason.
    """

    account: str
    region: str
    number: int
    job_id: str
    arn: str
    request: dict[str, Any]
    queue: str
    instance_type: str
    instances: int
    created: float
    arrived: float
    priority: int | None = None
    tags: dict[str, str] = field(default_factory=dict)
    status: str = SUBMITTED
    reason: str | None = None
    attempts: list[Attempt] = field(default_factory=list)
    latest: Attempt | None = None
    scheduled: float | None = None
    started: float | None = None
    stopped: float | None = None
    is_terminated: bool = False
    termination: str | None = None
    preempted: list[Attempt] = field(default_factory=list)
    preemptions: int = 0
    short_of: str | None = None
    not_before: float = 0.0
    shortage_spent: float = 0.0
    waits_since: float = 0.0

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.request["jobName"])

    @property
    def share(self) -> str | None:
        """Its share identifier or quota share, None in a first in, first out queue."""
        share: str | None = self.request.get("shareIdentifier") or self.request.get("quotaShareName")
        return share

    @property
    def is_live(self) -> bool:
        """Whether it has not ended yet."""
        return self.status not in ENDED

    @property
    def live(self) -> Attempt | None:
        """The attempt whose training job has not ended yet, as far as Batch has noticed: it holds instances."""
        return self.latest if self.status in {SCHEDULED, STARTING, RUNNING} else None

    @property
    def attempt_seconds(self) -> float | None:
        """How long an attempt may take, None for as long as SageMaker lets it."""
        seconds: float | None = self.request.get("timeoutConfig", {}).get("attemptDurationSeconds")
        return seconds

    def wait(self, now: Moment, reason: str | None = None) -> None:
        """Become RUNNABLE, or stay it for another reason."""
        self.status, self.reason = RUNNABLE, reason
        self.waits_since = now.elapsed

    def schedule(self, attempt: Attempt, now: Moment) -> None:
        """Become SCHEDULED: its training job has been made."""
        if self.reason == SHORTAGE_REASON:
            self.shortage_spent += now.elapsed - self.waits_since
        attempt.scheduled = now.elapsed
        self.latest = attempt
        self.status, self.reason = SCHEDULED, None
        self.scheduled, self.started = now.instant, None

    def start(self, now: Moment) -> None:
        """Become STARTING: its training job has its instances, so a shortage is over."""
        assert self.latest is not None
        self.status = STARTING
        self.shortage_spent = 0.0
        self.started = self.latest.started = now.instant
        self.latest.started_elapsed = now.elapsed

    def end(self, status: str, reason: str | None, now: Moment) -> None:
        """Become SUCCEEDED or FAILED, for good."""
        self.status, self.reason, self.stopped = status, reason, now.instant

    def timeout_due(self) -> float | None:
        """Return the elapsed seconds at which its attempt has taken too long, None if it never will have."""
        attempt = self.live
        if attempt is None or attempt.started_elapsed is None or attempt.cause is not None:
            return None
        seconds = self.attempt_seconds
        return None if seconds is None else attempt.started_elapsed + seconds

    def note_preemption(self, attempt: Attempt) -> bool:
        """Count a preempted attempt; tells whether the job may be queued again (ServiceJobPreemptionConfiguration)."""
        self.preemptions += 1
        self.preempted = [attempt, *self.preempted][:MOST_PREEMPTED_SHOWN]
        most = self.request.get("preemptionConfiguration", {}).get("preemptionRetriesBeforeTermination")
        return most is None or self.preemptions <= most
