"""Lets triggers through a few at a time: ten thousand that begin in one second would hold up the loop for all."""

from __future__ import annotations

import asyncio
from collections import deque
from weakref import WeakKeyDictionary

#: How many go through at once, and the pause after them in real seconds.
_AT_ONCE = 20
_PAUSE = 0.002


class Turnstile:
    """Where triggers of one event loop wait for a while after they have begun, and then for those before them."""

    def __init__(self) -> None:
        self._line: deque[tuple[float, asyncio.Future[None]]] = deque()
        self._letting_through: asyncio.Task[None] | None = None

    def through(self, seconds: float) -> asyncio.Future[None]:
        """Return what is to be awaited: it comes after so many real seconds at least.

        Those seconds are the same for all, so that the line is in order.
        """
        loop = asyncio.get_running_loop()
        turn: asyncio.Future[None] = loop.create_future()
        self._line.append((loop.time() + seconds, turn))
        if self._letting_through is None:
            self._letting_through = loop.create_task(self._let_through())
        return turn

    async def _let_through(self) -> None:
        try:
            await self._let_all_through()
        finally:
            self._letting_through = None

    async def _let_all_through(self) -> None:
        while self._line:
            wait = self._line[0][0] - asyncio.get_running_loop().time()
            if wait > 0:
                await asyncio.sleep(wait)
            for _ in range(min(_AT_ONCE, len(self._line))):
                due, turn = self._line[0]
                if due > asyncio.get_running_loop().time():
                    break
                self._line.popleft()
                if not turn.done():
                    turn.set_result(None)
            await asyncio.sleep(_PAUSE)


_turnstiles: WeakKeyDictionary[asyncio.AbstractEventLoop, Turnstile] = WeakKeyDictionary()


def turnstile() -> Turnstile:
    """Return the running event loop's."""
    return _turnstiles.setdefault(asyncio.get_running_loop(), Turnstile())
