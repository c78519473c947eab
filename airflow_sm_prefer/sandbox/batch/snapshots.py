"""What the scheduling policies are shown of an estate, and which policy a queue has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import ENABLED, Environment, Queue, QuotaShare
from airflow_sm_prefer.sandbox.batch.rules import NUM_INSTANCES
from airflow_sm_prefer.sandbox.batch.service_job import RUNNABLE, ServiceJob
from airflow_sm_prefer.scheduling import environment as scheduling
from airflow_sm_prefer.scheduling.fair_share import FairShare, FairsharePolicy
from airflow_sm_prefer.scheduling.fifo import Fifo
from airflow_sm_prefer.scheduling.quota_management import QuotaManagement
from airflow_sm_prefer.scheduling.quota_shares import QuotaShare as Share
from airflow_sm_prefer.scheduling.quota_shares import SharingStrategy
from airflow_sm_prefer.scheduling.snapshot import Job, Placed, Policy, Snapshot
from airflow_sm_prefer.scheduling.usage import Span, Usage


def as_seen(estate: Estate, job: ServiceJob) -> Job:
    """Return a service job as policies see it; only its priority can become another."""
    seen = estate.seen.get(job.job_id)
    if seen is None or seen.priority != job.priority:
        seen = estate.seen[job.job_id] = Job(
            id=job.job_id,
            instance_type=job.instance_type,
            instances=job.instances,
            submitted_at=job.arrived,
            sequence=job.number,
            share=job.share,
            priority=job.priority,
        )
    return seen


def runnable(estate: Estate, queue: Queue) -> tuple[Job, ...]:
    """Return the RUNNABLE jobs of a queue."""
    return tuple(as_seen(estate, job) for job in estate.live_in(queue) if job.status == RUNNABLE)


def placed(estate: Estate, queue: Queue) -> tuple[Placed, ...]:
    """Return the jobs of a queue that hold instances."""
    return tuple(
        Placed(job=as_seen(estate, job), placed_at=job.live.scheduled, stopping=job.live.cause is not None)
        for job in estate.live_in(queue)
        if job.live is not None
    )


def policy_of(estate: Estate, queue: Queue) -> Policy:
    """Return how a queue schedules."""
    policy = estate.policy_of(queue)
    if policy is None:
        return Fifo()
    if policy.fairshare is None:
        return QuotaManagement(tuple(_share(share) for share in estate.shares_of(queue)))
    return FairShare(_fairshare(policy.fairshare), _usage(queue))


def carry_usage(estate: Estate, queue: Queue, now: float) -> bool:
    """Add up what the shares of a queue have used until an instant; tells whether that matters to its policy.

    To be called before the jobs that hold instances are others.
    """
    policy = estate.policy_of(queue)
    if policy is None or policy.fairshare is None:
        return False
    decay = policy.fairshare.get("shareDecaySeconds", 0)
    usage = _usage(queue).carried_to(max(now, queue.used_as_of), placed(estate, queue), decay)
    queue.used, queue.used_as_of = (
        [(span.share, span.instances, span.start, span.stop) for span in usage.spans],
        usage.as_of,
    )
    return True


def queues_of(estate: Estate, environment: Environment) -> list[scheduling.Queue]:
    """Return the queues of an environment, each with its jobs."""
    return [
        scheduling.Queue(
            name=queue.arn,
            priority=queue.priority,
            policy=policy_of(estate, queue),
            runnable=runnable(estate, queue),
            placed=placed(estate, queue),
        )
        for queue in estate.queues_on(environment)
    ]


def snapshot_of(estate: Estate, queue: Queue, now: float) -> Snapshot:
    """Return one queue at an instant, by itself."""
    environment = estate.environments[queue.environment]
    return Snapshot(
        now=now,
        runnable=runnable(estate, queue),
        placed=placed(estate, queue),
        limits=environment.limits,
        elsewhere=_elsewhere(estate, environment, queue),
    )


def held(jobs: Iterable[ServiceJob]) -> Counter[str]:
    """Return how many instances some jobs hold, by type."""
    count: Counter[str] = Counter()
    for job in jobs:
        if job.live is not None:
            count[job.instance_type] += job.instances
    return count


def is_open(environment: Environment) -> bool:
    """Whether jobs are placed in an environment: "from ENABLED to DISABLED to prevent new service jobs"."""
    return environment.state == ENABLED


def _elsewhere(estate: Estate, environment: Environment, queue: Queue) -> dict[str, int]:
    others = [other for other in estate.queues_on(environment) if other is not queue]
    count = sum((held(estate.live_in(other)) for other in others), Counter())
    return {NUM_INSTANCES: count.total()} if NUM_INSTANCES in environment.limits else dict(count)


def _usage(queue: Queue) -> Usage:
    return Usage(as_of=queue.used_as_of, spans=tuple(Span(*span) for span in queue.used))


def _share(share: QuotaShare) -> Share:
    return Share(
        name=share.name,
        limits=share.limits,
        strategy=SharingStrategy(share.strategy),
        borrow_limit=share.borrow_limit,
        in_share_preemption=share.in_share_preemption == ENABLED,
    )


def _fairshare(policy: Mapping[str, Any]) -> FairsharePolicy:
    return FairsharePolicy(
        share_decay_seconds=policy.get("shareDecaySeconds", 0),
        compute_reservation=policy.get("computeReservation", 0),
        weights={
            share["shareIdentifier"]: share.get("weightFactor", 1.0) for share in policy.get("shareDistribution", [])
        },
    )
