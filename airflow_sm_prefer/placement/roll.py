"""Who is waited for, in the order in which AWS created them: what a listing has to be asked about."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from dataclasses import dataclass

#: How far from what we believe a job may have been created, by AWS's clock, in seconds: our clock may be wrong.
SLACK = 300.0

#: How long a job may be there at most, in seconds: 28 days to wait, 28 to run, and some.
_LONGEST_LIFE = 60 * 86400.0

#: What has changed about a row if it isn't the same: its status, its secondary status, why it waits, and when it was
#: modified.
Shown = tuple[str, str | None, str, float | None]


@dataclass(eq=False, slots=True)
class Watched:
    """One job that is waited for.

    Attributes:
        handle: What AWS calls it by.
        since: Since when it is waited for, by our clock.
        earliest: The first instant at which it may have been created.
        latest: The last; equal to the first once a row or a Describe has said it.
        shown: What the last row of it said; None before the first.
    """

    handle: str
    since: float
    earliest: float
    latest: float
    shown: Shown | None = None

    @property
    def is_placed(self) -> bool:
        """Whether it is known when it was created."""
        return self.earliest == self.latest


Wanted = Callable[[Watched], bool]


class Roll:
    """The jobs that are waited for, newest first."""

    def __init__(self) -> None:
        self._by_handle: dict[str, Watched] = {}
        self._order: list[tuple[float, str]] = []
        self._anywhere: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_handle)

    def __iter__(self) -> Iterator[Watched]:
        return iter(self._by_handle.values())

    def get(self, handle: str) -> Watched | None:
        """Return a job that is waited for; None if it isn't."""
        return self._by_handle.get(handle)

    def add(self, handle: str, about: float, now: float) -> Watched:
        """Begin to wait for a job.

        Args:
            handle: What AWS calls it by.
            about: When it was created, more or less, by our clock.
            now: The instant.
        """
        watched = self._by_handle[handle] = Watched(handle, now, about - SLACK, about + SLACK)
        insort(self._order, (watched.latest, handle))
        return watched

    def place(self, watched: Watched, created: float) -> None:
        """Say when a job was created, by AWS's clock."""
        if watched.earliest == watched.latest == created:
            return
        self._drop(watched)
        watched.earliest = watched.latest = created
        insort(self._order, (created, watched.handle))

    def is_anywhere(self, watched: Watched) -> bool:
        """Whether nothing is known of when a job was created."""
        return watched.handle in self._anywhere

    def place_anywhere(self, watched: Watched) -> None:
        """Say that a job wasn't created when we believed it was."""
        self._drop(watched)
        watched.earliest, watched.latest = watched.since - _LONGEST_LIFE, math.inf
        insort(self._order, (watched.latest, watched.handle))
        self._anywhere.add(watched.handle)

    def remove(self, handle: str) -> None:
        """Wait for a job no more."""
        watched = self._by_handle.pop(handle, None)
        if watched is not None:
            self._drop(watched)

    def newest(self, wanted: Wanted, until: float = math.inf) -> Watched | None:
        """Return the newest job that is wanted and may have been created by an instant; None if there is none."""
        anywhere = filter(wanted, map(self._by_handle.__getitem__, self._anywhere))
        if (found := next(anywhere, None)) is not None:
            return found
        # What is ordered by its latest instant may begin earlier by twice the slack.
        for n in range(bisect_right(self._order, (until + 2 * SLACK, "\uffff")) - 1, -1, -1):
            watched = self._by_handle[self._order[n][1]]
            if watched.earliest <= until and wanted(watched):
                return watched
        return None

    def between(self, after: float, until: float, wanted: Wanted) -> list[Watched]:
        """Return the jobs that are wanted and were surely created after an instant, and by another."""
        begin, end = bisect_left(self._order, (after, "")), bisect_right(self._order, (until, "\uffff"))
        found = (self._by_handle[handle] for _, handle in self._order[begin:end])
        return [watched for watched in found if watched.earliest > after and wanted(watched)]

    def oldest(self) -> float:
        """Return the first instant at which any of them may have been created."""
        reach = self._order[0][0] if self._order else 0.0
        first = self._order[: bisect_right(self._order, (reach + 2 * SLACK, "\uffff"))]
        handles = [handle for _, handle in first] + list(self._anywhere)
        return min((self._by_handle[handle].earliest for handle in handles), default=0.0)

    def _drop(self, watched: Watched) -> None:
        del self._order[bisect_left(self._order, (watched.latest, watched.handle))]
        self._anywhere.discard(watched.handle)
