"""The places of service jobs among those who are next in their queue."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.triggers.calling import Jobs
from airflow_sm_prefer.triggers.waits import Place, Wait

#: The statuses of a service job that has a place in its queue, or soon has: it goes to and fro between them for as long
#: as there is no capacity, and its task's log tells the first of each only.
_IN_LINE = ("RUNNABLE", "SCHEDULED")

#: Real seconds between two looks at the front of the queue: one call, for all its jobs.
_LOOK_EVERY = 600.0

#: The same while there is somebody who hasn't been told any place.
_LOOK_SOON = 60.0

#: Real seconds after which somebody new in line is noticed at the latest.
_ASK_EVERY = 5.0


class Places:
    """When the front of a queue is looked at, and who hears of it. Batch shows the first hundred."""

    def __init__(self) -> None:
        self._looked = -math.inf
        self._told: dict[str, int | None] = {}
        self._ask_at = -math.inf

    def due(self, waits: Iterable[Wait], now: float) -> float:
        """Return when to look next, or to ask again for that. Asked often, and goes through all now and then."""
        if now >= self._ask_at:
            due = self._due(waits)
            if due <= now:
                return now
            self._ask_at = min(due, now + _ASK_EVERY)
        return self._ask_at

    def _due(self, waits: Iterable[Wait]) -> float:
        in_line = [wait.handle for wait in waits if _is_in_line(wait)]
        if not in_line:
            return math.inf
        is_new = any(handle not in self._told for handle in in_line)
        return self._looked + (_LOOK_SOON if is_new else _LOOK_EVERY)

    def looked(self, places: Mapping[str, int], waits: Iterable[Wait], now: float) -> None:
        """Tell those who are in line their places, by their ARNs; only what has changed."""
        self._looked, self._ask_at = now, now + _LOOK_SOON
        told = {}
        for wait in waits:
            if _is_in_line(wait):
                place = told[wait.handle] = places.get(wait.handle)
                if place is not None and place != self._told.get(wait.handle):
                    wait.put(Place(place))
        self._told = told


def _is_in_line(wait: Wait) -> bool:
    return any(status in wait.status for status in _IN_LINE)


def places_in(jobs: Jobs, queue: str) -> dict[str, int]:
    """Return the places of the jobs at the front of a queue, by their ARNs. Blocks."""
    return jobs.places(queue) if isinstance(jobs, RoutedJobs) else {}
