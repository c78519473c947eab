"""What stands between the queues that are wanted and those that are there.

What AWS Batch never changes is an obstacle, which nothing is done around: a scheduling policy can be replaced and never
removed, a queue without one never gets one, and fair share and quota shares exclude each other for good
(https://docs.aws.amazon.com/batch/latest/APIReference/API_UpdateJobQueue.html). Nothing is ever deleted: that would end
the jobs in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from airflow_sm_prefer.model.queues import (
    ANY_TYPE,
    UNLIMITED,
    Fleet,
    JobQueue,
    Key,
    Piece,
    SchedulingPolicy,
    ServiceEnvironment,
    called,
    key_of,
)
from airflow_sm_prefer.model.words import span
from airflow_sm_prefer.placement.plans import PlanStatus

#: The tag of what ``sm-prefer queues apply`` has made, so that what a file doesn't name any more is noticed.
MADE_BY: Final = "sm-prefer:made-by"
MAKER: Final = "queues-apply"

#: The tag that CloudFormation puts on what it has made.
STACK: Final = "aws:cloudformation:stack-name"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One thing about a piece, before and after, in words; before is empty for a new piece."""

    label: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class Change:
    """A piece to be made, or to be changed.

    Attributes:
        wanted: The piece as it is to be.
        found: The piece as it is; None where there is none.
        fields: What is different.
        tags: The tags to be set; those that are there besides are left.
    """

    wanted: Piece
    found: Piece | None
    fields: tuple[FieldChange, ...]
    tags: Mapping[str, str]

    @property
    def creates(self) -> bool:
        """Whether the piece isn't there yet."""
        return self.found is None


@dataclass(frozen=True, slots=True)
class Difference:
    """All of it.

    Attributes:
        changes: What is to be done, in the order in which AWS takes it.
        obstacles: What can't be done; then nothing should be.
        warnings: What a person should look at.
    """

    changes: tuple[Change, ...]
    obstacles: tuple[str, ...]
    warnings: tuple[str, ...]


def difference(wanted: Fleet, found: Fleet, plans: Mapping[str, PlanStatus | None]) -> Difference:
    """Compare.

    Args:
        wanted: What a file asks for.
        found: What is there in the Region, of which everything that the file doesn't name is left alone.
        plans: How the training plans of the environments stand, by ARN; None where AWS wouldn't say.
    """
    there = found.by_key()
    changes = tuple(change for piece in wanted.pieces() if (change := _change(piece, there.get(key_of(piece)))))
    obstacles = [text for change in changes if change.found for text in _obstacles(change, wanted, found)]
    warnings = [*_of_plans(wanted, plans), *_of_sums(wanted), *_left_over(wanted, there)]
    return Difference(changes, tuple(obstacles), tuple(warnings))


def _change(piece: Piece, found: Piece | None) -> Change | None:
    tags = {key: value for key, value in piece.tags.items() if found is None or found.tags.get(key) != value}
    if found is None:
        tags[MADE_BY] = MAKER
    before, after = facts(found) if found else {}, facts(piece)
    fields = tuple(
        FieldChange(label, _written(label, before.get(label)) if found else "", _written(label, after.get(label)))
        for label in (*after, *(label for label in before if label not in after))
        if before.get(label) != after.get(label) or (found is None and after.get(label) is not None)
    )
    return Change(piece, found, fields, tags) if found is None or fields or tags else None


def facts(piece: Piece) -> dict[str, Any]:
    """Return what counts about a piece, besides its name and tags, by what it is called for people."""
    if isinstance(piece, ServiceEnvironment):
        return {"instances": dict(piece.instances), "enabled": piece.enabled}
    if isinstance(piece, SchedulingPolicy):
        share = piece.fair_share
        if share is None:
            return {"kind": "quota shares"}
        return {
            "kind": "fair share",
            "weights": {name: round(weight, 4) for name, weight in share.weights.items()},
            "decay": share.decay,
            "reservation, percent": share.reservation,
        }
    if isinstance(piece, JobQueue):
        limits = {f"time limit {reason}": seconds for reason, seconds in piece.time_limits.items()}
        of_queue = {"environment": piece.environment, "priority": piece.priority, "policy": piece.policy}
        return {**of_queue, **limits, "enabled": piece.enabled}
    return {
        "instances": dict(piece.instances),
        "sharing": piece.sharing,
        "borrow limit, percent": None if piece.borrow_limit == UNLIMITED else piece.borrow_limit,
        "in-share preemption": piece.in_share_preemption,
        "enabled": piece.enabled,
    }


def _written(label: str, value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(_counted(name, number) for name, number in sorted(value.items())) or "none"
    if label == "decay" or label.startswith("time limit"):
        return span(value)
    return str(value)


def _counted(name: str, number: float) -> str:
    return f"{number:g} of any type" if name == ANY_TYPE else f"{name}: {number:g}"


def _obstacles(change: Change, wanted: Fleet, found: Fleet) -> Iterator[str]:
    """Return why a change of something that is there can't be made."""
    piece, there = change.wanted, change.found
    if there is not None and STACK in there.tags:
        yield f"{called(piece)} belongs to the CloudFormation stack {there.tags[STACK]}: change it there."
    if isinstance(piece, ServiceEnvironment) and isinstance(there, ServiceEnvironment):
        yield from _of_environment(piece, there)
    if isinstance(piece, SchedulingPolicy) and isinstance(there, SchedulingPolicy):
        yield from _of_policy(piece, there)
    if isinstance(piece, JobQueue) and isinstance(there, JobQueue):
        yield from _of_queue(piece, there, wanted, found)


def _of_environment(piece: ServiceEnvironment, there: ServiceEnvironment) -> Iterator[str]:
    if piece.is_by_type != there.is_by_type:
        kind = "by instance type, for quota shares" if there.is_by_type else "of instances of any type"
        yield f"{called(piece)} has limits {kind}, and stays so: make another for the new queue, under another name."


def _of_policy(piece: SchedulingPolicy, there: SchedulingPolicy) -> Iterator[str]:
    if (piece.fair_share is None) != (there.fair_share is None):
        yield f"{called(piece)} is for {facts(there)['kind']}, and stays so: give the other another name."


def _of_queue(piece: JobQueue, there: JobQueue, wanted: Fleet, found: Fleet) -> Iterator[str]:
    if not there.environment:
        yield f"{called(piece)} is there and isn't one for SageMaker training: give yours another name."
        return
    old, new = _policy_kind(there, found), _policy_kind(piece, wanted)
    if old == new:
        return
    if old is None:
        yield f"{called(piece)} is first in, first out and can never get a policy: make another queue beside it."
    elif new is None:
        yield f"{called(piece)} has a policy for {old}, which can be replaced and never removed: give it one again."
    else:
        yield f"{called(piece)} has a policy for {old}, for good: make another queue beside it for {new}."


def _policy_kind(queue: JobQueue, fleet: Fleet) -> str | None:
    if queue.policy is None:
        return None
    named = {policy.name: policy for policy in fleet.policies}
    kind: str = facts(named[queue.policy])["kind"]
    return kind


def _of_plans(wanted: Fleet, plans: Mapping[str, PlanStatus | None]) -> Iterator[str]:
    for environment in wanted.environments:
        if environment.training_plan is None:
            continue
        plan = plans.get(environment.training_plan)
        name = environment.training_plan.rpartition("/")[2]
        if plan is None or not plan.total:
            yield f"{called(environment)}: how many instances training plan {name} has isn't known."
            continue
        limit = _limit_of(environment, plan)
        if limit != plan.total:
            effect = "jobs would wait for it in SageMaker" if limit > plan.total else "the rest would lie idle"
            yield f"{called(environment)} has a limit of {limit}, and training plan {name} {plan.total}: {effect}."


def _limit_of(environment: ServiceEnvironment, plan: PlanStatus) -> int:
    """Return how many instances of a plan's types an environment lets in."""
    counted = plan.instance_types | {ANY_TYPE}
    return sum(count for unit, count in environment.instances.items() if unit in counted)


def _of_sums(wanted: Fleet) -> Iterator[str]:
    """Tell quota shares that own more together than there is: their jobs take from each other what is promised."""
    environments = {environment.name: environment for environment in wanted.environments}
    for queue in wanted.queues:
        shares = [share for share in wanted.shares if share.queue == queue.name]
        for unit, limit in environments[queue.environment].instances.items():
            owned = sum(share.instances.get(unit, 0) for share in shares)
            if owned > limit:
                yield f"{called(queue)}: its quota shares own {owned} {unit} together, and its environment has {limit}."


def _left_over(wanted: Fleet, there: Mapping[Key, Piece]) -> Iterator[str]:
    named = wanted.by_key()
    for key, piece in there.items():
        if piece.tags.get(MADE_BY) == MAKER and key not in named:
            how = "disable it, then delete it" if not isinstance(piece, SchedulingPolicy) else "delete it"
            yield f"{called(piece)} was made from a file, and this one doesn't name it: if nothing needs it, {how}."
