"""What the shares of a fair-share queue have used, as a value that is carried on."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.scheduling.snapshot import Placed

SHORTEST_WINDOW = 600
"""Seconds that a shareDecaySeconds of 0 means."""


def window(share_decay_seconds: int) -> int:
    """Return how many seconds of the past count.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_FairsharePolicy.html
    """
    return share_decay_seconds or SHORTEST_WINDOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Instance-seconds by share identifier, decayed up to an instant. Plain numbers, so that it can be stored.

    AWS sums the vCPU-seconds of running and recently ended jobs, and says that more recent ones weigh more, but not
    how much more. Here usage fades exponentially with shareDecaySeconds as its time constant, so that all of the past
    weighs as much as a window of that length. A share that has held nothing for so long is forgotten: AWS calls it
    inactive then. Service jobs count instances, of any type.

    Sources: https://docs.aws.amazon.com/batch/latest/userguide/fair-share-scheduling.html and
    https://aws.amazon.com/blogs/hpc/deep-dive-on-fair-share-scheduling-in-aws-batch/

    Attributes:
        as_of: The instant, in seconds.
        spent: Decayed instance-seconds by share identifier.
        last_held: When each of these shares last held an instance, in seconds.
    """

    as_of: float
    spent: Mapping[str, float] = field(default_factory=dict)
    last_held: Mapping[str, float] = field(default_factory=dict)

    def carried_to(self, now: float, placed: Iterable[Placed], share_decay_seconds: int) -> Usage:
        """Return the usage at a later instant, with these jobs holding their instances from then until now.

        To be called whenever the set of placed jobs is about to change, with the set before the change: a job that
        ends or is placed between two calls is not seen.

        Args:
            now: The later instant.
            placed: The jobs that held their instances all the time since `as_of`.
            share_decay_seconds: As in the policy; 0 means 600.
        """
        held = Counter[str]()
        for one in placed:
            held[one.job.share or ""] += one.job.instances
        length = window(share_decay_seconds)
        fading = math.exp((self.as_of - now) / length)
        last_held = {**self.last_held, **dict.fromkeys(held, now)}
        kept = {share: last for share, last in last_held.items() if now - last < length}
        # What n instances used in this time, each second of it faded until now.
        spent = {
            share: self.spent.get(share, 0.0) * fading + held[share] * length * (1 - fading) for share in sorted(kept)
        }
        return Usage(as_of=now, spent=spent, last_held=kept)
