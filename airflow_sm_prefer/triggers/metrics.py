"""What this package tells of itself, through Airflow's own metrics: StatsD, Datadog or OpenTelemetry.

Each function tells one metric, and none of them ever fails: a metric is worth having and never worth a task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

try:
    from airflow.sdk.observability import stats
except ImportError:  # Airflow 3.1
    from airflow.stats import Stats as stats  # type: ignore[no-redef]  # noqa: N813

log = logging.getLogger(__name__)


def waiting(kind: str, count: int) -> None:
    """Tell how many jobs of a kind, ``training`` or ``processing``, this triggerer waits for."""
    _tell(stats.gauge, "sm_prefer.jobs_waiting", count, kind=kind)


def lag(seconds: float) -> None:
    """Tell how old the oldest look at a job is that this triggerer waits for."""
    _tell(stats.gauge, "sm_prefer.watch_lag", seconds)


def woke(seconds: float) -> None:
    """Tell how long after a job's end, as AWS shows it, its task was woken."""
    _tell(stats.timing, "sm_prefer.wake_latency", seconds * 1000)


def pending(instance_type: str, seconds: float) -> None:
    """Tell how long a job waited until it had capacity, by the type that was selected."""
    _tell(stats.timing, "sm_prefer.pending", seconds * 1000, instance_type=instance_type)


def called(operation: str) -> None:
    """Count a call to AWS, by its operation; each attempt that the SDK makes is one."""
    _tell(stats.incr, "sm_prefer.aws_calls", operation=operation)


def throttled(operation: str) -> None:
    """Count a call that AWS refused for being too many."""
    _tell(stats.incr, "sm_prefer.aws_throttles", operation=operation)


def _tell(how: Callable[..., Any], name: str, *value: float, **tags: str) -> None:
    try:
        how(name, *value, tags=tags)
    except Exception as error:
        log.debug("%s is not told: %s", name, error)
