"""Several queues on one service environment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES, Decision, Job, Placed, Policy, Snapshot


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

    What one queue places is no longer free for those asked after it. A head that waits holds back its own queue only:
    the next queue may take what is free.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateJobQueue.html (queues with a higher
    priority "are evaluated first when associated with the same" environment).
    """
    turns = sorted(queues, key=lambda queue: (-queue.priority, queue.name))
    held = {queue.name: _held(placed.job for placed in queue.placed) for queue in turns}
    decisions: dict[str, Decision] = {}
    for queue in turns:
        elsewhere = sum((held[other.name] for other in turns if other.name != queue.name), Counter[str]())
        snapshot = Snapshot(now=now, runnable=queue.runnable, placed=queue.placed, limits=limits, elsewhere=elsewhere)
        decision = queue.policy.decide(snapshot)
        decisions[queue.name] = decision
        held[queue.name] += _held(decision.place)
    return decisions


def _held(jobs: Iterable[Job]) -> Counter[str]:
    """Instances by capacity unit: of each type, and of all."""
    counts = Counter[str]()
    for job in jobs:
        counts[job.instance_type] += job.instances
        counts[NUM_INSTANCES] += job.instances
    return counts
