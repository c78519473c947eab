"""Quota management: each share its own limits; idle instances are lent, and reclaimed by preemption."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from airflow_sm_prefer.scheduling.snapshot import Decision, Job, Snapshot

UNLIMITED = -1
"""A borrow limit of none."""


class SharingStrategy(StrEnum):
    """What a quota share does with idle instances: AWS Batch's values."""

    RESERVE = "RESERVE"
    LEND = "LEND"
    LEND_AND_BORROW = "LEND_AND_BORROW"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaShare:
    """AWS Batch's quota share, as far as scheduling goes.

    A DISABLED share takes no new jobs, but those that it has can finish (CreateQuotaShare): the state changes nothing
    here, it is the caller that refuses the submission.

    Attributes:
        name: Unique in the queue.
        limits: maxCapacity by instance type: what its jobs may hold without borrowing.
        strategy: Whether it lends, or lends and borrows.
        borrow_limit: What it may borrow beyond its limits, in percent of each of them; -1 is without limit. Only for
            LEND_AND_BORROW.
        in_share_preemption: Whether its own jobs of higher priority preempt those of lower.
    """

    name: str
    limits: Mapping[str, int]
    strategy: SharingStrategy
    borrow_limit: int = UNLIMITED
    in_share_preemption: bool = False


@dataclass(frozen=True, slots=True)
class QuotaShares:
    """Places jobs within each share's limits, then lends what is idle, and reclaims it for its owner.

    Attributes:
        shares: All quota shares of the queue.
    """

    shares: tuple[QuotaShare, ...]

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs: those their shares' own limits hold first, then those that borrow."""
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place, preempt for owners and for priorities, and tell which shares are blocked."""
        raise NotImplementedError
