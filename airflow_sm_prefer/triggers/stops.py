"""Stops that wait for AWS to take them: one after the other, since AWS takes one a second."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from airflow_sm_prefer.placement.events import Stop

#: The first pause before a stop that wasn't taken is sent again, and the longest, in real seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 2.0, 60.0

#: Sends a stop; returns what has kept AWS from taking it, in words, or None.
Send = Callable[[Stop], Awaitable[str | None]]


class Stops:
    """The stops of one watcher, until AWS has taken each. One that nobody wants any more isn't sent again."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._unsent: dict[str, tuple[Stop, Any]] = {}
        self._sending: asyncio.Task[None] | None = None

    def add(self, stop: Stop, log: Any) -> None:
        """Have a stop sent; what keeps AWS from taking it is told to the task's log."""
        self._unsent[stop.handle] = (stop, log)
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._send_all())

    def drop(self, handle: str) -> None:
        """Send a job's stop no more."""
        self._unsent.pop(handle, None)

    async def _send_all(self) -> None:
        pause = _FIRST_PAUSE
        while self._unsent:
            refused = False
            for handle, (stop, log) in list(self._unsent.items()):
                if handle in self._unsent:
                    refused = not await self._is_taken(stop, log) or refused
            if refused:
                await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2.0) if refused else _FIRST_PAUSE

    async def _is_taken(self, stop: Stop, log: Any) -> bool:
        why = await self._send(stop)
        if why is None:
            if self._unsent.get(stop.handle, (None,))[0] is stop:
                del self._unsent[stop.handle]
            return True
        log.warning("%s could not be stopped yet: %s", stop.handle, why)
        return False
