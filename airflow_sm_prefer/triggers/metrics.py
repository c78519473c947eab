"""What this package tells of itself, through Airflow's own metrics: StatsD, Datadog or OpenTelemetry.

Each function tells one metric, and none of them ever fails: a metric is worth having and never worth a task. They take
microseconds, and may be called from any thread. Importing this module has the calls to AWS counted.

As Airflow's own, a metric with tags is told under two names, of which the second has the tags' values in it, for
backends that know no tags; ``[metrics] legacy_names_on`` turns those off.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Final

from airflow.providers.common.compat.sdk import conf
from airflow.utils.net import get_hostname

from airflow_sm_prefer.aws import attempts

try:
    from airflow.sdk.observability.stats import Stats
except ImportError:  # pragma: no cover - Airflow 3.1 has them elsewhere
    from airflow.stats import Stats

log = logging.getLogger(__name__)

_PREFIX: Final = "sm_prefer"


def waiting(kind: str, count: int) -> None:
    """Tell how many jobs of a kind, ``training`` or ``processing``, this triggerer waits for."""
    _tell("gauge", "jobs_waiting", count, kind=kind, hostname=_hostname())


def lag(seconds: float) -> None:
    """Tell how old the oldest look is at a job that this triggerer waits for: seconds since it."""
    _tell("gauge", "watch_lag", seconds, hostname=_hostname())


def woke(seconds: float) -> None:
    """Tell how long after a job's end, as AWS shows it, its task was woken; negative, by a clock that is off, is 0."""
    _tell("timing", "wake_latency", max(0.0, seconds) * 1000)


def pending(instance_type: str, seconds: float) -> None:
    """Tell how long a job waited until it had capacity, by the type that was selected."""
    _tell("timing", "pending", max(0.0, seconds) * 1000, instance_type=instance_type)


def called(operation: str) -> None:
    """Count a call to AWS by its operation, as AWS writes it; of a call that the SDK repeats, each attempt."""
    _tell("incr", "aws_calls", operation=operation)


def throttled(operation: str) -> None:
    """Count a call that AWS refused for being one too many."""
    _tell("incr", "aws_throttles", operation=operation)


def _tell(method: str, name: str, *value: float, **tags: str) -> None:
    try:
        how = getattr(Stats, method)
        how(f"{_PREFIX}.{name}", *value, tags=tags)
        if tags and _has_long_names():
            # A dot would begin another level of the name.
            parts = [part.replace(".", "__") for part in tags.values()]
            how(".".join([_PREFIX, name, *parts]), *value)
    except Exception as error:
        log.debug("%s is not told: %s", name, error)


@cache
def _has_long_names() -> bool:
    return bool(conf.getboolean("metrics", "legacy_names_on", fallback=True))


@cache
def _hostname() -> str:
    return str(get_hostname())  # type: ignore[no-untyped-call]


def _count(operation: str, is_throttled: bool) -> None:
    called(operation)
    if is_throttled:
        throttled(operation)


attempts.observe(_count)
