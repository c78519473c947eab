"""What a queue policy looks at, and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

NUM_INSTANCES = "NUM_INSTANCES"
"""The capacity unit of service environments for FIFO and fair-share queues: an instance of any type counts 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A service job, as far as its place in the queue goes.

    Attributes:
        id: Unique in the queue.
        instance_type: Such as `ml.p5.48xlarge`.
        instances: How many of that type it needs, all at once; 1 or more.
        submitted_at: When it was submitted, in seconds. A job that was requeued keeps it, and so its place.
        sequence: Tells apart jobs of the same instant: the lower arrived first.
        share: Its share identifier or quota share; None in a FIFO queue.
        priority: Its scheduling priority, 0 to 9999, higher first; unset sorts as 0.
    """

    id: str
    instance_type: str
    instances: int
    submitted_at: float
    sequence: int = 0
    share: str | None = None
    priority: int | None = None

    @property
    def arrival(self) -> tuple[float, int, str]:
        """Sorts jobs in order of arrival."""
        return (self.submitted_at, self.sequence, self.id)

    @property
    def rank(self) -> tuple[int, float, int, str]:
        """Sorts the jobs of one share: higher priority first, then in order of arrival."""
        return (-(self.priority or 0), *self.arrival)


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A job that holds its instances: SCHEDULED, STARTING or RUNNING.

    Attributes:
        job: The job.
        placed_at: When it became SCHEDULED, in seconds.
        stopping: Whether it is being preempted or terminated. It holds its instances until it has stopped, but they
            are as good as free: no other job is preempted for what these will give.
    """

    job: Job
    placed_at: float
    stopping: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One queue at one instant. The order of the tuples means nothing.

    Attributes:
        now: The instant, in seconds, on the clock of the jobs' times.
        runnable: Its RUNNABLE jobs.
        placed: Its jobs that hold instances.
        limits: maxCapacity of its service environment by capacity unit: `NUM_INSTANCES` for FIFO and fair-share
            queues, instance types for quota management.
        elsewhere: What other queues of the environment hold, by capacity unit.
    """

    now: float
    runnable: tuple[Job, ...] = ()
    placed: tuple[Placed, ...] = ()
    limits: Mapping[str, int]
    elsewhere: Mapping[str, int] = field(default_factory=dict)


class PreemptionReason(StrEnum):
    """Why a job loses its instances.

    Source: https://docs.aws.amazon.com/batch/latest/userguide/preemption.html
    """

    CROSS_SHARE = "cross-share"
    """Its share holds more than its own limit, borrowed or since the limit was lowered, and an owner wants it back."""
    IN_SHARE = "in-share"
    """A job of higher priority in the same share needs them."""


@dataclass(frozen=True, slots=True)
class Preemption:
    """One job to stop, so that another can be placed once it has.

    Attributes:
        victim: The job that is stopped, and requeued if it has retries left.
        beneficiary: The RUNNABLE job that it makes room for.
        reason: Which rule allows it.
    """

    victim: Job
    beneficiary: Job
    reason: PreemptionReason


class BlockedReason(StrEnum):
    """Why no amount of waiting places a job. The values are `reason` in AWS's jobStateTimeLimitActions.

    Source: https://docs.aws.amazon.com/batch/latest/userguide/sm_job_stuck_in_runnable_misconfiguration.html
    """

    ENVIRONMENT_TOO_SMALL = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE"
    """It needs more than the service environment's limit, or an instance type that has none."""
    ABOVE_QUOTA = "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED"
    """It needs more than its quota share can ever hold, borrowed instances included, or a type it has no limit for."""


@dataclass(frozen=True, slots=True)
class Blocked:
    """A job at the head of its queue, or of its quota share, that can't be placed as things are configured.

    Attributes:
        job: The job; those behind it wait with it.
        reason: Why.
    """

    job: Job
    reason: BlockedReason


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do now.

    Attributes:
        place: RUNNABLE jobs whose instances are free: to be dispatched, in this order.
        preempt: Jobs to stop. Their beneficiaries are placed by a later decision, when the instances are free.
        blocked: The misconfigured heads: at most one a queue, in quota management at most one a share.
    """

    place: tuple[Job, ...] = ()
    preempt: tuple[Preemption, ...] = ()
    blocked: tuple[Blocked, ...] = ()


class Policy(Protocol):
    """A queue's way of scheduling: `Fifo`, `FairShare` or `QuotaShares`."""

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return all RUNNABLE jobs in the order in which they would be dispatched, blocked ones included.

        The first 100 of it are what GetJobQueueSnapshot shows.
        """
        ...

    def decide(self, snapshot: Snapshot) -> Decision:
        """Return what to place, whom to preempt and who is blocked, at this instant."""
        ...
