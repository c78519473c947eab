"""An event loop whose time is a fake clock's: where all would sleep, the clock moves on to whoever wakes first.

Calls in threads take no time by it: while one is under way, the clock stands still.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from typing import Any, TypeVar

from airflow_sm_prefer.clock import FakeClock

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):
    """Waits for input, or has the clock move instead."""

    loop: VirtualTimeLoop

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout <= 0 or self.loop.under_way:
            # A thread that ends writes to the loop's own pipe.
            return super().select(None if self.loop.under_way and timeout != 0 else timeout)
        self.loop.move(timeout)
        return super().select(0)


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """The loop.

    Args:
        clock: Its time.
        move: Moves the clock on by so many seconds; the clock's own way unless told otherwise.
    """

    def __init__(self, clock: FakeClock, move: Callable[[float], object] | None = None) -> None:
        selector = _Selector()
        selector.loop = self
        self.under_way = 0
        self._fake, self._move = clock, move or clock.advance
        super().__init__(selector)
        # At instants as large as the clock's, a timer that is due now would else always be a hair too early.
        self._clock_resolution = 1e-5

    def time(self) -> float:
        return self._fake.time()

    def move(self, seconds: float) -> None:
        self._move(seconds)

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        self.under_way += 1
        future = super().run_in_executor(executor, func, *args)
        future.add_done_callback(self._came_back)
        return future

    def _came_back(self, future: Any) -> None:
        self.under_way -= 1


def run(main: Coroutine[Any, Any, T], clock: FakeClock, move: Callable[[float], object] | None = None) -> T:
    """Run a coroutine to its end, in the clock's time."""
    with asyncio.Runner(loop_factory=lambda: VirtualTimeLoop(clock, move)) as runner:
        return runner.run(main)
