"""Several queues on one service environment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_sm_prefer.scheduling.snapshot import Decision, Job, Placed, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """A job queue: its jobs, and how it schedules them.

    Attributes:
        name: Unique in the environment.
        priority: 0 to 1000; the queue with the higher one is asked first. Of equals, the lower name.
        policy: How it schedules.
        runnable: Its RUNNABLE jobs.
        placed: Its jobs that hold instances.
    """

    name: str
    priority: int
    policy: Policy
    runnable: tuple[Job, ...] = ()
    placed: tuple[Placed, ...] = ()


def decide_all(queues: Iterable[Queue], *, limits: Mapping[str, int], now: float) -> dict[str, Decision]:
    """Return what each queue does now, by its name, in the order in which they were asked.

    What one queue places is no longer free for those asked after it.
    """
    raise NotImplementedError
