"""Training plans before a job is sent for them: which of them can carry it now, later, or never.

The rules are AWS's: https://docs.aws.amazon.com/sagemaker/latest/dg/reserve-capacity-with-training-plans.html and
https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from airflow_sm_prefer.model.written import joined

#: Statuses that a plan never leaves.
OVER = frozenset({"Expired", "Failed"})

#: What a plan has to have been bought for.
TARGET = "training-job"

#: How long before a block's end AWS ends the jobs in it, in AWS's seconds.
END_MARGIN = 1800.0


@dataclass(frozen=True, slots=True)
class PlanStatus:
    """A training plan at one moment.

    Attributes:
        arn: Its ARN.
        status: ``Pending``, ``Scheduled``, ``Active``, ``Expired`` or ``Failed``.
        instance_types: The types that its blocks of capacity hold.
        available: Instances that a job could have now.
        in_use: Instances that jobs have.
        total: Instances that it has been bought with; 0 where AWS doesn't say.
        start: When its first block begins, in seconds since 1970.
        end: When its last block ends.
        targets: What it was bought for: ``training-job`` and the like; empty where AWS doesn't say.
        blocks: When each of its blocks begins and ends, as far as AWS says.
    """

    arn: str
    status: str
    instance_types: frozenset[str]
    available: int
    in_use: int
    total: int
    start: float | None
    end: float | None
    targets: frozenset[str] = frozenset()
    blocks: tuple[tuple[float, float], ...] = ()

    @property
    def name(self) -> str:
        """Its name, which its ARN ends with."""
        return self.arn.rpartition("/")[2]

    def next_begin(self, now: float) -> float | None:
        """Return when its next block begins; None if none is to come, or AWS doesn't say."""
        begins = [begin for begin, _ in self.blocks]
        if not begins and self.start is not None:
            begins = [self.start]
        return min((begin for begin in begins if begin > now), default=None)

    def block_end(self, now: float) -> float | None:
        """Return when the block that is on ends; None between blocks, or where AWS doesn't say."""
        if not self.blocks:
            return self.end if self.status == "Active" else None
        return next((end for begin, end in self.blocks if begin <= now < end), None)


class Use(StrEnum):
    """What a plan is good for at one moment.

    ``READY``: it has what the job needs. ``TAKEN``: it is on, and others have its instances. ``LATER``: it hasn't
    begun, or is between two blocks. ``CLOSED``: AWS would take no job on it, or end it at once; that may change.
    ``NEVER``: it is over, or was never one for this job.
    """

    READY = "ready"
    TAKEN = "taken"
    LATER = "later"
    CLOSED = "closed"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Standing:
    """What a plan is good for, why, and when its next block begins if it is to be used later."""

    use: Use
    why: str
    begins: float | None = None


def standing(plan: PlanStatus, instance_type: str, count: int, now: float, speed: float = 1.0) -> Standing:
    """Say what a plan is good for.

    Args:
        plan: The plan.
        instance_type: The type that the job would run on.
        count: How many of them.
        now: The instant, in seconds since 1970.
        speed: How many of AWS's seconds pass in a real one.
    """
    never = _never(plan, instance_type, count)
    if never:
        return Standing(Use.NEVER, never)
    begins, ends = plan.next_begin(now), plan.block_end(now)
    if plan.status == "Scheduled":
        return Standing(Use.LATER, "hasn't begun" if now < (plan.start or now) else "is between two blocks", begins)
    if plan.status != "Active":
        return Standing(Use.CLOSED, f"is {plan.status}, and AWS takes no job on it yet")
    if ends is not None and ends - now <= END_MARGIN / speed:
        why = "is in the last half hour of a block, in which AWS ends its jobs"
        return Standing(Use.CLOSED if begins is None else Use.LATER, why, begins)
    if plan.available < count:
        return Standing(Use.TAKEN, f"has {plan.available} of the {count} instances free that are needed")
    return Standing(Use.READY, "has them free")


def _never(plan: PlanStatus, instance_type: str, count: int) -> str:
    """Say why a plan will never carry the job; empty if it may."""
    if plan.status in OVER:
        return f"is {plan.status}, and AWS takes no job on it"
    if plan.targets and TARGET not in plan.targets:
        return f"is for {joined(sorted(plan.targets))}, not for training jobs"
    if plan.instance_types and instance_type not in plan.instance_types:
        return f"is for {joined(sorted(plan.instance_types))}"
    if plan.total and plan.total < count:
        return f"was bought with {plan.total} instances, and {count} are needed"
    return ""
