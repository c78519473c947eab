"""Meters: stalls of an event loop, memory and processor time of a process, and percentiles."""

from __future__ import annotations

import asyncio
import gc
import math
import threading
import time
from array import array
from collections.abc import Sequence
from pathlib import Path

BEAT_SECONDS = 0.005
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def percentile(values: Sequence[float], share: float) -> float | None:
    """Return the smallest value that so great a share of all values doesn't exceed; None of no values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


class Lags:
    """By how much each beat of a heart came late, and what the thread had of a processor meanwhile, in seconds."""

    def __init__(self) -> None:
        self._lags, self._busy = array("f"), array("f")

    def beat(self, due: float, now: float, busy: float) -> None:
        """Note a beat, and the processor time that this thread has used since the last."""
        self._lags.append(max(0.0, now - due))
        self._busy.append(busy)

    def take(self) -> dict[str, float]:
        """Return what there was since the last time, in milliseconds.

        Returns:
            The largest lag, the 99th percentile of the lags, and the most processor time between two beats: that is
            what a lag is at least, however many others the machine works for.
        """
        lags, self._lags = self._lags, array("f")
        busy, self._busy = self._busy, array("f")
        return {
            "max_ms": 1e3 * max(lags, default=0.0),
            "p99_ms": 1e3 * (percentile(lags, 0.99) or 0.0),
            "busy_ms": 1e3 * max(busy, default=0.0),
        }


async def watch_loop(lags: Lags) -> None:
    """Beat in this event loop for ever: whatever holds the loop up makes a beat late."""
    while True:
        due, used = time.monotonic() + BEAT_SECONDS, time.thread_time()
        await asyncio.sleep(BEAT_SECONDS)
        lags.beat(due, time.monotonic(), time.thread_time() - used)


def watch_machine(lags: Lags) -> None:
    """Beat in a thread of a process that does nothing else: what is late here, the machine had no time for."""

    def beat() -> None:
        while True:
            due, used = time.monotonic() + BEAT_SECONDS, time.thread_time()
            time.sleep(BEAT_SECONDS)
            lags.beat(due, time.monotonic(), time.thread_time() - used)

    threading.Thread(target=beat, daemon=True).start()


class Collections:
    """How long the garbage collector has held this process up, in its own processor time."""

    def __init__(self) -> None:
        self._began = 0.0
        self._longest = 0.0
        gc.callbacks.append(self._note)

    def take(self) -> float:
        """Return the longest collection since the last time, in milliseconds."""
        longest, self._longest = self._longest, 0.0
        return 1e3 * longest

    def _note(self, phase: str, info: dict[str, int]) -> None:
        del info
        if phase == "start":
            self._began = time.thread_time()
        else:
            self._longest = max(self._longest, time.thread_time() - self._began)


class Memory:
    """The most memory that this process has had since this was made, over what it had then. Linux only."""

    def __init__(self) -> None:
        gc.collect()
        _CLEAR.write_text("5")  # proc(5): resets the peak
        self._before = _kilobytes("VmRSS")

    def peak_growth(self) -> int:
        """Return it in bytes."""
        return 1024 * (_kilobytes("VmHWM") - self._before)

    def growth(self) -> int:
        """Return what it has now, over what it had then, in bytes."""
        return 1024 * (_kilobytes("VmRSS") - self._before)


def _kilobytes(name: str) -> int:
    return next(int(line.split()[1]) for line in _STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
