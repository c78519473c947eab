"""Who is to be looked at by a Describe of its own, and when: each is a call, so what matters most comes first."""

from __future__ import annotations

import heapq
import math
from enum import IntEnum
from itertools import count


class Urgency(IntEnum):
    """Why a job is to be described, the most urgent first."""

    DUE = 0
    """Something about it falls due, and nothing is done about a job without a look at it."""

    MISSING = 1
    """A listing should show it and doesn't, or can't be asked about it."""

    HINTED = 2
    """Something has hinted that it is over, as anybody may who can send to a queue."""

    CHANGED = 3
    """A listing shows that something about it has changed, and not what."""

    STALE = 4
    """It hasn't been described for long."""


#: The first pause after a Describe that failed, and the longest, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 5.0, 60.0


#: So many instants that are of no use any more are kept at least.
_ROOM = 64


class Describing:
    """The jobs that are to be described; instants are in seconds.

    A job has two places: when it is due, which is known beforehand, and what it is to be looked at for now.
    """

    def __init__(self) -> None:
        self._number = count()
        self._wanted: dict[str, tuple[Urgency, float]] = {}
        self._due: dict[tuple[str, Urgency], float] = {}
        self._ready: list[tuple[Urgency, int, str]] = []
        self._later: list[tuple[float, int, str, Urgency]] = []
        self._failures: dict[str, int] = {}
        self._not_before: dict[str, float] = {}

    def want(self, handle: str, urgency: Urgency, now: float) -> None:
        """Have a job described as soon as may be; one that is wanted more urgently stays where it is."""
        wanted = self._wanted.get(handle)
        if wanted is None or urgency < wanted[0]:
            self._wanted[handle] = (urgency, now)
            if self._not_before.get(handle, now) <= now:
                heapq.heappush(self._ready, (urgency, next(self._number), handle))

    def want_at(self, handle: str, instant: float, urgency: Urgency = Urgency.DUE) -> None:
        """Have a job described at an instant, in place of the one that was said before with the same urgency."""
        self._due[handle, urgency] = instant
        self._put_off(instant, handle, urgency)

    def forget(self, handle: str) -> None:
        """Describe a job no more."""
        self.described(handle)
        for urgency in Urgency:
            self._due.pop((handle, urgency), None)

    def described(self, handle: str) -> None:
        """Say that a job was described."""
        for places in (self._wanted, self._failures, self._not_before):
            places.pop(handle, None)

    def failed(self, handle: str, now: float) -> None:
        """Say that a Describe failed: the job is tried again after a while, longer each time, if it is still wanted."""
        if handle not in self._wanted:
            return
        failures = self._failures[handle] = self._failures.get(handle, 0) + 1
        pause = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(failures - 1, 10))
        self._not_before[handle] = now + pause
        self._put_off(now + pause, handle, self._wanted[handle][0])

    def due(self, now: float) -> float:
        """Return when the next is to be described; infinite where none is."""
        self._ripen(now)
        return now if self._first() else (self._later[0][0] if self._later else math.inf)

    def next(self, now: float) -> tuple[str, Urgency] | None:
        """Return who is to be described now, and why; it stays there until it is said to be described or failed."""
        self._ripen(now)
        first = self._first()
        return (first[2], first[0]) if first else None

    def backlog(self, urgency: Urgency) -> int:
        """Return how many are wanted as urgently, or more."""
        return sum(wanted[0] <= urgency for wanted in self._wanted.values())

    def _first(self) -> tuple[Urgency, int, str] | None:
        while self._ready:
            urgency, _, handle = self._ready[0]
            wanted = self._wanted.get(handle)
            if wanted and wanted[0] is urgency and handle not in self._not_before:
                return self._ready[0]
            heapq.heappop(self._ready)
        return None

    def _put_off(self, instant: float, handle: str, urgency: Urgency) -> None:
        heapq.heappush(self._later, (instant, next(self._number), handle, urgency))
        if len(self._later) > _ROOM + 2 * (len(self._due) + len(self._not_before)):
            # Most are of jobs that are over, and of instants that others have taken the place of.
            self._later = [later for later in self._later if self._is_awaited(*later)]
            heapq.heapify(self._later)

    def _is_awaited(self, instant: float, _: int, handle: str, urgency: Urgency) -> bool:
        return instant in (self._due.get((handle, urgency)), self._not_before.get(handle))

    def _ripen(self, now: float) -> None:
        """Take up those whose instant has come."""
        while self._later and self._later[0][0] <= now:
            instant, _, handle, urgency = heapq.heappop(self._later)
            if self._not_before.get(handle, math.inf) <= now:
                del self._not_before[handle]
                heapq.heappush(self._ready, (self._wanted[handle][0], next(self._number), handle))
            if self._due.get((handle, urgency)) == instant:
                del self._due[handle, urgency]
                self.want(handle, urgency, now)
