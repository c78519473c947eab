"""Time, as something that is handed in.

Nothing in this package reads the wall clock by itself: whoever decides anything about time is given a
:class:`Clock`. Tests (yours too) hand in a :class:`FakeClock` and never wait.
"""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime
from typing import Protocol, runtime_checkable


@runtime_checkable
class Clock(Protocol):
    """Where the time comes from, and how to wait for it."""

    def time(self) -> float:
        """Return the seconds since 1970-01-01 UTC, as AWS and Airflow count them."""

    def sleep(self, seconds: float) -> None:
        """Block the calling thread for that long; zero and less return at once."""


class SystemClock:
    """The machine's own clock."""

    def time(self) -> float:
        """Return the machine's idea of the seconds since 1970-01-01 UTC."""
        return time.time()

    def sleep(self, seconds: float) -> None:
        """Block the calling thread."""
        if seconds > 0:
            time.sleep(seconds)


class FakeClock:
    """A clock that stands still until it is told to move; sleeping moves it. Safe to share by threads.

    >>> clock = FakeClock(start=100.0)
    >>> clock.sleep(5)
    >>> clock.time()
    105.0
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now = start
        self._lock = threading.Lock()

    def time(self) -> float:
        """Return the instant that the clock was last moved to."""
        with self._lock:
            return self._now

    def sleep(self, seconds: float) -> None:
        """Move the clock on and return at once."""
        self.advance(max(0.0, seconds))

    def advance(self, seconds: float) -> None:
        """Move the clock on by that many seconds.

        Raises:
            ValueError: time would run backwards.
        """
        if seconds < 0:
            msg = f"a clock can't go back, and {seconds} seconds would be back"
            raise ValueError(msg)
        with self._lock:
            self._now += seconds


def utc(timestamp: float) -> datetime:
    """Return seconds since 1970-01-01 as an aware datetime in UTC."""
    return datetime.fromtimestamp(timestamp, tz=UTC)
