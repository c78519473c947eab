"""Training plans: capacity that was reserved for one or more stretches of time.

Rules from reserve-capacity-with-training-plans: a plan is Scheduled before and between its blocks, Active in one,
Expired after the last; jobs in a block are ended 30 minutes before the block is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

JOBS_TARGET = "training-job"
"""The target of plans for training jobs; no other plan takes any."""

TARGETS = frozenset({JOBS_TARGET, "hyperpod-cluster", "endpoint", "studio-apps"})
"""What a plan can be bought for; the targets aren't interchangeable."""

SETTLED = frozenset({"Pending", "Failed"})
"""Statuses that don't come of a plan's blocks: its payment isn't made yet, or has failed."""

END_MARGIN_SECONDS = 30 * 60
"""How long before a block's end its jobs are ended."""


@dataclass(frozen=True, slots=True)
class Block:
    """One reserved stretch, in seconds since the sandbox began, before its speed is applied."""

    starts: float
    lasts: float

    @property
    def ends(self) -> float:
        """When it is over."""
        return self.starts + self.lasts


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """A plan as a scenario describes it; every account has it, in one Region or in each.

    Attributes:
        name: Its name.
        instance_type: The one type that it reserves.
        count: How many instances of it.
        blocks: When it reserves them.
        region: Where, None for everywhere.
        zone: The Availability Zone that it names, None for the Region's first.
        target: What it was bought for.
        status: One of :data:`SETTLED`, None to let the blocks decide.
    """

    name: str
    instance_type: str
    count: int
    blocks: tuple[Block, ...]
    region: str | None = None
    zone: str | None = None
    target: str = JOBS_TARGET
    status: str | None = None

    def named(self, name: str) -> PlanSpec:
        """Return the same plan under another name."""
        return replace(self, name=name)

    def later(self, seconds: float) -> PlanSpec:
        """Return the same plan with its blocks so much later."""
        blocks = tuple(Block(block.starts + seconds, block.lasts) for block in self.blocks)
        return replace(self, blocks=blocks)


@dataclass(slots=True)
class Plan:
    """A plan in one account and Region.

    Attributes:
        spec: What was bought.
        arn: Its ARN.
    """

    spec: PlanSpec
    arn: str

    def status(self, elapsed: float) -> str:
        """Return Scheduled, Active or Expired, or what the scenario says."""
        if self.spec.status is not None:
            return self.spec.status
        if self._block(elapsed) is not None:
            return "Active"
        if elapsed < self.spec.blocks[-1].ends:
            return "Scheduled"
        return "Expired"

    def block_status(self, block: Block, elapsed: float) -> str:
        """Return the status of one of its blocks."""
        if self.spec.status is not None:
            return self.spec.status
        if elapsed < block.starts:
            return "Scheduled"
        return "Active" if elapsed < block.ends else "Expired"

    def is_usable(self, elapsed: float) -> bool:
        """Whether instances can be started in it, or go on: not in the last half hour of a block."""
        block = self._block(elapsed)
        in_block = block is not None and elapsed < block.ends - END_MARGIN_SECONDS
        return in_block and self.status(elapsed) == "Active"

    def block_end(self, elapsed: float) -> float | None:
        """Return when the block that it is in ends, None between blocks."""
        block = self._block(elapsed)
        return None if block is None else block.ends

    def is_over(self, elapsed: float) -> bool:
        """Whether no job will get instances from it any more."""
        last = self.spec.blocks[-1].ends - END_MARGIN_SECONDS
        return elapsed >= last or self.status(elapsed) in {"Expired", "Failed"}

    def edges(self) -> list[float]:
        """Return the instants at which something about it changes."""
        margins = [(b.starts, b.ends - END_MARGIN_SECONDS, b.ends) for b in self.spec.blocks]
        return sorted({edge for edges in margins for edge in edges})

    def _block(self, elapsed: float) -> Block | None:
        return next((b for b in self.spec.blocks if b.starts <= elapsed < b.ends), None)


def snapshot(specs: Iterable[PlanSpec], elapsed: float) -> list[dict[str, Any]]:
    """Return what there is to say about plans now, JSON-clean; blocks in seconds from now."""
    return [
        {
            "name": spec.name,
            "type": spec.instance_type,
            "count": spec.count,
            "region": spec.region,
            "status": Plan(spec, "").status(elapsed),
            "blocks": [{"starts": block.starts - elapsed, "lasts": block.lasts} for block in spec.blocks],
        }
        for spec in specs
    ]


def plan_arn(region: str, account: str, name: str) -> str:
    """Return the ARN of an account's plan."""
    return f"arn:aws:sagemaker:{region}:{account}:training-plan/{name}"
