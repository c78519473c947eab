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


def runtime_quota(kind: JobKind) -> str:
    """Return the name of the quota on MaxRuntimeInSeconds."""
    return f"Longest run time for a {kind.value} job"


def size_quota(*, spot: bool = False) -> str:
    """Return the name of the quota on the instances of one training job."""
    return f"Maximum number of instances per {'spot ' if spot else ''}training job"


JOB_LIMITS: Mapping[str, tuple[int, str]] = {
    **{volume_quota(kind): (1024, "GBs") for kind in JobKind},
    **{runtime_quota(kind): (432_000, "Seconds") for kind in JobKind},
    **{size_quota(spot=spot): (20, "Instances") for spot in (False, True)},
}
"""The quotas on one job by itself: AWS's defaults and the units of its texts.

Source: https://docs.aws.amazon.com/general/latest/gr/sagemaker.html
"""


def known_quota(name: str) -> bool:
    """Whether a quota of that name means anything here."""
    instance_type, _, rest = name.partition(" for ")
    per_type = {f"{spot}{kind} job usage" for kind in JobKind for spot in ("", "spot ")} | {"training warm pool usage"}
    of_type = instance_type.startswith("ml.") and rest in per_type
    totals = {*map(total_quota, JobKind), total_quota(JobKind.TRAINING, spot=True)}
    return of_type or name in JOB_LIMITS or name in totals


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


def check_limit(name: str, asked: int, quotas: Mapping[str, int]) -> None:
    """Let a job through that is no bigger than one job may be, or refuse it.

    The text is AWS's for a volume: https://github.com/aws/sagemaker-python-sdk/issues/4939.

    Args:
        name: One of :data:`JOB_LIMITS`.
        asked: How much the job asks for.
        quotas: What the account has instead of the defaults.

    Raises:
        ApiError: ``ResourceLimitExceeded``.
    """
    default, unit = JOB_LIMITS[name]
    limit = quotas.get(name, default)
    if asked > limit:
        raise limit_exceeded(
            f"The request delta of {asked} {unit} for '{name}' is greater than the account-level service-limit of "
            f"{limit} {unit}. Please use AWS Service Quotas to request an increase for this quota. If AWS Service "
            "Quotas is not available, contact AWS support to request an increase for this quota."
        )


def _limit_text(use: Use, limit: int, utilization: int) -> str:
    return (
        f"The account-level service limit '{use.quota}' is {limit} Instances, with current utilization of "
        f"{utilization} Instances and a request delta of {use.count} Instances. Please contact AWS support to "
        "request an increase for this limit."
    )
