"""Fair share: whoever has used least for their weight is next."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.scheduling.counts import place_in_turn
from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES, Decision, Job, Snapshot
from airflow_sm_prefer.scheduling.usage import Usage, window

MAX_ACTIVE_SHARES = 500
"""How many share identifiers may be active in a queue; a submission that would make it more is refused."""

DEFAULT_WEIGHT = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class FairsharePolicy:
    """AWS Batch's structure of that name.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_FairsharePolicy.html

    Attributes:
        share_decay_seconds: 0 (which means 600) to 604800.
        compute_reservation: 0 to 99, percent.
        weights: Weight factor by share identifier, or by prefix followed by `*`; others have 1.0. Lower gets more: a
            share of weight 0.125 gets eight times as much as one of weight 1.
    """

    share_decay_seconds: int = 0
    compute_reservation: int = 0
    weights: Mapping[str, float] = field(default_factory=dict)

    def weight(self, share: str) -> float:
        """Return the weight factor of a share identifier. Each identifier that a prefix stands for has it to itself.

        Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_ShareAttributes.html
        """
        # Identifiers and prefixes of a policy never overlap.
        for name, weight in self.weights.items():
            if share == name or (name.endswith("*") and share.startswith(name[:-1])):
                return weight
        return DEFAULT_WEIGHT

    def reserved(self, limit: int, active_shares: int) -> int:
        """Return how many instances are kept free for shares that aren't active: whole ones, rounded down.

        AWS's formula is (computeReservation/100)^ActiveFairShares of the capacity. Of 100 instances at 50 percent that
        is 50 for one active share, 25 for two, 12 for three.
        """
        return int(limit * self.compute_reservation**active_shares // 100**active_shares)


@dataclass(frozen=True, slots=True)
class FairShare:
    """Places jobs of the share that has used least for its weight; never preempts.

    A share's standing is T * weightFactor, T being its usage over time, and the lowest is next. AWS doesn't say what a
    job counts when it has just been placed, but if it were nothing, one share would take all that is free at an
    instant. Here an instance counts from when it is placed as if it had been held for the whole window.

    Within a share, higher priority goes first, then arrival. A head that doesn't fit blocks the queue. With a
    reservation, a job larger than what it leaves waits until more shares are active.

    Sources: https://docs.aws.amazon.com/batch/latest/userguide/share-identifiers.html for the formula,
    https://docs.aws.amazon.com/batch/latest/userguide/preemption.html for no preemption.

    Attributes:
        policy: Decay, reservation and weights.
        usage: What the shares have used, up to the last change in the set of placed jobs or later.
    """

    policy: FairsharePolicy
    usage: Usage

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs: the share whose turn it is, then priority, then arrival."""
        return tuple(self._turns(snapshot))

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place from the head while it fits beside the reservation."""
        limit = snapshot.limits.get(NUM_INSTANCES, 0)
        reserved = self.policy.reserved(limit, len(self.active_shares(snapshot)))
        return place_in_turn(self._turns(snapshot), snapshot, reserved=reserved)

    def active_shares(self, snapshot: Snapshot) -> frozenset[str]:
        """Return the share identifiers that have waiting or placed jobs, or usage that still counts.

        Source: https://docs.aws.amazon.com/batch/latest/userguide/fair-share-scheduling.html
        """
        jobs = (*snapshot.runnable, *(placed.job for placed in snapshot.placed))
        return frozenset({job.share or "" for job in jobs} | set(self._spent(snapshot)))

    def _turns(self, snapshot: Snapshot) -> Iterator[Job]:
        waiting: dict[str, list[Job]] = defaultdict(list)
        for job in sorted(snapshot.runnable, key=lambda job: job.rank, reverse=True):
            waiting[job.share or ""].append(job)
        standings = self._standings(snapshot)
        # Of shares that stand alike, the one whose first job arrived first.
        turns = [(standings[share], jobs[-1].arrival, share) for share, jobs in waiting.items()]
        heapq.heapify(turns)
        while turns:
            share = turns[0][2]
            job = waiting[share].pop()
            yield job
            if not waiting[share]:
                heapq.heappop(turns)
                continue
            standings[share] += self._weight_of(job)
            heapq.heapreplace(turns, (standings[share], waiting[share][-1].arrival, share))

    def _standings(self, snapshot: Snapshot) -> defaultdict[str, float]:
        standings: defaultdict[str, float] = defaultdict(float)
        for share, spent in self._spent(snapshot).items():
            standings[share] += spent * self.policy.weight(share)
        for placed in snapshot.placed:
            standings[placed.job.share or ""] += self._weight_of(placed.job)
        return standings

    def _weight_of(self, job: Job) -> float:
        """What a placed job adds to its share's standing."""
        whole_window = window(self.policy.share_decay_seconds) / 2
        return job.instances * whole_window * self.policy.weight(job.share or "")

    def _spent(self, snapshot: Snapshot) -> dict[str, float]:
        decay = self.policy.share_decay_seconds
        return self.usage.carried_to(snapshot.now, snapshot.placed, decay).spent(decay)
