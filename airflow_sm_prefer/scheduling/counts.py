"""Room on a service environment that counts all instance types alike."""

from __future__ import annotations

from collections.abc import Iterable

from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES, Blocked, BlockedReason, Decision, Job, Snapshot


def place_in_turn(queue: Iterable[Job], snapshot: Snapshot, *, reserved: int = 0) -> Decision:
    """Place jobs of a FIFO or fair-share queue from its head, until one doesn't fit.

    That one blocks those behind it, whatever their size. It is misconfigured if it wouldn't fit an empty environment.

    Args:
        queue: The RUNNABLE jobs in order of dispatch.
        snapshot: The instant.
        reserved: Instances to leave free.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_CapacityLimit.html (five jobs of ten fill fifty,
    the sixth waits).
    """
    limit = snapshot.limits.get(NUM_INSTANCES, 0)
    held = sum(placed.job.instances for placed in snapshot.placed)
    room = limit - reserved - held - snapshot.elsewhere.get(NUM_INSTANCES, 0)
    place: list[Job] = []
    for job in queue:
        if job.instances > room:
            too_big = job.instances > limit
            blocked = (Blocked(job, BlockedReason.ENVIRONMENT_TOO_SMALL),) if too_big else ()
            return Decision(tuple(place), blocked=blocked)
        place.append(job)
        room -= job.instances
    return Decision(tuple(place))
