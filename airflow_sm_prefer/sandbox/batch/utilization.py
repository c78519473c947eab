"""What GetJobQueueSnapshot says of a queue: which jobs are next, and who holds how much."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import Queue
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.batch.snapshots import held

MOST_SHARES = 20
"""How many shares are shown, those that hold most."""

Shown = dict[str, Any]


def front_of_shares(
    estate: Estate, queue: Queue, jobs: Sequence[tuple[ServiceJob, int | None]], at: int | None
) -> Shown | None:
    """Return the first RUNNABLE job of each quota share; None for a queue without quota management.

    Args:
        estate: Has the queue.
        queue: Which.
        jobs: Its RUNNABLE jobs in order of dispatch, and since when each has its place, in milliseconds.
        at: The present instant, in milliseconds.
    """
    policy = estate.policy_of(queue)
    if policy is None or policy.quota_share is None:
        return None
    first: dict[str, list[Shown]] = {}
    for job, since in jobs:
        if job.share is not None and job.share not in first:
            first[job.share] = [{"jobArn": job.arn, "earliestTimeAtPosition": since}]
    return {"quotaShares": first, "lastUpdatedAt": at}


def utilization(estate: Estate, queue: Queue, at: int | None) -> Shown:
    """Return what a queue's jobs hold, in all and by share; units are instance types (QueueSnapshotCapacityUsage)."""
    jobs = [job for job in estate.live_in(queue) if job.live is not None]
    shown: Shown = {"totalCapacityUsage": _usage(held(jobs)), "lastUpdatedAt": at}
    policy = estate.policy_of(queue)
    if policy is None:
        return shown
    by_share: defaultdict[str, list[ServiceJob]] = defaultdict(list)
    for job in jobs:
        by_share[job.share or ""].append(job)
    if policy.quota_share is not None:
        top = _top({share.name: held(by_share[share.name]) for share in estate.shares_of(queue)}, "quotaShareName")
        shown["quotaShareUtilization"] = {"topCapacityUtilization": top}
    else:
        top = _top({share: held(of) for share, of in by_share.items()}, "shareIdentifier")
        shown["fairshareUtilization"] = {"activeShareCount": len(by_share), "topCapacityUtilization": top}
    return shown


def _top(shares: Mapping[str, Counter[str]], member: str) -> list[Shown]:
    first = sorted(shares.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_SHARES]
    return [{member: share, "capacityUsage": _usage(count)} for share, count in first]


def _usage(count: Counter[str]) -> list[Shown]:
    return [{"capacityUnit": unit, "quantity": float(quantity)} for unit, quantity in sorted(count.items())]
