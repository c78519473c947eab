"""Fair share: whoever has used least for their weight is next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.scheduling.snapshot import Decision, Job, Snapshot
from airflow_sm_prefer.scheduling.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class FairsharePolicy:
    """AWS Batch's structure of that name.

    Attributes:
        share_decay_seconds: 0 (which means 600) to 604800.
        compute_reservation: 0 to 99, percent.
        weights: Weight factor by share identifier, or by prefix followed by `*`; others have 1.0. Lower gets more.
    """

    share_decay_seconds: int = 0
    compute_reservation: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FairShare:
    """Places jobs of the share that has used least for its weight; never preempts.

    Attributes:
        policy: Decay, reservation and weights.
        usage: What the shares have used until the snapshot's instant: carried there with `Usage.carried_to`.
    """

    policy: FairsharePolicy
    usage: Usage

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs, the share's turn first, then priority, then arrival."""
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place from the head while it fits beside the reservation."""
        raise NotImplementedError

    def active_shares(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the share identifiers that have waiting or placed jobs, or usage that hasn't decayed yet."""
        raise NotImplementedError
