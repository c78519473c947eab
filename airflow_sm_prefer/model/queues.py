"""What AWS Batch queues for SageMaker training consist of, as values.

The limits are AWS's: https://docs.aws.amazon.com/batch/latest/APIReference/API_CreateServiceEnvironment.html,
API_CreateSchedulingPolicy.html, API_CreateJobQueue.html and API_CreateQuotaShare.html beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

#: The unit of a limit that counts instances of every type alike; any other unit is an instance type.
ANY_TYPE = "NUM_INSTANCES"

#: How long usage counts against a fair share where a policy doesn't say, in seconds.
DEFAULT_DECAY = 600

#: Borrowing without a limit.
UNLIMITED = -1


class Sharing(StrEnum):
    """What a quota share does with capacity that lies idle: ``resourceSharingConfiguration.strategy``."""

    RESERVE = "RESERVE"
    LEND = "LEND"
    LEND_AND_BORROW = "LEND_AND_BORROW"


class TimeLimit(StrEnum):
    """Why a job at the head of a queue can't start: the reasons of ``jobStateTimeLimitActions``."""

    NO_CAPACITY = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
    LARGER_THAN_ENVIRONMENT = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE"
    LARGER_THAN_QUOTA = "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED"


@dataclass(frozen=True, slots=True)
class ServiceEnvironment:
    """A pool of instances that queues draw from.

    Attributes:
        name: Its name.
        instances: The most instances at once, by unit: :data:`ANY_TYPE`, or instance types for quota shares.
        enabled: Whether jobs may begin in it.
        training_plan: The ARN of the training plan whose instances these are; Batch knows nothing of it.
        tags: Its tags.
    """

    name: str
    instances: Mapping[str, int]
    enabled: bool = True
    training_plan: str | None = field(default=None, compare=False)
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def is_by_type(self) -> bool:
        """Whether its limits are by instance type, as quota shares need them."""
        return set(self.instances) != {ANY_TYPE}


@dataclass(frozen=True, slots=True)
class FairShare:
    """How a queue is shared without quotas.

    Attributes:
        weights: By share identifier, which may end with ``*``: the lower the weight, the more it gets.
        decay: How long usage counts, in seconds.
        reservation: Percent held back for shares that have nothing in the queue yet: AWS's ``computeReservation``.
    """

    weights: Mapping[str, float]
    decay: int = DEFAULT_DECAY
    reservation: int = 0


@dataclass(frozen=True, slots=True)
class SchedulingPolicy:
    """A policy that queues refer to: fair share, or quota shares where ``fair_share`` is None."""

    name: str
    fair_share: FairShare | None
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class JobQueue:
    """A queue.

    Attributes:
        name: Its name.
        environment: The name of the service environment that its jobs run in.
        priority: Which queue of an environment goes first, 0 to 1000; the higher does.
        policy: The name of its scheduling policy; None is first in, first out.
        time_limits: By reason, how many seconds a job at its head may be kept from starting before it is terminated.
        enabled: Whether it takes jobs.
        tags: Its tags.
    """

    name: str
    environment: str
    priority: int
    policy: str | None = None
    time_limits: Mapping[str, int] = field(default_factory=dict)
    enabled: bool = True
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class QuotaShare:
    """A team's part of a queue.

    Attributes:
        queue: The queue's name.
        name: Its name.
        instances: The instances that are its own, by type.
        sharing: What it does with those that lie idle.
        borrow_limit: The most that it borrows, in percent of its own; :data:`UNLIMITED` is any.
        in_share_preemption: Whether its jobs of higher priority end those of lower.
        enabled: Whether it takes jobs.
        tags: Its tags.
    """

    queue: str
    name: str
    instances: Mapping[str, int]
    sharing: str = Sharing.LEND_AND_BORROW
    borrow_limit: int = UNLIMITED
    in_share_preemption: bool = False
    enabled: bool = True
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)


Piece = ServiceEnvironment | SchedulingPolicy | JobQueue | QuotaShare

#: Which piece: its class, the queue of a share, its name.
Key = tuple[type[Piece], str, str]


@dataclass(frozen=True, slots=True)
class Fleet:
    """All pieces of some queues, be it those that are wanted or those that are there."""

    environments: tuple[ServiceEnvironment, ...] = ()
    policies: tuple[SchedulingPolicy, ...] = ()
    queues: tuple[JobQueue, ...] = ()
    shares: tuple[QuotaShare, ...] = ()

    def pieces(self) -> Iterator[Piece]:
        """Return every piece, each behind those that it refers to."""
        yield from self.environments
        yield from self.policies
        yield from self.queues
        yield from self.shares

    def by_key(self) -> dict[Key, Piece]:
        """Return the pieces by what they are called."""
        return {key_of(piece): piece for piece in self.pieces()}


def quota_policy(queue: str) -> str:
    """Return the name of the policy that a queue with quota shares is given."""
    return f"{queue}-quota-shares"


def key_of(piece: Piece) -> Key:
    """Return what tells a piece from every other."""
    return type(piece), piece.queue if isinstance(piece, QuotaShare) else "", piece.name


_WORDS: dict[type[Piece], str] = {
    ServiceEnvironment: "service environment",
    SchedulingPolicy: "scheduling policy",
    JobQueue: "job queue",
    QuotaShare: "quota share",
}


def called(piece: Piece) -> str:
    """Return what a piece is called in a message: ``quota share search of g5``."""
    of = f" of {piece.queue}" if isinstance(piece, QuotaShare) else ""
    return f"{_WORDS[type(piece)]} {piece.name}{of}"
