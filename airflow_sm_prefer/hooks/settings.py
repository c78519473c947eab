"""The ``[sm_prefer]`` section of Airflow's configuration."""

from __future__ import annotations

import math
import re
import socket
from collections.abc import Mapping

from airflow.providers.common.compat.sdk import conf

from airflow_sm_prefer.aws.pacing import DEFAULT_RATES, DEFAULT_WATCH_RATE, WATCH
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.priority import DEFAULT_PRIORITIES, parse_priorities

SECTION = "sm_prefer"

#: Calls a second to CloudWatch Logs by all triggerers together: a fifth of what it takes of FilterLogEvents.
DEFAULT_LOG_RATE = 0.4

#: What an Airflow without any name of its own is called.
_NAMELESS = "airflow"

#: What an SQS queue may be called
#: (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_CreateQueue.html), or its URL.
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,80}|https?://[^\s/]+/\S+")


def deployment() -> str:
    """Return the name of this Airflow: ``[sm_prefer] deployment``, else what ``[api] base_url`` says of it."""
    return deployment_setting() or _derived(conf.get("api", "base_url", fallback=None) or "")


def deployment_setting() -> str | None:
    """Return ``[sm_prefer] deployment``, or None where nobody has named this Airflow."""
    name = conf.get(SECTION, "deployment", fallback=None)
    return name.strip() or None if name else None


def clock_speed(*, loopback: bool) -> float:
    """Return ``[sm_prefer] clock_speed``: how many times faster than real time the sandbox runs.

    Args:
        loopback: Whether AWS's place is taken by an endpoint on this machine.

    Raises:
        InvalidSetting: it isn't a positive number, or it isn't 1 and the endpoint isn't on this machine.
    """
    speed = _positive("clock_speed", 1.0)
    if speed != 1.0 and not loopback:
        msg = (
            f"[{SECTION}] clock_speed is {speed:g}, and the endpoint isn't on this machine.\n"
            "Real AWS runs at speed 1: unset clock_speed, or point the connection at the sandbox."
        )
        raise InvalidSetting(msg)
    return speed


def rates() -> Mapping[str, float]:
    """Return the calls a second that this process may make, by verb.

    Raises:
        InvalidSetting: one of them isn't a positive number.
    """
    return {verb: _positive(f"{verb}_rate", rate) for verb, rate in DEFAULT_RATES.items()}


def watching_rates() -> Mapping[str, float]:
    """Return this process's share of the calls a second with which triggerers may watch jobs, by verb.

    Raises:
        InvalidSetting: one of them, or the number of triggerers, isn't a number above 0.
    """
    together = {**rates(), WATCH: _positive("watch_rate", DEFAULT_WATCH_RATE)}
    return {verb: rate / triggerers() for verb, rate in together.items()}


def triggerers() -> int:
    """Return ``[sm_prefer] triggerers``: how many share what the account allows in the Region.

    Raises:
        InvalidSetting: it isn't a whole number above 0.
    """
    number = _positive("triggerers", 1.0)
    if number != int(number):
        msg = f"[{SECTION}] triggerers is {number:g}, and must be a whole number above 0"
        raise InvalidSetting(msg)
    return int(number)


def log_rate() -> float:
    """Return this process's share of ``[sm_prefer] log_rate``: calls a second to read the logs of running jobs.

    Raises:
        InvalidSetting: that, or the number of triggerers, isn't a number above 0.
    """
    return _positive("log_rate", DEFAULT_LOG_RATE) / triggerers()


def priorities() -> Mapping[str, int]:
    """Return ``[sm_prefer] priorities``: the names that stand for scheduling priorities, with their numbers.

    Raises:
        InvalidSetting: it isn't names with numbers from 0 to 9999.
    """
    written = conf.get(SECTION, "priorities", fallback=None)
    return parse_priorities(written, f"[{SECTION}] priorities") if written else DEFAULT_PRIORITIES


def events_queue() -> str | None:
    """Return ``[sm_prefer] events_queue``: the name or URL of this machine's queue of events; None without one.

    ``{hostname}`` in it becomes the name of this machine, with ``-`` for what a queue's name can't have.

    Raises:
        InvalidSetting: it is neither a name that a queue can have nor a URL.
    """
    written = (conf.get(SECTION, "events_queue", fallback=None) or "").strip()
    queue = written.replace("{hostname}", re.sub(r"[^A-Za-z0-9_-]", "-", socket.gethostname()))
    if queue and not _QUEUE.fullmatch(queue):
        msg = (
            f"[{SECTION}] events_queue is {queue!r}, and must be the name of an SQS queue (letters, digits, - and _,"
            " 80 at most) or its URL"
        )
        raise InvalidSetting(msg)
    return queue or None


def _positive(option: str, default: float) -> float:
    written = conf.get(SECTION, option, fallback=None)
    try:
        value = float(written) if written not in {None, ""} else default
    except ValueError:
        value = math.nan
    if not (value > 0 and math.isfinite(value)):
        msg = f"[{SECTION}] {option} is {written!r}, and must be a number above 0"
        raise InvalidSetting(msg)
    return value


def _derived(base_url: str) -> str:
    _, _, address = base_url.rpartition("://")
    return address.strip("/ ").lower() or _NAMELESS
