"""What is published about queues: how many jobs wait, how long, and how many instances run or lie idle.

AWS Batch publishes nothing about service jobs. Each metric is published by queue, with the dimension ``JobQueue``, and
by share of a queue, with ``Share`` besides. ``deploy/queues.yaml`` has alarms on them, by these very names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

#: Where the metrics are in CloudWatch, unless told.
NAMESPACE: Final = "SmPrefer/Queues"

#: The names of the dimensions.
QUEUE_DIMENSION: Final = "JobQueue"
SHARE_DIMENSION: Final = "Share"

#: The statuses of jobs that wait: SCHEDULED has a training job, and no instances yet.
WAITING: Final = ("SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED")

#: The statuses of jobs that have instances.
RUNNING: Final = ("STARTING", "RUNNING")

#: The statuses of jobs that count against their environment's limit.
HOLDING: Final = ("SCHEDULED", *RUNNING)


class Metric(StrEnum):
    """A metric.

    ``DEPTH``: jobs that have no instances yet. ``OLDEST_WAIT``: seconds since the oldest of them was submitted, 0 if
    there is none. ``RUNNING``: instances of jobs that are starting or running. ``IDLE``: instances that the queue's
    environment allows and no job was given, or of those that a quota share owns, none of its own jobs.
    """

    DEPTH = "QueueDepth"
    OLDEST_WAIT = "OldestWait"
    RUNNING = "RunningInstances"
    IDLE = "IdleInstances"

    @property
    def unit(self) -> str:
        """CloudWatch's word for what is counted."""
        return "Seconds" if self is Metric.OLDEST_WAIT else "Count"


@dataclass(frozen=True, slots=True)
class QueuedJob:
    """A service job that isn't over.

    Attributes:
        status: AWS Batch's word.
        created: When it was submitted, in seconds since 1970.
        instances: How many it needs or has.
        share: Its share identifier or quota share, if its queue has any.
    """

    status: str
    created: float
    instances: float
    share: str | None = None


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue at one moment.

    Attributes:
        name: Its name.
        limit: How many instances its environment allows.
        jobs: Its jobs that aren't over.
        shares: The shares that are known without any job in them, and how many instances each owns; None for fair
            shares, which own none.
        held_by_others: How many instances jobs of other queues on the same environment have been given.
    """

    name: str
    limit: int
    jobs: tuple[QueuedJob, ...]
    shares: Mapping[str, int | None]
    held_by_others: float = 0.0


@dataclass(frozen=True, slots=True)
class Point:
    """One value: of a share of a queue, or of the whole queue where ``share`` is None."""

    metric: Metric
    queue: str
    share: str | None
    value: float


def points(queue: QueueState, now: float) -> Iterator[Point]:
    """Return a queue's values, the whole queue's first.

    Args:
        queue: The queue.
        now: The instant, in seconds since 1970.
    """
    idle = queue.limit - queue.held_by_others - held(queue.jobs)
    yield from _points(queue.name, None, queue.jobs, idle, now)
    for share in sorted({*queue.shares, *(job.share for job in queue.jobs if job.share)}):
        jobs = [job for job in queue.jobs if job.share == share]
        owned = queue.shares.get(share)
        yield from _points(queue.name, share, jobs, None if owned is None else owned - held(jobs), now)


def held(jobs: Iterable[QueuedJob]) -> float:
    """Return how many instances of an environment's limit some jobs have been given."""
    return _instances(jobs, HOLDING)


def _points(
    queue: str, share: str | None, jobs: Sequence[QueuedJob], idle: float | None, now: float
) -> Iterator[Point]:
    waiting = [job for job in jobs if job.status in WAITING]
    yield Point(Metric.DEPTH, queue, share, len(waiting))
    yield Point(Metric.OLDEST_WAIT, queue, share, max((0.0, *(now - job.created for job in waiting))))
    yield Point(Metric.RUNNING, queue, share, _instances(jobs, RUNNING))
    if idle is not None:
        yield Point(Metric.IDLE, queue, share, max(0.0, idle))


def _instances(jobs: Iterable[QueuedJob], statuses: Iterable[str]) -> float:
    return sum(job.instances for job in jobs if job.status in statuses)
