"""Short ways to write queues down."""

from __future__ import annotations

from airflow_sm_prefer.scheduling.quota_shares import QuotaShare, SharingStrategy
from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES, Decision, Job, Placed, Snapshot

P4 = "ml.p4d.24xlarge"
P5 = "ml.p5.48xlarge"
G6 = "ml.g6.12xlarge"


def job(name, instances=1, *, at=0, share=None, priority=None, instance_type=P4, sequence=0):
    """A job that was submitted `at` some second."""
    return Job(
        id=name,
        instance_type=instance_type,
        instances=instances,
        submitted_at=at,
        sequence=sequence,
        share=share,
        priority=priority,
    )


def placed(name, instances=1, *, at=0, stopping=False, **job_fields):
    """A job that was submitted and placed `at` some second."""
    return Placed(job=job(name, instances, at=at, **job_fields), placed_at=at, stopping=stopping)


def counted(limit, runnable=(), running=(), *, elsewhere=0, now=1000):
    """A FIFO or fair-share queue on an environment of so many instances."""
    return Snapshot(
        now=now,
        runnable=tuple(runnable),
        placed=tuple(running),
        limits={NUM_INSTANCES: limit},
        elsewhere={NUM_INSTANCES: elsewhere},
    )


def typed(limits, runnable=(), running=(), *, now=1000):
    """A quota-managed queue: limits by instance type, or so many P4."""
    limits = limits if isinstance(limits, dict) else {P4: limits}
    return Snapshot(now=now, runnable=tuple(runnable), placed=tuple(running), limits=limits)


def reserving(name, limits, **more):
    return _share(name, limits, SharingStrategy.RESERVE, **more)


def lending(name, limits, **more):
    return _share(name, limits, SharingStrategy.LEND, **more)


def borrowing(name, limits, **more):
    """A share that lends and borrows."""
    return _share(name, limits, SharingStrategy.LEND_AND_BORROW, **more)


def _share(name, limits, strategy, **more):
    limits = limits if isinstance(limits, dict) else {P4: limits}
    return QuotaShare(name=name, limits=limits, strategy=strategy, **more)


def names(jobs):
    return [one.id for one in jobs]


def victims(decision: Decision):
    """Who goes for whom, and by which rule."""
    return [(one.victim.id, one.beneficiary.id, str(one.reason)) for one in decision.preempt]


def blocked(decision: Decision):
    return [(one.job.id, one.reason.name) for one in decision.blocked]
