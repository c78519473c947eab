"""What environments, queues, policies and quota shares may be (Batch API reference, and its page of service quotas).

AWS's own texts are known for few of these; all come as a ClientException.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import ENABLED, Environment, Managed, Queue, SchedulingPolicy

NUM_INSTANCES = "NUM_INSTANCES"
"""The capacity unit of environments for first in, first out and for fair share."""

MOST_ENVIRONMENTS = 50
MOST_QUEUES = 50
MOST_POLICIES = 500
MOST_SHARES = 20
MOST_SHARE_LIMITS = 5
MOST_TAGS = 50
QUEUE_PRIORITIES = (0, 1000)
DECAY_SECONDS = (0, 604_800)
RESERVATIONS = (0, 99)
WEIGHTS = (0.0001, 999.9999)
LIMIT_SECONDS = (600, 86_400)
NO_BORROW_LIMIT = -1

LIMIT_REASONS = frozenset(
    {
        "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
        "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE",
        "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED",
    }
)
"""What jobStateTimeLimitActions may be for, of service jobs."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")
_SHARE_IDENTIFIER = re.compile(r"[A-Za-z0-9]{1,255}\*?")


def check_name(member: str, name: str) -> None:
    """Let a name through.

    Raises:
        ApiError: it is too long, or has other characters than letters, digits, hyphens and underscores.
    """
    if not _NAME.fullmatch(name):
        raise client_error(
            f"{member} {name!r} is not valid: it can be up to 128 letters, numbers, hyphens and underscores, and "
            "begins with a letter or a number"
        )


def check_new(held: Mapping[str, Any], arn: str, most: int, what: str) -> None:
    """Let a new object through.

    Raises:
        ApiError: there is one of that name, or there are too many.
    """
    if arn in held:
        raise client_error("Object already exists")
    if len(held) >= most:
        raise client_error(f"You have reached the limit of {most} {what}")


def check_tags(tags: Mapping[str, str]) -> None:
    """Let tags through.

    Raises:
        ApiError: there are too many, or a key is reserved.
    """
    if len(tags) > MOST_TAGS:
        raise client_error(f"A resource may have at most {MOST_TAGS} tags")
    reserved = [key for key in tags if key.lower().startswith("aws:")]
    if reserved:
        raise client_error(f"Tag key {reserved[0]} is not valid: keys that begin with aws: are reserved")


def read_limits(given: Sequence[Mapping[str, Any]], *, least: int = 0) -> dict[str, int]:
    """Return capacity limits by unit.

    Raises:
        ApiError: there are none, a unit is missing, unknown or comes twice, or a number is out of range.
    """
    if not given:
        raise client_error("capacityLimits must have at least one entry")
    limits: dict[str, int] = {}
    for limit in given:
        unit, count = limit.get("capacityUnit", ""), limit.get("maxCapacity")
        if unit != NUM_INSTANCES and unit not in catalog.TRAINING_TYPES:
            raise client_error(f"capacityUnit {unit!r} is neither {NUM_INSTANCES} nor an instance type of SageMaker's")
        if unit in limits:
            raise client_error(f"capacityLimits name {unit} twice")
        if count is None or count < least:
            raise client_error(f"maxCapacity of {unit} must be {least} or more")
        limits[unit] = count
    if NUM_INSTANCES in limits and len(limits) > 1:
        raise client_error(f"capacityLimits can't have instance types beside {NUM_INSTANCES}")
    return limits


def check_policy(fairshare: Mapping[str, Any] | None, quota_share: Mapping[str, Any] | None) -> None:
    """Let the content of a scheduling policy through.

    Raises:
        ApiError: it is for both algorithms or for none, or a value of fair share is out of range.
    """
    if (fairshare is None) == (quota_share is None):
        raise client_error("Specify one of fairsharePolicy and quotaSharePolicy")
    if fairshare is None:
        return
    _within("shareDecaySeconds", fairshare.get("shareDecaySeconds", 0), DECAY_SECONDS)
    _within("computeReservation", fairshare.get("computeReservation", 0), RESERVATIONS)
    shares = fairshare.get("shareDistribution", [])
    for share in shares:
        check_share_identifier(share["shareIdentifier"], may_be_prefix=True)
        _within("weightFactor", share.get("weightFactor", 1.0), WEIGHTS)
    _check_apart([share["shareIdentifier"] for share in shares])


def check_share_identifier(identifier: str, *, may_be_prefix: bool = False) -> None:
    """Let a share identifier through.

    Raises:
        ApiError: it has anything but letters and digits, or is too long.
    """
    if not _SHARE_IDENTIFIER.fullmatch(identifier) or (identifier.endswith("*") and not may_be_prefix):
        raise client_error(f"shareIdentifier {identifier!r} is not valid: it can be up to 255 letters and numbers")


def check_time_limits(given: Iterable[Mapping[str, Any]]) -> None:
    """Let jobStateTimeLimitActions through.

    Raises:
        ApiError: a reason or an action isn't one for service jobs, or a time is out of range.
    """
    for limit in given:
        if limit["reason"] not in LIMIT_REASONS:
            raise client_error(f"jobStateTimeLimitActions reason {limit['reason']!r} is not supported for service jobs")
        if limit["action"] != "TERMINATE":
            raise client_error("jobStateTimeLimitActions action must be TERMINATE for a SAGEMAKER_TRAINING job queue")
        _within("maxTimeSeconds", limit["maxTimeSeconds"], LIMIT_SECONDS)


def check_queue_priority(priority: int) -> None:
    """Let a queue's priority through.

    Raises:
        ApiError: it is out of range.
    """
    _within("priority", priority, QUEUE_PRIORITIES)


def environment_of(estate: Estate, order: Sequence[Mapping[str, Any]]) -> tuple[Environment, int]:
    """Return the one environment that a queue has, and its number.

    Raises:
        ApiError: there isn't exactly one, or it is neither VALID nor there at all.
    """
    if len(order) != 1:
        raise client_error("A job queue must have exactly one service environment in serviceEnvironmentOrder")
    environment = estate.environment(order[0]["serviceEnvironment"])
    if environment.is_going:
        raise client_error(f"ServiceEnvironment {environment.arn} is not VALID")
    return environment, order[0]["order"]


def check_units(environment: Environment, policy: SchedulingPolicy | None) -> None:
    """Let an environment serve a queue with that policy.

    Raises:
        ApiError: its capacity units are those of another scheduling algorithm.
    """
    managed = policy is not None and policy.quota_share is not None
    if managed and NUM_INSTANCES in environment.limits:
        raise client_error(
            "A quota management job queue needs a service environment whose capacityUnits are instance types"
        )
    if not managed and NUM_INSTANCES not in environment.limits:
        raise client_error(f"A job queue without quota management needs a service environment with {NUM_INSTANCES}")


def check_alone(estate: Estate, environment: Environment, policy: SchedulingPolicy | None, but: str = "") -> None:
    """Let one more queue use an environment, besides the queue of that ARN.

    Raises:
        ApiError: it serves a queue with quota management, or would serve one beside others.
    """
    others = [queue for queue in estate.queues_on(environment) if queue.arn != but]
    policies = [estate.policy_of(queue) for queue in others]
    if policy is not None:
        policies.append(policy)
    if others and any(one is not None and one.quota_share is not None for one in policies):
        raise client_error(
            f"ServiceEnvironment {environment.arn} is used by JobQueue {others[0].arn}; an environment with quota "
            "management serves one job queue"
        )


def check_replacement(queue: Queue, before: SchedulingPolicy | None, after: SchedulingPolicy) -> None:
    """Let a queue get another policy.

    Raises:
        ApiError: it had none, or one for the other algorithm.
    """
    if before is None:
        raise client_error(f"JobQueue {queue.arn} was created without a scheduling policy and can't get one")
    if (before.fairshare is None) != (after.fairshare is None):
        raise client_error("A fairsharePolicy can't be changed to a quotaSharePolicy, nor the other way round")


def check_sharing(sharing: Mapping[str, Any]) -> None:
    """Let a resourceSharingConfiguration through.

    Raises:
        ApiError: it limits what may not be borrowed at all, or the limit is below -1.
    """
    if "borrowLimit" not in sharing:
        return
    if sharing["strategy"] != "LEND_AND_BORROW":
        raise client_error("borrowLimit can only be specified with the strategy LEND_AND_BORROW")
    if sharing["borrowLimit"] < NO_BORROW_LIMIT:
        raise client_error("borrowLimit must be -1, for no limit, or 0 and more")


def check_share_limits(limits: Mapping[str, int]) -> None:
    """Let the limits of a quota share through.

    Raises:
        ApiError: there are more than five, or one isn't for an instance type.
    """
    if len(limits) > MOST_SHARE_LIMITS:
        raise client_error(f"A quota share may have at most {MOST_SHARE_LIMITS} capacityLimits")
    if NUM_INSTANCES in limits:
        raise client_error("The capacityUnit of a quota share must be an instance type")


def refuse_enabled(one: Managed, what: str) -> None:
    """Let something be deleted.

    Raises:
        ApiError: its state isn't DISABLED.
    """
    if one.state == ENABLED:
        raise client_error(f"Cannot delete, {what} {one.arn} must be DISABLED first")


def refuse_going(one: Managed, what: str) -> None:
    """Let something be changed.

    Raises:
        ApiError: it is being deleted.
    """
    if one.is_going:
        raise client_error(f"{what} {one.arn} is being deleted")


def _within(member: str, value: float, bounds: tuple[float, float]) -> None:
    least, most = bounds
    if not least <= value <= most:
        raise client_error(f"{member} must be between {least} and {most}, not {value}")


def _check_apart(identifiers: Sequence[str]) -> None:
    for one, other in combinations(identifiers, 2):
        for prefix, name in ((one, other), (other, one)):
            covers = prefix.endswith("*") and name.startswith(prefix[:-1])
            if covers or one == other:
                raise client_error(f"Share identifiers {one} and {other} overlap")
