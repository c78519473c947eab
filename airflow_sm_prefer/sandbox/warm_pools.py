"""Warm pools: instances that stay with a training job after its end, so that the next may begin at once.

Rules from train-warm-pools and train-warm-pools-resource-limits. A pool of the sandbox is never reused: AWS doesn't say
whether a job with a preference list matches one, so the least favourable reading holds for every job. All that is left
of a pool then is that its instances are missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PoolStatus(StrEnum):
    """The statuses of AWS's that a pool has here; ``Reused`` and ``InUse`` are those of pools that are reused."""

    AVAILABLE = "Available"
    TERMINATED = "Terminated"


@dataclass(slots=True)
class WarmPool:
    """The pool of one ended job.

    Attributes:
        since: When the job ended, in epoch seconds.
        opened: The scenario's elapsed seconds at that instant.
        ended: When the instances were given back, None while they are kept.
    """

    since: float
    opened: float
    ended: float | None = None

    @property
    def status(self) -> PoolStatus:
        """What Describe and List show."""
        return PoolStatus.AVAILABLE if self.ended is None else PoolStatus.TERMINATED

    @property
    def is_kept(self) -> bool:
        """Whether it still has its instances."""
        return self.ended is None

    def retained(self, now: float) -> int:
        """Return for how many seconds the instances have been billed to the pool."""
        return round((now if self.ended is None else self.ended) - self.since)


def is_harmless(failure_reason: str | None) -> bool:
    """Whether a cluster is kept after that failure: it is the job's own, so the instances are healthy."""
    return (failure_reason or "").startswith(("AlgorithmError", "ClientError"))
