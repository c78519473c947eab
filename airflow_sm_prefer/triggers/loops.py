"""Loops that run as long as somebody wants them to, whatever happens in them."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

log = logging.getLogger(__name__)

#: Real seconds before a loop that had an error goes on.
_PAUSE = 5.0

Loop = Callable[[], Awaitable[None]]


async def set_or(event: asyncio.Event, seconds: float) -> None:
    """Wait until an event is set, and so many real seconds at most."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


class Loops:
    """Some loops in the running event loop, each of which returns when it isn't wanted any more.

    Args:
        name: What they are there for, for the log.
        loops: The loops.
        are_wanted: Whether they are to run.
        after_error: Called when one has raised.
    """

    def __init__(
        self, name: str, loops: tuple[Loop, ...], are_wanted: Callable[[], bool], after_error: Callable[[], None]
    ) -> None:
        self._name, self._loops, self._are_wanted, self._after_error = name, loops, are_wanted, after_error
        self._tasks: dict[Loop, asyncio.Task[None]] = {}
        self._stirred = asyncio.Event()

    def keep_up(self) -> None:
        """See that all run, as they may have ended."""
        for loop in self._loops:
            task = self._tasks.get(loop)
            if self._are_wanted() and (task is None or task.done()):
                # What is logged here belongs to no task's log.
                kept_up = asyncio.get_running_loop().create_task(self._kept_up(loop), context=contextvars.Context())
                kept_up.add_done_callback(self._ended)
                self._tasks[loop] = kept_up

    def stir(self) -> None:
        """Have those that rest look whether there is something to do."""
        self._stirred.set()

    async def rest(self, seconds: float) -> None:
        """Wait until somebody stirs them, and so many real seconds at most."""
        self._stirred.clear()
        await set_or(self._stirred, seconds)

    def close(self) -> None:
        """End them."""
        for task in self._tasks.values():
            task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._are_wanted() and not task.get_loop().is_closed():
            task.get_loop().call_soon(self.keep_up)

    async def _kept_up(self, loop: Loop) -> None:
        while self._are_wanted():
            try:
                await loop()
            except Exception:
                log.exception("%s had an error, and goes on", self._name)
                self._after_error()
                await asyncio.sleep(_PAUSE)
