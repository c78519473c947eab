"""What service jobs are queued with: service environments, job queues, scheduling policies and quota shares.

They are kept as AWS Batch describes them. A change of one takes a while, if a setting says so: until it has settled, a
status such as CREATING is shown; it holds from the beginning.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

ENABLED = "ENABLED"
DISABLED = "DISABLED"

CREATING = "CREATING"
UPDATING = "UPDATING"
DELETING = "DELETING"
VALID = "VALID"


@dataclass(slots=True, kw_only=True)
class Managed:
    """What all but policies have in common.

    Attributes:
        name: Unique for its kind, account and Region; a quota share's, for its queue.
        arn: Its ARN.
        state: ``ENABLED`` or ``DISABLED``.
        tags: By key.
        change: What was done to it last.
        settles: Elapsed seconds at which that has settled.
    """

    name: str
    arn: str
    state: str = ENABLED
    tags: dict[str, str] = field(default_factory=dict)
    change: str = CREATING
    settles: float = 0.0

    def begin(self, change: str, now: float, takes: float) -> None:
        """Begin a change that has settled after so many seconds."""
        self.change, self.settles = change, now + takes

    def status(self, elapsed: float) -> str:
        """Return its status after so many elapsed seconds."""
        return self.change if elapsed < self.settles or self.is_going else VALID

    @property
    def is_going(self) -> bool:
        """Whether it is being deleted."""
        return self.change == DELETING


@dataclass(slots=True, kw_only=True)
class Environment(Managed):
    """A service environment: how many instances jobs may have at once.

    Attributes:
        limits: maxCapacity by capacity unit: ``NUM_INSTANCES``, or instance types for quota management.
    """

    limits: dict[str, int]


@dataclass(slots=True, kw_only=True)
class Queue(Managed):
    """A job queue.

    Attributes:
        priority: Of queues of one environment, the higher is asked first.
        environment: The ARN of its service environment.
        order: The number that the environment was given in serviceEnvironmentOrder.
        policy: The ARN of its scheduling policy; None for first in, first out.
        time_limits: jobStateTimeLimitActions.
        used: Fair share: what each share held lately, as share, instances, and from when to when in elapsed seconds.
        used_as_of: Up to which elapsed seconds that is known.
    """

    priority: int
    environment: str
    order: int = 1
    policy: str | None = None
    time_limits: list[dict[str, Any]] = field(default_factory=list)
    used: list[tuple[str, int, float, float]] = field(default_factory=list)
    used_as_of: float = 0.0

    def time_limit(self, reason: str) -> float | None:
        """Return after how many seconds a RUNNABLE job with that reason is terminated, None if it isn't."""
        seconds = [limit["maxTimeSeconds"] for limit in self.time_limits if limit["reason"] == reason]
        return float(min(seconds)) if seconds else None


@dataclass(slots=True, kw_only=True)
class SchedulingPolicy:
    """A scheduling policy: for fair share or for quota management.

    Attributes:
        name: Unique for the account and Region.
        arn: Its ARN.
        fairshare: AWS's fairsharePolicy, None for quota management.
        quota_share: AWS's quotaSharePolicy, None for fair share.
        tags: By key.
    """

    name: str
    arn: str
    fairshare: dict[str, Any] | None = None
    quota_share: dict[str, Any] | None = None
    tags: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class QuotaShare(Managed):
    """A quota share of a queue.

    Attributes:
        queue: The queue's ARN.
        limits: maxCapacity by instance type.
        strategy: ``RESERVE``, ``LEND`` or ``LEND_AND_BORROW``.
        borrow_limit: What it may borrow, in percent of its limits; -1 is without limit.
        in_share_preemption: ``ENABLED`` or ``DISABLED``.
    """

    queue: str
    limits: dict[str, int]
    strategy: str
    borrow_limit: int = -1
    in_share_preemption: str = DISABLED
