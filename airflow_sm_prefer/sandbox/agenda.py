"""What is due, and when."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterable

from airflow_sm_prefer.sandbox.job import Job


class Agenda:
    """When somebody has to look again, in elapsed seconds: at one job, or (None) at capacity as a whole."""

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, Job | None]] = []
        self._order = itertools.count()
        self._noted: set[tuple[float, int | None]] = set()

    def add(self, when: float | None, job: Job | None = None) -> None:
        """Note a time; None is never, and is not noted, and nothing is noted twice."""
        if when is None or not math.isfinite(when):
            return
        key = (when, None if job is None else job.number)
        if key not in self._noted:
            self._noted.add(key)
            heapq.heappush(self._entries, (when, next(self._order), job))

    def add_all(self, instants: Iterable[float]) -> None:
        """Note instants at which capacity as a whole is to be looked at."""
        for instant in instants:
            self.add(instant)

    def next(self) -> float:
        """Return the next time, infinity if there is none."""
        return self._entries[0][0] if self._entries else math.inf

    def pop_due(self, elapsed: float) -> list[Job | None]:
        """Return, once, what has become due."""
        due = []
        while self._entries and self._entries[0][0] <= elapsed:
            when, _, job = heapq.heappop(self._entries)
            self._noted.discard((when, None if job is None else job.number))
            due.append(job)
        return due
