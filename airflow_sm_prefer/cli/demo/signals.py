"""Ctrl-C and its like: they end a demo once, wherever it is, and never its cleaning up."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from airflow_sm_prefer.cli.demo.errors import Interrupted

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Turns the first of these signals into :class:`Interrupted`; each later one is only answered.

    Args:
        answer: Called for a signal that comes while everything is being cleaned up.
    """

    def __init__(self, answer: Callable[[], None]) -> None:
        self._answer = answer
        self._armed = True
        self._held = False
        self._waiting: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        """Listen."""
        self._before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        """Leave the signals as they were."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def disarm(self) -> None:
        """From now on, only answer."""
        self._armed = False

    @contextmanager
    def held(self) -> Iterator[None]:
        """Let a signal wait until the block is over, as between starting a process and noting that it runs."""
        self._held = True
        try:
            yield
        finally:
            self._held = False
        if self._waiting is not None:
            self._interrupt(self._waiting)

    def _handle(self, number: int, _frame: object) -> None:
        if not self._armed:
            self._answer()
        elif self._held:
            self._waiting = number
        else:
            self._interrupt(number)

    def _interrupt(self, number: int) -> None:
        self._armed = False
        raise Interrupted(number)
