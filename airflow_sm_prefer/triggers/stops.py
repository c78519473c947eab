"""Stops that wait for AWS to take them: one after the other, since AWS takes one a second."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.placement.events import Stop
from airflow_sm_prefer.triggers.loops import set_or

#: The first pause before a stop that wasn't taken is sent again, and the longest, in real seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0

#: Sends a stop; returns what has kept AWS from taking it, in words, or None.
Send = Callable[[Stop], Awaitable[str | None]]


@dataclass(slots=True)
class _Unsent:
    """A stop that AWS hasn't taken."""

    stop: Stop
    log: Any
    due: float
    pause: float = _FIRST_PAUSE
    #: Airflow knows by the context whose log a line belongs to.
    context: contextvars.Context = field(default_factory=contextvars.copy_context)


class Stops:
    """The stops of one watcher, until AWS has taken each. One that nobody wants any more isn't sent again.

    Args:
        send: Sends one.
        clock: The time.
    """

    def __init__(self, send: Send, clock: Clock) -> None:
        self._send, self._clock = send, clock
        self._unsent: dict[str, _Unsent] = {}
        self._news = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None

    def add(self, stop: Stop, log: Any) -> None:
        """Have a stop sent; what keeps AWS from taking it is told to the task's log."""
        self._unsent[stop.handle] = _Unsent(stop, log, self._clock.time())
        self._news.set()
        if self._sending is None or self._sending.done():
            sending = asyncio.get_running_loop().create_task(self._send_all(), context=contextvars.Context())
            self._sending = sending

    def drop(self, handle: str) -> None:
        """Send a job's stop no more."""
        self._unsent.pop(handle, None)

    def close(self) -> None:
        """Send nothing more."""
        self._unsent.clear()
        if self._sending is not None:
            self._sending.cancel()

    async def _send_all(self) -> None:
        while self._unsent:
            self._news.clear()
            first = min(self._unsent.values(), key=lambda unsent: unsent.due)
            wait = first.due - self._clock.time()
            if wait <= 0:
                await self._try(first)
                continue
            await set_or(self._news, wait)

    async def _try(self, unsent: _Unsent) -> None:
        handle, why = unsent.stop.handle, await self._send(unsent.stop)
        if why is None:
            if self._unsent.get(handle) is unsent:
                del self._unsent[handle]
            return
        unsent.due, unsent.pause = self._clock.time() + unsent.pause, min(_LONGEST_PAUSE, unsent.pause * 2.0)
        if handle in self._unsent:
            unsent.context.run(unsent.log.warning, "%s could not be stopped yet: %s", handle, why)
