"""What the shares of a fair-share queue have used, as a value that is carried on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from airflow_sm_prefer.scheduling.snapshot import Placed

SHORTEST_WINDOW = 600
"""Seconds that a shareDecaySeconds of 0 means."""


def window(share_decay_seconds: int) -> int:
    """Return how many seconds of the past count.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_FairsharePolicy.html
    """
    return share_decay_seconds or SHORTEST_WINDOW


class Span(NamedTuple):
    """So many instances that a share held from one instant to another, in seconds."""

    share: str
    instances: int
    start: float
    stop: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The recent past of a queue. Plain numbers and texts, so that it can be stored.

    AWS sums what running and recently ended jobs have used, vCPU-seconds for container jobs; service jobs count
    instances, of any type. What was used loses weight linearly over shareDecaySeconds, and after that counts for
    nothing.

    Sources: https://aws.amazon.com/blogs/hpc/deep-dive-on-fair-share-scheduling-in-aws-batch/ for the sum, and
    https://docs.aws.amazon.com/cdk/api/v2/docs/aws-cdk-lib.aws_batch-readme.html#fairshare-scheduling for the decay.

    Attributes:
        as_of: The instant up to which it is known, in seconds.
        spans: What the shares held until then.
    """

    as_of: float
    spans: tuple[Span, ...] = ()

    def carried_to(self, now: float, placed: Iterable[Placed], share_decay_seconds: int) -> Usage:
        """Return the usage at a later instant, with these jobs holding their instances from then until now.

        To be called whenever the set of placed jobs is about to change, with the set before the change: a job that
        ends or is placed between two calls is not seen.

        Args:
            now: The later instant.
            placed: The jobs that held their instances all the time since `as_of`.
            share_decay_seconds: As in the policy; 0 means 600. What is older is dropped.
        """
        held = Counter[str]()
        for one in placed if now > self.as_of else ():
            held[one.job.share or ""] += one.job.instances
        spans = []
        for span in self.spans:
            goes_on = span.stop == self.as_of and held[span.share] == span.instances
            if goes_on:
                del held[span.share]
            longer = span._replace(stop=now) if goes_on else span
            if longer.stop > now - window(share_decay_seconds):
                spans.append(longer)
        spans += [Span(share, instances, self.as_of, now) for share, instances in sorted(held.items()) if instances]
        return Usage(as_of=now, spans=tuple(spans))

    def spent(self, share_decay_seconds: int) -> dict[str, float]:
        """Return the instance-seconds that count, by share identifier: of each that held any within the window."""
        length = window(share_decay_seconds)
        spent: dict[str, float] = defaultdict(float)
        for span in self.spans:
            newest, oldest = self.as_of - span.stop, min(self.as_of - span.start, length)
            if newest < length:
                # An instance-second of age t weighs 1 - t / length.
                weighed = (oldest - newest) * (1 - (oldest + newest) / (2 * length))
                spent[span.share] += span.instances * weighed
        return dict(spent)
