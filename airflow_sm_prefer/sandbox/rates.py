"""How many calls a second an account may make (general reference, SageMaker endpoints and quotas; Batch user guide).

The sandbox's speed never scales them: they protect AWS's API, not its instances.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

DEFAULT_RATES: Mapping[str, float] = {
    "CreateTrainingJob": 1,
    "CreateProcessingJob": 1,
    "DescribeTrainingJob": 5,
    "DescribeProcessingJob": 5,  # not in AWS's table; throttling is reported
    "ListTrainingJobs": 2,
    "ListProcessingJobs": 2,
    "StopTrainingJob": 1,
    "StopProcessingJob": 1,
    "UpdateTrainingJob": 1,
    "DeleteTrainingJob": 1,
    "SubmitServiceJob": 5,
}
"""Calls a second by operation; one that isn't named is not limited."""


@dataclass(frozen=True, slots=True)
class RateChange:
    """Other rates for some operations.

    Attributes:
        named: Calls a second by operation; None doesn't limit it any more.
        base: What holds for operations that aren't named; None leaves them as they are.
    """

    named: Mapping[str, float | None]
    base: Mapping[str, float] | None = None

    def over(self, rates: Mapping[str, float]) -> dict[str, float]:
        """Return rates with this change."""
        changed = {**(rates if self.base is None else self.base), **self.named}
        return {operation: rate for operation, rate in changed.items() if rate is not None}


class TokenBucket:
    """Holds a second's worth of calls, at least one, and fills up at its rate."""

    def __init__(self, rate: float, now: float) -> None:
        self._rate = rate
        self._size = max(1.0, rate)
        self._tokens = self._size
        self._filled = now

    def take(self, now: float) -> bool:
        """Take one call's worth if there is one."""
        gained = max(0.0, now - self._filled) * self._rate
        self._tokens = min(self._size, self._tokens + gained)
        self._filled = now
        if self._tokens < 1:
            return False
        self._tokens -= 1
        return True


class RateLimits:
    """The buckets of all accounts and Regions."""

    def __init__(self, rates: Mapping[str, float]) -> None:
        self._rates = dict(rates)
        self._buckets: dict[tuple[str, str, str], TokenBucket] = {}
        self._lock = threading.Lock()

    def rates(self) -> dict[str, float]:
        """Return the calls a second by operation; one that isn't named is not limited."""
        return dict(self._rates)

    def change(self, change: RateChange) -> None:
        """Change the rates; every bucket starts full."""
        with self._lock:
            self._rates = change.over(self._rates)
            self._buckets.clear()

    def document(self) -> dict[str, float]:
        """Return the rates, as JSON can hold them."""
        return dict(self._rates)

    def restore(self, document: Mapping[str, float]) -> None:
        """Take up the rates of a document; every bucket starts full."""
        with self._lock:
            self._rates = dict(document)
            self._buckets.clear()

    def allow(self, account: str, region: str, operation: str, now: float) -> bool:
        """Count one call and tell whether it is within the limit."""
        with self._lock:
            rate = self._rates.get(operation)
            if rate is None:
                return True
            key = (account, region, operation)
            bucket = self._buckets.get(key)
            if bucket is None:
                bucket = self._buckets[key] = TokenBucket(rate, now)
            return bucket.take(now)
