"""The sandbox's two counts of time, and how one goes by the other.

The clock gives instants: what clients are shown. Durations are counted in the scenario's own seconds, "elapsed" since
the sandbox began: limits, graces, capacity over time. A :class:`Pace` says how fast those pass; it can change, and
leap ahead, and no duration that is counted in elapsed seconds has to know.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.errors import InvalidSetting

FASTEST = 1_000_000
"""The highest speed: beyond it, a clock's instants are too coarse to tell the scenario's seconds apart."""


@dataclass(frozen=True, slots=True)
class Moment:
    """One point in time, on both counts.

    Attributes:
        instant: By the clock, in epoch seconds.
        elapsed: The scenario's seconds since the sandbox began.
    """

    instant: float
    elapsed: float

    def not_before(self, other: Moment) -> Moment:
        """Return this moment, on neither count before another."""
        return Moment(max(self.instant, other.instant), max(self.elapsed, other.elapsed))


@dataclass(frozen=True, slots=True)
class Pace:
    """How the scenario's seconds pass since the last change: plain values, to be kept and taken up again.

    >>> Pace(instant=1000.0, elapsed=600.0, speed=60.0).elapsed_at(1002.0)
    720.0

    Attributes:
        instant: When this pace began, in epoch seconds.
        elapsed: The scenario's seconds that had passed then.
        speed: How many of them pass in one second of the clock.
    """

    instant: float
    elapsed: float
    speed: float

    def elapsed_at(self, instant: float) -> float:
        """Return the scenario's seconds that have passed at an instant; before this pace began, by this pace too."""
        return self.elapsed + (instant - self.instant) * self.speed

    def instant_of(self, elapsed: float) -> float:
        """Return when so many seconds of the scenario have passed: at that very instant, none is missing."""
        instant = self.instant + (elapsed - self.elapsed) / self.speed
        while self.elapsed_at(instant) < elapsed:  # a clock's seconds are coarser than the scenario's
            instant = math.nextafter(instant, math.inf)
        return instant

    def reached(self, elapsed: float) -> Moment:
        """Return the moment at which so many seconds had passed; what was leapt over is reached by the leap."""
        return Moment(max(self.instant, self.instant_of(elapsed)), elapsed)

    def at_speed(self, speed: float, now: Moment) -> Pace:
        """Return the pace of another speed from a moment on.

        Raises:
            InvalidSetting: the speed isn't above 0, or is too high.
        """
        return Pace(now.instant, now.elapsed, checked_speed(speed))

    def not_behind(self, elapsed: float, now: Moment) -> Pace:
        """Return this pace, or one that goes on from so many elapsed seconds if the clock has gone back behind them."""
        return self if now.elapsed >= elapsed else Pace(now.instant, elapsed, self.speed)

    def leaping(self, seconds: float, now: Moment) -> Pace:
        """Return the pace of the same speed, so many of the scenario's seconds ahead from a moment on."""
        return Pace(now.instant, now.elapsed + seconds, self.speed)


class Timekeeper:
    """Tells the moment by a clock and the present pace.

    Args:
        clock: The clock.
        speed: How many of the scenario's seconds pass in one of the clock's, at first.

    Attributes:
        clock: The clock.
        pace: The present pace; whoever replaces it holds the engine's lock.

    Raises:
        InvalidSetting: the speed isn't above 0, or is too high.
    """

    def __init__(self, clock: Clock, speed: float = 1.0) -> None:
        self.clock = clock
        self.pace = Pace(clock.time(), 0.0, checked_speed(speed))

    def now(self) -> Moment:
        """Return the present moment."""
        instant = self.clock.time()
        return Moment(instant, self.pace.elapsed_at(instant))


def checked_speed(speed: float) -> float:
    """Return a speed that time can pass at.

    Raises:
        InvalidSetting: it isn't above 0, or is too high.
    """
    if not 0 < speed <= FASTEST:
        rule = f"it says how many seconds pass in one, so it has to be above 0, and {FASTEST:,} at most"
        msg = f"speed is {speed:g}; {rule}"
        raise InvalidSetting(msg)
    return speed
