"""How a watcher reaches AWS: in threads, in turns, and with one answer for whatever goes wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from asgiref.sync import sync_to_async

from airflow_sm_prefer.aws.answers import look_failed
from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.pacing import WATCH
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.events import Unseen
from airflow_sm_prefer.triggers.connection import Connection, forget_jobs, shared_jobs
from airflow_sm_prefer.triggers.failing import what_failed

#: A connection that AWS doesn't take is read again after this many real seconds at least.
_MAKE_EVERY = 60.0

T = TypeVar("T")
Jobs = JobsApi | RoutedJobs


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that had no answer.

    Attributes:
        unseen: What that means to who waits.
        kind: What has gone wrong.
    """

    unseen: Unseen
    kind: FailureKind

    @property
    def is_about_credentials(self) -> bool:
        """Whether AWS doesn't take us for who we are, or lets us do nothing."""
        return self.unseen.judgement.verdict is Verdict.CREDENTIALS


class Caller:
    """Makes the calls about jobs of one kind over one connection, with a client that is made once, when needed."""

    def __init__(self, connection: Connection, kind: JobKind, clock: Clock) -> None:
        self._connection, self._kind, self._clock = connection, kind, clock
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="sm-prefer-watch")
        self._making: asyncio.Task[Jobs] | None = None
        self._made_at = clock.time()

    async def turn(self) -> None:
        """Wait for a turn among all looks of this process."""
        with suppress(Exception):  # whatever keeps the client from being made, the call that follows tells
            jobs = await self._jobs()
            await asyncio.sleep(jobs.pacing.acquire(WATCH))

    async def answer(self, call: Callable[[Jobs], T]) -> T | Failed:
        """Make a call in a thread; returns its answer, or what has kept it away."""
        try:
            jobs = await self._jobs()
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, jobs)
        except Exception as error:
            failure = what_failed(error)
            return Failed(look_failed(failure), failure.kind)

    def begin_anew(self) -> None:
        """Read the connection again before the next call, if it was long ago: its credentials may have been changed."""
        now = self._clock.time()
        if now - self._made_at >= _MAKE_EVERY:
            self._made_at, self._making = now, None
            forget_jobs(self._connection, self._kind)

    def close(self) -> None:
        """Make no more calls."""
        self._threads.shutdown(wait=False)

    async def _jobs(self) -> Jobs:
        """Return the calls, made once, in a thread: it takes long enough to stall the loop.

        A wait for that may be cancelled, and what it is cancelled with tells a person's click from a restart. So it is
        not passed on to the thread's end, which would lose that, and the others go on waiting.
        """
        if self._making is None or _has_failed(self._making):
            make = sync_to_async(shared_jobs, thread_sensitive=False)
            self._making = asyncio.ensure_future(make(self._connection, self._kind))
        return await asyncio.shield(self._making)


def _has_failed(making: asyncio.Task[Jobs]) -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)
