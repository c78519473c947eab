"""What a trigger and the watcher have between them: what the one waits for, and what the other has seen."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.events import Glimpsed, Seen, Unseen


@dataclass(frozen=True, slots=True)
class Over:
    """The job is over, as a listing shows it; what it ended as is for the worker to look up.

    Attributes:
        ended: When, by AWS's clock, if it says.
    """

    ended: float | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a service job among those who are next in its queue, from 1."""

    number: int


Heard = Seen | Unseen | Glimpsed | Over | Place


class Watching(Protocol):
    """Who looks at jobs for those who wait."""

    def set_due(self, wait: Wait) -> None:
        """Hear that a job is to be looked at at another instant."""

    def close(self, wait: Wait) -> None:
        """Hear that somebody waits no more."""


class Wait:
    """One trigger's wait for one job.

    Args:
        handle: What AWS calls the job by.
        created: When it was created, more or less; None where nobody knows.
        due: When it is to be looked at whatever happens.
        watcher: Who is told when that has changed, and when the trigger waits no more.
        every: How many real seconds may pass between two looks at least.
    """

    __slots__ = ("_heard", "_listener", "_watcher", "created", "due", "every", "handle", "is_worried", "status")

    def __init__(
        self, handle: str, created: float | None, due: float, watcher: Watching, every: float = math.inf
    ) -> None:
        self.handle, self.created, self.every = handle, created, every
        #: The status of the job that the task's log has told last.
        self.status = ""
        #: Whether it has heard that no job can be seen, and not yet that they can be again.
        self.is_worried = False
        #: When the job is to be looked at whatever happens.
        self.due = due
        self._watcher = watcher
        # Most wait for hours, thousands at a time: there is a list only while there is something to hear.
        self._heard: list[Heard] | None = None
        self._listener: asyncio.Future[None] | None = None

    def heard(self) -> Heard | None:
        """Return what has come next about the job; None if nothing has."""
        if self._heard is None:
            return None
        first, *rest = self._heard
        self._heard = rest or None
        return first

    def news(self) -> asyncio.Future[None]:
        """Return what is to be awaited for the next to come."""
        self._listener = asyncio.get_running_loop().create_future()
        return self._listener

    def put(self, heard: Heard) -> None:
        """Let the trigger hear something."""
        self._heard = [*(self._heard or ()), heard]
        if self._listener is not None and not self._listener.done():
            self._listener.set_result(None)

    def has_told(self, row: Listed) -> bool:
        """Whether the task's log says already what a row shows of the job."""
        return bool(self.status) and (row.secondary or "") in self.status and row.reason in self.status

    def goes_on(self, status: str, due: float) -> None:
        """Say what the task's log has told by now, and when something falls due though AWS says nothing new."""
        self.status, self.due = status, due
        self._watcher.set_due(self)

    def close(self) -> None:
        """Wait no more."""
        self._watcher.close(self)


#: How many triggers hear something before the loop is let go on.
_AT_ONCE = 20


class Waits:
    """All waits of one watcher, by the jobs' handles; more than one may wait for the same job."""

    def __init__(self) -> None:
        self._by_handle: dict[str, tuple[Wait, ...]] = {}
        self._every: Counter[float] = Counter()

    def __bool__(self) -> bool:
        return bool(self._by_handle)

    def __len__(self) -> int:
        return len(self._by_handle)

    def __contains__(self, handle: str) -> bool:
        return handle in self._by_handle

    def __iter__(self) -> Iterator[Wait]:
        return (wait for waits in self._by_handle.values() for wait in waits)

    @property
    def every(self) -> float:
        """How many real seconds may pass between two looks for those who want them most often; infinite for nobody."""
        return min(self._every, default=math.inf)

    def of(self, handle: str) -> Collection[Wait]:
        """Return who waits for a job."""
        return self._by_handle.get(handle, ())

    def handles(self) -> Collection[str]:
        """Return the jobs that are waited for."""
        return self._by_handle.keys()

    def add(self, wait: Wait) -> None:
        """Take in somebody who waits."""
        self._by_handle[wait.handle] = (*self._by_handle.get(wait.handle, ()), wait)
        self._every[wait.every] += 1

    def remove(self, wait: Wait) -> bool:
        """Let somebody go; returns whether nobody waits for the job any more who did before."""
        waits = self._by_handle.get(wait.handle, ())
        left = tuple(one for one in waits if one is not wait)
        if len(left) == len(waits):
            return False
        self._every -= Counter([wait.every])
        self._by_handle[wait.handle] = left
        if not left:
            del self._by_handle[wait.handle]
        return not left

    def put(self, handle: str, heard: Heard) -> None:
        """Let those hear something who wait for a job."""
        for wait in self._by_handle.get(handle, ()):
            wait.put(heard)

    async def wake(self, handles: Iterable[str]) -> None:
        """Let those hear that it is over who wait for one of some jobs."""
        await self._put_all([wait for handle in handles for wait in self.of(handle)], Over())

    async def worry(self, unseen: Unseen) -> None:
        """Let everybody hear that no job can be seen."""
        await self._put_all(list(self), unseen)

    async def reassure(self) -> None:
        """Let those who have heard that no job can be seen hear that they can.

        That says nothing about a job that can't be described while others are seen: such a one may be gone.
        """
        await self._put_all([wait for wait in self if wait.is_worried], Glimpsed())

    async def _put_all(self, waits: Iterable[Wait], heard: Heard) -> None:
        """Let many hear something, a few at a time, so that others have their turns in between."""
        for n, wait in enumerate(waits):
            wait.is_worried = isinstance(heard, Unseen)
            wait.put(heard)
            if n % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)
