"""Quota management: each share its own limits; idle instances are lent, and reclaimed by preemption."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from airflow_sm_prefer.scheduling.ledger import Ledger
from airflow_sm_prefer.scheduling.preemption import make_room
from airflow_sm_prefer.scheduling.quota import QuotaShare, by_name
from airflow_sm_prefer.scheduling.snapshot import Blocked, BlockedReason, Decision, Job, Preemption, Snapshot


@dataclass(frozen=True, slots=True)
class QuotaShares:
    """Places jobs within each share's limits, then lends what is idle, and reclaims it for its owner.

    Each share is a queue of its own: higher priority first, then arrival, and a head that waits holds back its share
    only. Jobs that their share's own limits hold go before those that borrow; among either the earlier arrival goes
    first (idleResourceAssignmentStrategy FIFO), and what an earlier one waits for isn't given to a later one.

    A job that its share's own limits hold never waits for instances that are lent: their borrowers are preempted.
    One that would need more than its limits borrows; if it can't, and its share has in-share preemption, jobs of lower
    priority in its share are.

    Source: https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html

    Attributes:
        shares: All quota shares of the queue. A job of any other share is blocked, as it has no limits.
    """

    shares: tuple[QuotaShare, ...]

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs as their turns come if all of them fit: those that need not borrow first."""
        line = _Line(snapshot, Ledger.of(snapshot, self.shares))
        jobs = []
        while (job := line.head()) is not None:
            jobs.append(job)
            line.advance(job)
        return tuple(jobs)

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place, preempt for owners and for priorities, and tell which shares are blocked."""
        return _Round(snapshot, self.shares).decide()


class _Line:
    """The shares' queues, merged."""

    def __init__(self, snapshot: Snapshot, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: dict[str, list[Job]] = {}
        for job in sorted(snapshot.runnable, key=lambda job: job.rank, reverse=True):
            self._waiting.setdefault(job.share or "", []).append(job)

    def head(self) -> Job | None:
        """Return the job whose turn it is: of the shares' first ones, one that need not borrow, then the earliest."""
        heads = (jobs[-1] for jobs in self._waiting.values() if jobs)
        return min(heads, key=lambda job: (not self._ledger.owns_room(job), job.arrival), default=None)

    def advance(self, job: Job) -> None:
        """Count the head as holding its instances, and turn to the next of its share."""
        self._waiting[job.share or ""].pop()
        self._ledger.add(job)

    def close(self, job: Job) -> None:
        """Leave the head where it is, and its share with it."""
        self._waiting[job.share or ""].clear()


class _Round:
    """One decision as it is made.

    Two ledgers: what is held now, and what will be once the jobs that are being stopped have stopped and those that
    wait for them are placed.
    """

    def __init__(self, snapshot: Snapshot, shares: tuple[QuotaShare, ...]) -> None:
        self._shares = by_name(shares)
        self._limits = snapshot.limits
        self._now = Ledger.of(snapshot, shares)
        self._soon = Ledger.of(snapshot, shares, stopping=False)
        self._line = _Line(snapshot, self._soon)
        self._held_back: set[str] = set()
        self._place: list[Job] = []
        self._preempt: list[Preemption] = []
        self._blocked: list[Blocked] = []

    def decide(self) -> Decision:
        while (job := self._line.head()) is not None:
            self._consider(job)
        return Decision(tuple(self._place), tuple(self._preempt), tuple(self._blocked))
