"""What the pieces of some queues must be to each other.

The rules are AWS's: https://docs.aws.amazon.com/batch/latest/userguide/service-environments.html, the quotas of AWS
Batch, and ``capacityUnit`` in https://docs.aws.amazon.com/batch/latest/APIReference/API_CapacityLimit.html.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from airflow_sm_prefer.model.queues import (
    ANY_TYPE,
    UNLIMITED,
    Fleet,
    JobQueue,
    QuotaShare,
    SchedulingPolicy,
    ServiceEnvironment,
    Sharing,
    quota_policy,
)
from airflow_sm_prefer.model.written import did_you_mean, joined
from airflow_sm_prefer.model.yaml_lines import Path


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something in a file that can't be: where, and why."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{'.'.join(map(str, self.path)) or 'the file'}: {self.text}"


def mistakes(fleet: Fleet) -> Iterator[Mistake]:
    """Return what can't be, by the file's own account of it."""
    environments = {environment.name: environment for environment in fleet.environments}
    for policy in fleet.policies:
        yield from _of_policy(policy)
    for queue in fleet.queues:
        yield from _of_queue(queue, fleet)
        environment = environments.get(queue.environment)
        if environment is not None:
            yield from _of_limits(queue, environment, fleet)
    for share in fleet.shares:
        yield from _of_share(share)


def _of_policy(policy: SchedulingPolicy) -> Iterator[Mistake]:
    weights = policy.fair_share.weights if policy.fair_share else {}
    for one, other in combinations(weights, 2):
        if _overlap(one, other):
            yield Mistake(("policies", policy.name, "weights", other), f"overlaps with {one}; AWS Batch takes no two.")


def _overlap(one: str, other: str) -> bool:
    """Whether an identifier could be counted for both."""
    return any(a.endswith("*") and b.startswith(a[:-1]) for a, b in ((one, other), (other, one)))


def _of_queue(queue: JobQueue, fleet: Fleet) -> Iterator[Mistake]:
    names = {environment.name for environment in fleet.environments}
    if queue.environment not in names:
        hint = did_you_mean(queue.environment, names)
        text = f"there is no {queue.environment!r} under environments. {hint}".rstrip()
        yield Mistake(("queues", queue.name, "environment"), text)
    policies = Counter(policy.name for policy in fleet.policies)
    if queue.policy is not None and not policies[queue.policy]:
        hint = did_you_mean(queue.policy, policies)
        yield Mistake(("queues", queue.name, "policy"), f"there is no {queue.policy!r} under policies. {hint}".rstrip())
    own = quota_policy(queue.name)
    if policies[own] > 1:
        yield Mistake(("policies", own), f"the policy of {queue.name}'s quota shares is called that; rename this one.")


def _of_limits(queue: JobQueue, environment: ServiceEnvironment, fleet: Fleet) -> Iterator[Mistake]:
    shares = [share for share in fleet.shares if share.queue == queue.name]
    place = ("environments", environment.name, "instances")
    if not shares:
        if environment.is_by_type:
            text = f"has to be a number: its queue {queue.name} has no quota_shares, and counts instances of all types."
            yield Mistake(place, text)
        return
    if ANY_TYPE in environment.instances:
        yield Mistake(place, f"has to be by instance type: its queue {queue.name} has quota_shares.")
        return
    others = [q.name for q in fleet.queues if q.environment == environment.name and q is not queue]
    if others:
        text = f"serves {joined(others)}, too; with quota_shares it can have one queue only."
        yield Mistake(("queues", queue.name, "environment"), text)
    for share in shares:
        for unit in share.instances.keys() - environment.instances.keys():
            text = f"the environment {environment.name} has no instances of that type."
            yield Mistake(("queues", queue.name, "quota_shares", share.name, "instances", unit), text)


def _of_share(share: QuotaShare) -> Iterator[Mistake]:
    if share.borrow_limit != UNLIMITED and share.sharing != Sharing.LEND_AND_BORROW:
        path = ("queues", share.queue, "quota_shares", share.name, "borrow_limit")
        yield Mistake(path, f"is for LEND_AND_BORROW only, and the share's sharing is {share.sharing}.")
