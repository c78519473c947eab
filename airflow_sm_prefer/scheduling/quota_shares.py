"""Quota shares: what each may hold, and what it does with what it doesn't use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

UNLIMITED = -1
"""A borrow limit of none."""


class SharingStrategy(StrEnum):
    """What a quota share does with idle instances: AWS Batch's values."""

    RESERVE = "RESERVE"
    """Keeps them idle for its own jobs, and borrows none."""
    LEND = "LEND"
    """Lends them, and borrows none."""
    LEND_AND_BORROW = "LEND_AND_BORROW"
    """Lends them, and borrows others'."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaShare:
    """AWS Batch's quota share, as far as scheduling goes.

    A DISABLED share takes no new jobs, but those that it has can finish (CreateQuotaShare): the state changes nothing
    here, it is the caller that refuses the submission.

    Sources: https://docs.aws.amazon.com/batch/latest/userguide/quota-shares.html and
    https://docs.aws.amazon.com/batch/latest/APIReference/API_QuotaShareResourceSharingConfiguration.html

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

    @property
    def lends(self) -> bool:
        """Whether others may use its idle instances."""
        return self.strategy is not SharingStrategy.RESERVE

    def limit(self, instance_type: str) -> int:
        """Return what its jobs may hold of a type without borrowing: 0 if it has no limit for it."""
        return self.limits.get(instance_type, 0)

    def may_borrow(self, instance_type: str, lent: int) -> int:
        """Return how many instances of a type it may borrow at most, if others lend so many; a part counts for none."""
        if self.strategy is not SharingStrategy.LEND_AND_BORROW or instance_type not in self.limits:
            return 0
        if self.borrow_limit == UNLIMITED:
            return lent
        return min(lent, self.limit(instance_type) * self.borrow_limit // 100)
