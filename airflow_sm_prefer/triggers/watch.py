"""The watcher: what all triggers of a process share to look at jobs.

One boto3 client for each connection and kind of job, called from a few threads: a client takes tens of milliseconds
and up to 18 MB to build, and SageMaker counts calls by account, so that a client or a schedule for each task would
help nobody. Turns are given by the account's token buckets.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from asgiref.sync import sync_to_async

from airflow_sm_prefer.aws.answers import look_failed
from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, classify
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.service_job import observe
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import Seen, Stop, Unseen
from airflow_sm_prefer.triggers.connection import Connection, shared_jobs

log = logging.getLogger(__name__)

#: Threads for looks at jobs: enough for SageMaker's five Describe calls a second at a second each.
_LOOKING = ThreadPoolExecutor(max_workers=5, thread_name_prefix="sm-prefer-look")

#: Stops have threads of their own, so that no queue of looks delays one.
_STOPPING = ThreadPoolExecutor(max_workers=2, thread_name_prefix="sm-prefer-stop")


class Watcher:
    """Looks at jobs of one kind over one connection."""

    def __init__(self, connection: Connection, kind: JobKind) -> None:
        self._connection = connection
        self._kind = kind
        self._making: asyncio.Task[JobsApi | RoutedJobs] | None = None

    async def looks(self, handle: str, interval: float) -> AsyncIterator[Seen | Unseen]:
        """Give a look at a job every so often, for ever. A failed look is one that shows nothing.

        Args:
            handle: What AWS calls the job by.
            interval: Real seconds between two looks; spread a little, so that many jobs don't ask at once.
        """
        while True:
            yield await self.look(handle)
            await asyncio.sleep(interval * random.uniform(0.9, 1.1))  # noqa: S311 - spreads load

    async def look(self, handle: str) -> Seen | Unseen:
        """Look at a job now, or when there is a turn."""
        try:
            jobs = await self._api()
            described = await asyncio.get_running_loop().run_in_executor(_LOOKING, jobs.describe, handle)
        except CallFailed as failed:
            return look_failed(failed.failure)
        except CALL_ERRORS as error:
            return look_failed(classify(error, "the AWS connection"))
        except Exception as error:
            return Unseen(Judgement(Verdict.CREDENTIALS, f"{type(error).__name__}: {error}"))
        return Seen(observe(self._kind, described))

    async def stop(self, command: Stop, log: Any) -> bool:
        """Send a stop; returns whether AWS took it, or has nothing to stop."""
        try:
            jobs = await self._api()
            await asyncio.get_running_loop().run_in_executor(_STOPPING, jobs.stop, command.handle, command.why)
        except CallFailed as failed:
            log.warning("%s could not be stopped yet: %s", command.handle, failed.failure)
            return False
        return True

    async def place(self, arn: str, queue: str) -> int | None:
        """Return a service job's place in its queue, from 1; None where Batch shows none, or doesn't answer."""
        try:
            jobs = await self._api()
            if isinstance(jobs, RoutedJobs):
                return await asyncio.get_running_loop().run_in_executor(_LOOKING, jobs.place, arn, queue)
        except CallFailed as failed:
            log.info("The front of %s can't be seen: %s", queue, failed.failure)
        return None

    async def _api(self) -> JobsApi | RoutedJobs:
        """Return the calls, made once, in a thread: it takes long enough to stall the loop.

        A wait for that may be cancelled, and what it is cancelled with tells a person's click from a restart. So it is
        not passed on to the thread's end, which would lose that, and the others go on waiting.
        """
        if self._making is None or _has_failed(self._making):
            make = sync_to_async(shared_jobs, thread_sensitive=False)
            self._making = asyncio.ensure_future(make(self._connection, self._kind))
        return await asyncio.shield(self._making)


def _has_failed(making: asyncio.Task[JobsApi | RoutedJobs]) -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)


_watchers: dict[tuple[int, str, JobKind], Watcher] = {}


def watcher_for(connection: Connection, kind: JobKind) -> Watcher:
    """Return this process's watcher for a connection and a kind of job."""
    # By event loop too: a lock belongs to one, and ``dags test`` makes a new one for each trigger.
    key = (id(asyncio.get_running_loop()), connection.key, kind)
    return _watchers.setdefault(key, Watcher(connection, kind))
