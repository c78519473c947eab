"""Quota management: each share its own limits; idle instances are lent, and reclaimed by preemption."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_sm_prefer.scheduling.ledger import Ledger
from airflow_sm_prefer.scheduling.preemption import make_room
from airflow_sm_prefer.scheduling.quota_shares import QuotaShare
from airflow_sm_prefer.scheduling.snapshot import (
    Blocked,
    BlockedReason,
    Decision,
    Job,
    Preemption,
    PreemptionReason,
    Snapshot,
)


@dataclass(frozen=True, slots=True)
class QuotaManagement:
    """Places jobs within each share's limits, then lends what is idle, and reclaims it for its owner.

    Each share is a queue of its own: higher priority first, then arrival, and a head that waits holds back its share
    only. Jobs that their share's own limits hold go before those that borrow; among either the earlier arrival goes
    first (idleResourceAssignmentStrategy FIFO), and what an earlier one waits for isn't given to a later one.

    A job that its share's own limits hold never waits for instances that are lent: their borrowers are preempted.
    With in-share preemption the limits count as holding a job if they would without those of lower priority; it
    borrows where it can, else these are preempted. Any other job waits for idle instances.

    Sources: https://docs.aws.amazon.com/batch/latest/userguide/quota-management.html and
    https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html; what they leave open is chosen here so that
    no job is passed by smaller ones for ever.

    Attributes:
        shares: All quota shares of the queue. A job of any other share is blocked, as it has no limits.
    """

    shares: tuple[QuotaShare, ...]

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs as their turns come if all of them fit: those that need not borrow first.

        The first job of each share in it is the one that GetJobQueueSnapshot shows for the share.
        """
        ledger = Ledger.of(snapshot, self.shares, stopping=False)
        line = _Line(snapshot)
        jobs = []
        while job := line.head(ledger):
            jobs.append(job)
            line.pop(job)
            ledger.grant(job)
        return tuple(jobs)

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place, preempt for owners and for priorities, and tell which shares are blocked."""
        return _Round(snapshot, self.shares).decide()


class _Line:
    """The shares' queues, merged into one."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._waiting: dict[str | None, list[Job]] = {}
        for job in sorted(snapshot.runnable, key=lambda job: job.rank, reverse=True):
            self._waiting.setdefault(job.share, []).append(job)

    def head(self, ledger: Ledger) -> Job | None:
        """Return whose turn it is among the shares' first jobs: one that need not borrow, then the earliest."""
        heads = (jobs[-1] for jobs in self._waiting.values() if jobs)
        return min(heads, key=lambda job: (not ledger.is_covered(job), job.arrival), default=None)

    def pop(self, job: Job) -> None:
        """Turn to the next job of the head's share."""
        self._waiting[job.share].pop()

    def put_back(self, job: Job) -> None:
        """Let a job that is preempted take its old place among its share's jobs."""
        jobs = self._waiting[job.share]
        jobs.append(job)
        jobs.sort(key=lambda job: job.rank, reverse=True)

    def close(self, job: Job) -> None:
        """Pass over the rest of the head's share."""
        self._waiting[job.share].clear()


class _Round:
    """One decision in the making.

    It is worked out on two ledgers: what is held now, and what will be held once the jobs that are being stopped have
    stopped and those that wait for it are placed.
    """

    def __init__(self, snapshot: Snapshot, shares: tuple[QuotaShare, ...]) -> None:
        self._limits = snapshot.limits
        self._now = Ledger.of(snapshot, shares, stopping=True)
        self._soon = Ledger.of(snapshot, shares, stopping=False)
        self._line = _Line(snapshot)
        self._held_back: set[str | None] = set()
        self._place: list[Job] = []
        self._preempt: list[Preemption] = []
        self._blocked: list[Blocked] = []

    def decide(self) -> Decision:
        while job := self._line.head(self._soon):
            if job.share in self._held_back:
                self._prepare(job)
            else:
                self._consider(job)
        return Decision(tuple(self._place), tuple(self._preempt), tuple(self._blocked))

    def _consider(self, job: Job) -> None:
        """Deal with a job that nothing in its share waits before."""
        if reason := self._misconfigured(job):
            self._blocked.append(Blocked(job, reason))
            self._line.close(job)
        elif self._soon.fits(job) or self._preempt_for(job):
            self._grant(job)
        else:
            self._soon.withhold(job)
            self._line.close(job)

    def _prepare(self, job: Job) -> None:
        """Deal with a job behind one that waits: it may call back what is its share's own, so that both wait once.

        It isn't to be passed by one that is preempted in its share now, and comes back to its old place.
        """
        comes_back = any(job is one.victim for one in self._preempt)
        if self._soon.is_covered(job) and (self._soon.fits(job) or (not comes_back and self._preempt_for(job))):
            self._grant(job)
        else:
            self._line.close(job)

    def _grant(self, job: Job) -> None:
        """Place a job, or let it wait for instances that are about to be free."""
        if job.share not in self._held_back and self._now.fits(job):
            self._place.append(job)
            self._now.grant(job)
        else:
            self._held_back.add(job.share)
        self._line.pop(job)
        self._soon.grant(job)

    def _preempt_for(self, job: Job) -> bool:
        victims = make_room(job, self._soon)
        self._preempt.extend(Preemption(victim.job, job, reason) for victim, reason in victims)
        self._soon = self._soon.without(victim for victim, _ in victims)
        for victim, reason in victims:
            if reason is PreemptionReason.IN_SHARE:
                self._line.put_back(victim.job)
        return bool(victims)

    def _misconfigured(self, job: Job) -> BlockedReason | None:
        """Why a job could never be placed, if so: it must have a limit for its type, and be within it."""
        if job.instances > self._limits.get(job.instance_type, 0):
            return BlockedReason.ENVIRONMENT_TOO_SMALL
        return BlockedReason.ABOVE_QUOTA if job.instances > self._soon.most(job) else None
