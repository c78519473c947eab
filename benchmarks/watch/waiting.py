"""The process that waits: triggers in one event loop, as a triggerer has them, and what that costs it.

    python -m benchmarks.watch.waiting '{"side": "ours", "jobs": 1000}'

Standard input and output are as in ``endpoint``; Airflow's settings come with the environment. Whatever else is said
goes to standard error, the triggers' log included.
"""

from __future__ import annotations

import asyncio
import cProfile
import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from benchmarks.watch.jobs import Job, jobs, warm_up_jobs
from benchmarks.watch.meters import Collections, Lags, Memory, watch_loop
from benchmarks.watch.triggers import MAKERS

IDLE_SECONDS = 3.0


class Waiting:
    """The waits of one run.

    Args:
        options: ``side``: whose triggers; ``jobs``: how many; ``mixed``: of both kinds by turns.
        say: Answers the process that has started this one.
    """

    def __init__(self, options: dict[str, Any], say: Callable[[dict[str, Any]], None]) -> None:
        self._say = say
        self._count, self._mixed = options["jobs"], options.get("mixed", False)
        kinds = ("training", "processing") if self._mixed else ("training",)
        self._make = MAKERS[options["side"]](kinds)
        self._warm = [job for job in warm_up_jobs() if job.kind in kinds]
        self._events: dict[str, float] = {}
        self._errors: dict[str, str] = {}
        self._lags, self._collections = Lags(), Collections()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Obey until standard input ends."""
        orders: asyncio.Queue[str] = asyncio.Queue()
        asyncio.get_running_loop().add_reader(sys.stdin, lambda: orders.put_nowait(sys.stdin.readline()))
        heart = asyncio.create_task(watch_loop(self._lags))
        await self._warm_up()
        self._say({"ready": True})
        while order := (await orders.get()).strip():
            answer = getattr(self, order)()
            self._say(await answer if asyncio.iscoroutine(answer) else answer)
        heart.cancel()

    async def _warm_up(self) -> None:
        """Make clients and whatever is made once, by waiting for jobs that are over soon, and a line in the log."""
        self._make(self._warm[0]).log.info("Waiting for %d jobs.", self._count)
        before = time.process_time()
        await asyncio.sleep(IDLE_SECONDS)
        self._idle_share = (time.process_time() - before) / IDLE_SECONDS
        tasks = [asyncio.create_task(self._wait(job)) for job in self._warm]
        await asyncio.sleep(0)
        self._say({"warm": [job.name for job in self._warm]})
        await asyncio.gather(*tasks)
        self._events.clear()

    async def start(self) -> dict[str, Any]:
        """Begin all waits, as a triggerer does that has been restarted."""
        self._memory = Memory()
        await asyncio.sleep(0.1)  # the collection before it is not the waits' affair
        self._lags.take()
        self._collections.take()
        self._began, self._began_cpu = time.monotonic(), time.process_time()
        for job in jobs(self._count, mixed=self._mixed):
            task = asyncio.create_task(self._wait(job))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            await asyncio.sleep(0)
        return {"seconds": time.monotonic() - self._began}

    def measure(self) -> dict[str, Any]:
        """Return what it has cost since the start; stalls since the last time."""
        passed = time.monotonic() - self._began
        cpu = time.process_time() - self._began_cpu
        return {
            "seconds": passed,
            "cpu_seconds": max(0.0, cpu - self._idle_share * passed),
            "meter_cpu_seconds": self._idle_share * passed,
            "memory_bytes": self._memory.peak_growth(),
            "memory_now_bytes": self._memory.growth(),
            "stall": {**self._lags.take(), "collection_ms": self._collections.take()},
        }

    def count(self) -> dict[str, Any]:
        """Return how many waits are over."""
        return {"over": len(self._events) + len(self._errors)}

    def events(self) -> dict[str, Any]:
        """Return when each event came, by the machine's monotonic clock, and the waits that ended without one."""
        return {"events": self._events, "errors": self._errors}

    async def _wait(self, job: Job) -> None:
        try:
            async for _ in self._make(job).run():
                self._events[job.name] = time.monotonic()
                return
        except Exception as error:
            self._errors[job.name] = f"{type(error).__name__}: {error}"[:300]


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # Airflow logs there
    options = json.loads(sys.argv[1])
    waiting = Waiting(options, lambda answer: _write(answers, answer))
    if path := options.get("profile"):
        profile = cProfile.Profile()
        profile.runcall(asyncio.run, waiting.run())
        profile.dump_stats(path)
    else:
        asyncio.run(waiting.run())
    os._exit(0)  # threads that poll are waited for by nobody


def _write(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
