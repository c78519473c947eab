"""Service quotas: how many instances an account may use at once.

AWS checks every entry of a preference list at its own count, before it looks at capacity, and one short entry rejects
the request (train-instance-preferences).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_sm_prefer.sandbox.api_errors import limit_exceeded
from airflow_sm_prefer.sandbox.demand import Candidate, CapacityKind, Demand
from airflow_sm_prefer.sandbox.kinds import JobKind

UNLIMITED = 1_000_000
"""The quota that a scenario doesn't name."""

DEFAULT_VOLUME_GB = 1024
"""AWS's default for the size of a job's EBS volume."""


@dataclass(frozen=True, slots=True)
class Use:
    """What a job counts against one quota."""

    quota: str
    count: int


def usage_quota(kind: JobKind, instance_type: str, *, spot: bool = False) -> str:
    """Return the name of the quota on one instance type, as Service Quotas shows it."""
    return f"{instance_type} for {'spot ' if spot else ''}{kind.value} job usage"


def warm_pool_quota(instance_type: str) -> str:
    """Return the name of the quota on the instances of one type that warm pools keep."""
    return f"{instance_type} for training warm pool usage"


def total_quota(kind: JobKind, *, spot: bool = False) -> str:
    """Return the name of the quota on an account's instances of all types; spot has one of its own."""
    return f"Number of instances across all {'spot ' if spot else ''}{kind.value} jobs"


def volume_quota(kind: JobKind) -> str:
    """Return the name of the quota on the size of an EBS volume."""
    return f"Size of EBS volume for a {kind.value} job instance"


def known_quota(name: str) -> bool:
    """Whether a quota of that name means anything here."""
    instance_type, _, rest = name.partition(" for ")
    per_type = {f"{spot}{kind} job usage" for kind in JobKind for spot in ("", "spot ")} | {"training warm pool usage"}
    accounts = {quota(kind) for kind in JobKind for quota in (total_quota, volume_quota)}
    accounts.add(total_quota(JobKind.TRAINING, spot=True))
    return (instance_type.startswith("ml.") and rest in per_type) or name in accounts


def uses(kind: JobKind, demand: Demand) -> tuple[Use, ...]:
    """Return what a job counts against quotas as long as it lives.

    A waiting list counts with each of its types, since it may get any: AWS doesn't say, and this is the least
    favourable reading.
    """
    spot = demand.is_spot
    each = [Use(usage_quota(kind, c.instance_type, spot=spot), c.count) for c in demand.candidates]
    return (*each, Use(total_quota(kind, spot=spot), max(c.count for c in demand.candidates)))


def selected_uses(kind: JobKind, candidate: Candidate) -> tuple[Use, ...]:
    """Return what a job counts once it has its type."""
    spot = candidate.kind is CapacityKind.SPOT
    own = Use(usage_quota(kind, candidate.instance_type, spot=spot), candidate.count)
    return (own, Use(total_quota(kind, spot=spot), candidate.count))


def pool_uses(candidate: Candidate) -> tuple[Use, ...]:
    """Return what a warm pool counts: its own quota first, and what its job did (train-warm-pools-resource-limits)."""
    own = Use(warm_pool_quota(candidate.instance_type), candidate.count)
    return (own, *selected_uses(JobKind.TRAINING, candidate))


def has_room(use: Use, used: Mapping[str, int], quotas: Mapping[str, int]) -> bool:
    """Whether one more use is within its quota."""
    return used.get(use.quota, 0) + use.count <= quotas.get(use.quota, UNLIMITED)


def check(wanted: Iterable[Use], used: Mapping[str, int], quotas: Mapping[str, int]) -> None:
    """Let a job through, or refuse it.

    Raises:
        ApiError: ``ResourceLimitExceeded``, naming the first quota that is short.
    """
    for use in wanted:
        if not has_room(use, used, quotas):
            raise limit_exceeded(_limit_text(use, quotas[use.quota], used.get(use.quota, 0)))


def check_volume(kind: JobKind, gigabytes: int, quotas: Mapping[str, int]) -> None:
    """Let an EBS volume through, or refuse it.

    Raises:
        ApiError: ``ResourceLimitExceeded``.
    """
    name = volume_quota(kind)
    limit = quotas.get(name, DEFAULT_VOLUME_GB)
    if gigabytes > limit:
        raise limit_exceeded(
            f"The account-level service limit '{name}' is {limit} GBs, with current utilization of 0 GBs and a "
            f"request delta of {gigabytes} GBs. Please contact AWS support to request an increase for this limit."
        )


def _limit_text(use: Use, limit: int, utilization: int) -> str:
    return (
        f"The account-level service limit '{use.quota}' is {limit} Instances, with current utilization of "
        f"{utilization} Instances and a request delta of {use.count} Instances. Please contact AWS support to "
        "request an increase for this limit."
    )
