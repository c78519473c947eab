"""The watcher: what all triggers of a process share to look at jobs.

One boto3 client for each connection and kind of job, called from threads: a client takes tens of milliseconds and up to
18 MB to build, and SageMaker counts calls by account, so that a client or a schedule for each task would help nobody.
Two loops share its turns. One lists, to find what has ended or changed about everybody; the other describes one job at
a time, where a listing doesn't say enough. What to look at next is decided in ``placement``.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

from asgiref.sync import sync_to_async

from airflow_sm_prefer.aws.answers import look_failed
from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, CallFailure, FailureKind, classify
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.pacing import WATCH
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.model.service_job import observe
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.describing import Describing, Urgency
from airflow_sm_prefer.placement.events import Glimpsed, Seen, Stop, Unseen
from airflow_sm_prefer.placement.listing import Page
from airflow_sm_prefer.placement.lookout import Looked, Lookout
from airflow_sm_prefer.triggers.connection import Connection, forget_jobs, shared_jobs
from airflow_sm_prefer.triggers.stops import Stops
from airflow_sm_prefer.triggers.waits import Over, Wait

log = logging.getLogger(__name__)

#: What a call has come to: its answer, or why there is none.
Failed = tuple[Unseen, CallFailure | None]

#: One look is for everybody, so that there are so many of them in the time in which a job would have one of its own.
_LOOKS = 6.0

#: A job that nothing new was seen of is described again after this many real seconds.
_STALE_AFTER = 600.0

#: Real seconds between two Describes that can wait, while the whole listing is gone through.
_DETAIL_EVERY = 3.0

#: Failed Lists are told to the tasks once they have failed for this many real seconds, and then this often.
_TELL_AFTER, _TELL_EVERY = 30.0, 50.0

#: The longest pause between two Lists that fail, in real seconds.
_LONGEST_PAUSE = 30.0

#: How long a listing isn't asked that can't be: the role may not, or the queue is gone.
_NO_LIST_FOR = 600.0

#: A connection that AWS doesn't take is read again after this many real seconds at least.
_MAKE_EVERY = 60.0

#: How many triggers hear something before the loop is let go on.
_AT_ONCE = 20

_UNASKABLE = frozenset({FailureKind.DENIED, FailureKind.NOT_FOUND})


class Watcher:
    """Looks at the jobs of one kind, or of one queue, over one connection.

    Args:
        connection: How to reach AWS.
        kind: The kind of job.
        queue: The queue of AWS Batch that they are in; None for SageMaker's own.
        clock: The time.
        leave: Called when nobody waits any more: this watcher has done its work.
    """

    def __init__(
        self, connection: Connection, kind: JobKind, queue: str | None, clock: Clock, leave: Callable[[], object]
    ) -> None:
        self._leave = leave
        self._connection, self._kind, self._queue, self._clock = connection, kind, queue, clock
        self._lookout, self._describing = Lookout(filters=queue is None), Describing()
        self._stops = Stops(self._send)
        self._waits: dict[str, list[Wait]] = {}
        self._stirred = asyncio.Event()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._threads = ThreadPoolExecutor(max_workers=4, thread_name_prefix="sm-prefer-watch")
        self._making: asyncio.Task[JobsApi | RoutedJobs] | None = None
        self._every = _STALE_AFTER
        self._no_list_until = self._last_detail = self._told_at = float("-inf")
        self._made_at = clock.time()
        self._failing_since: float | None = None
        self._failures = 0

    # -- for triggers ------------------------------------------------------------------------------------

    def watch(self, handle: str, created: float | None, due: float, every: float) -> Wait:
        """Begin to look at a job.

        Args:
            handle: What AWS calls it by.
            created: When it was created, more or less; None where nobody knows.
            due: When something about it falls due, though AWS says nothing new.
            every: How many real seconds may pass between two looks at least.
        """
        now = self._clock.time()
        wait = Wait(handle, self._close, self._set_due)
        self._waits.setdefault(handle, []).append(wait)
        self._lookout.watch(handle, now if created is None else created, now)
        self._lookout.hasten(max(1.0, every / _LOOKS))
        self._every = min(self._every, max(1.0, every))
        self._describing.want_at(handle, now + _STALE_AFTER, Urgency.STALE)
        self._describing.want_at(handle, due)
        if created is None or not self._lists(now):
            self._describing.want(handle, Urgency.DOUBT, now)
        self._keep_up()
        self._stirred.set()
        return wait

    def hint(self, handle: str) -> None:
        """Say that a job may be over: it is looked at soon."""
        now = self._clock.time()
        if handle not in self._lookout:
            return
        if self._lookout.can_look_closely(now) and self._lists(now):
            self._lookout.hint(handle, now)
        else:
            self._describing.want(handle, Urgency.DOUBT, now)
        self._stirred.set()

    def stop(self, stop: Stop, log: Any) -> None:
        """Have a job stopped, as soon as AWS takes it, unless its wait is over before."""
        self._stops.add(stop, log)

    def _close(self, wait: Wait) -> None:
        waits = self._waits.get(wait.handle, [])
        with suppress(ValueError):
            waits.remove(wait)
        if not waits:
            self._waits.pop(wait.handle, None)
            self._lookout.forget(wait.handle)
            self._describing.forget(wait.handle)
            self._stops.drop(wait.handle)
            self._stirred.set()
        if not self._waits:
            self._threads.shutdown(wait=False)
            self._leave()

    def _set_due(self, wait: Wait) -> None:
        now = self._clock.time()
        if wait.due is not None:
            self._describing.want_at(wait.handle, wait.due if wait.due > now else now + self._every)
        self._stirred.set()

    # -- keeping up --------------------------------------------------------------------------------------

    def _keep_up(self) -> None:
        """See that both loops run as long as somebody waits."""
        for name, loop in (("lists", self._list_on), ("describes", self._describe_on)):
            task = self._tasks.get(name)
            if self._waits and (task is None or task.done()):
                self._tasks[name] = started = asyncio.get_running_loop().create_task(self._kept_up(loop))
                started.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if self._waits and not task.get_loop().is_closed():
            task.get_loop().call_soon(self._keep_up)

    async def _kept_up(self, loop: Callable[[], Awaitable[None]]) -> None:
        while self._waits:
            try:
                await loop()
            except Exception:
                log.exception("The watcher of %s jobs had an error, and goes on", self._kind.value)
                self._lookout.failed(for_good=True)
                await asyncio.sleep(5.0)

    async def _rest(self, seconds: float) -> None:
        """Wait until something changes about what is wanted, and so long at most."""
        self._stirred.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stirred.wait()

    # -- listing -----------------------------------------------------------------------------------------

    async def _list_on(self) -> None:
        while self._waits:
            now = self._clock.time()
            due = self._lookout.due(now) if self._lists(now) else self._no_list_until
            if due > now:
                await self._rest(due - now)
                continue
            await self._turn(is_free=self._lookout.is_busy(now))
            if self._waits:
                await self._list()

    async def _list(self) -> None:
        question = self._lookout.ask(self._clock.time())
        answer = await self._answer(lambda jobs: jobs.page(question, self._queue))
        if isinstance(answer, Page):
            self._failures, self._failing_since = 0, None
            await self._tell(self._lookout.answered(question, answer, self._clock.time()))
        else:
            await self._list_failed(answer)

    async def _tell(self, looked: Looked) -> None:
        """Let those hear it who wait for what an answer has shown."""
        now = self._clock.time()
        for row in looked.over:
            self._put(row.handle, Over(row.ended))
        for row in looked.first:
            if any(not _is_told(row, wait) for wait in self._waits.get(row.handle, ())):
                self._describing.want(row.handle, Urgency.CHANGED, now)
        for row in looked.changed:
            self._describing.want(row.handle, Urgency.CHANGED, now)
        for handle in looked.describe:
            self._describing.want(handle, Urgency.DOUBT, now)
        if looked.first or looked.changed or looked.describe:
            self._stirred.set()
        if looked.is_whole:
            await self._reassure()

    async def _reassure(self) -> None:
        """Let those who have heard that their jobs can't be seen hear that they can."""
        for n, wait in enumerate([wait for waits in self._waits.values() for wait in waits if wait.is_worried]):
            wait.is_worried = False
            wait.put(Glimpsed())
            if n % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)

    async def _list_failed(self, failed: Failed) -> None:
        unseen, failure = failed
        now = self._clock.time()
        kind = failure.kind if failure else FailureKind.OTHER
        self._lookout.failed(for_good=kind is FailureKind.INVALID)
        self._failures += 1
        self._failing_since = self._failing_since or now
        if kind in _UNASKABLE:
            self._describe_everybody(unseen, now)
            return
        if unseen.judgement.verdict is Verdict.CREDENTIALS:
            self._begin_anew()
        if unseen.judgement.verdict is Verdict.CREDENTIALS or now - self._failing_since >= _TELL_AFTER:
            await self._worry(unseen)
        await self._rest_of(min(_LONGEST_PAUSE, 2.0 ** min(self._failures, 5)))

    def _describe_everybody(self, unseen: Unseen, now: float) -> None:
        """Look at each job by itself for a while, since the listing can't be asked."""
        log.warning("Jobs are looked at one by one, since they can't be listed: %s", unseen.judgement.text)
        self._no_list_until = now + _NO_LIST_FOR
        for handle in self._waits:
            self._describing.want(handle, Urgency.STALE, now)
        self._stirred.set()

    async def _worry(self, unseen: Unseen) -> None:
        """Let everybody hear that no job can be seen, now and then."""
        now = self._clock.time()
        if now - self._told_at < _TELL_EVERY:
            return
        self._told_at = now
        for n, wait in enumerate([wait for waits in self._waits.values() for wait in waits]):
            wait.is_worried = True
            wait.put(unseen)
            if n % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)

    def _lists(self, now: float) -> bool:
        return now >= self._no_list_until

    # -- describing --------------------------------------------------------------------------------------

    async def _describe_on(self) -> None:
        while self._waits:
            now = self._clock.time()
            due = self._describe_due(now)
            if due > now:
                await self._rest(due - now)
                continue
            await self._turn(is_free=False)
            if first := self._describing.next(self._clock.time()):
                await self._describe(first[0])

    def _describe_due(self, now: float) -> float:
        """Return when the next Describe is wanted: what can wait leaves the turns to a listing that is in need."""
        first = self._describing.next(now)
        if first is None:
            return self._describing.due(now)
        can_wait = first[1] >= Urgency.CHANGED and not self._lookout.has_calls_to_spare(now)
        return max(now, self._last_detail + _DETAIL_EVERY) if can_wait and self._lists(now) else now

    async def _describe(self, handle: str) -> None:
        self._last_detail = self._clock.time()
        answer = await self._answer(lambda jobs: jobs.describe(handle))
        now = self._clock.time()
        if isinstance(answer, tuple):
            await self._describe_failed(handle, answer, now)
            return
        seen = Seen(observe(self._kind, answer))
        self._describing.described(handle)
        self._lookout.described(handle, seen.observation.created, now)
        pause = _STALE_AFTER if self._lists(now) else self._every
        if handle in self._waits:
            self._describing.want_at(handle, now + pause, Urgency.STALE)
        self._put(handle, seen)

    async def _describe_failed(self, handle: str, failed: Failed, now: float) -> None:
        unseen, failure = failed
        self._describing.failed(handle, now)
        if failure and failure.kind is FailureKind.THROTTLED:
            return
        if unseen.judgement.verdict is Verdict.CREDENTIALS:
            self._begin_anew()
            if not self._lists(now):
                await self._worry(unseen)
        self._put(handle, unseen)

    def _put(self, handle: str, heard: Seen | Unseen | Over) -> None:
        for wait in self._waits.get(handle, ()):
            wait.is_worried = isinstance(heard, Unseen)
            wait.put(heard)

    # -- calling -----------------------------------------------------------------------------------------

    async def _turn(self, *, is_free: bool) -> None:
        """Wait for a turn among all looks of this process, unless there is reason to look as fast as AWS allows."""
        with suppress(Exception):
            jobs = await self._api()
            if not is_free:
                await asyncio.sleep(jobs.pacing.acquire(WATCH))

    async def _answer(self, call: Callable[[JobsApi | RoutedJobs], Any]) -> Any | Failed:
        """Make a call in a thread; returns its answer, or what has kept it away."""
        try:
            jobs = await self._api()
            return await asyncio.get_running_loop().run_in_executor(self._threads, call, jobs)
        except CallFailed as failed:
            return look_failed(failed.failure), failed.failure
        except CALL_ERRORS as error:
            failure = classify(error, "the AWS connection")
            return look_failed(failure), failure
        except Exception as error:
            return Unseen(Judgement(Verdict.CREDENTIALS, f"{type(error).__name__}: {error}")), None

    async def _send(self, stop: Stop) -> str | None:
        """Send a stop; returns what has kept AWS from taking it."""
        answer = await self._answer(lambda jobs: jobs.stop(stop.handle, stop.why))
        return answer[0].judgement.text if isinstance(answer, tuple) else None

    async def _api(self) -> JobsApi | RoutedJobs:
        """Return the calls, made once, in a thread: it takes long enough to stall the loop.

        A wait for that may be cancelled, and what it is cancelled with tells a person's click from a restart. So it is
        not passed on to the thread's end, which would lose that, and the others go on waiting.
        """
        if self._making is None or _has_failed(self._making):
            make = sync_to_async(shared_jobs, thread_sensitive=False)
            self._making = asyncio.ensure_future(make(self._connection, self._kind))
        return await asyncio.shield(self._making)

    def _begin_anew(self) -> None:
        """Read the connection again before the next call: its credentials may have been changed."""
        now = self._clock.time()
        if now - self._made_at >= _MAKE_EVERY:
            self._made_at, self._making = now, None
            forget_jobs(self._connection, self._kind)

    async def _rest_of(self, seconds: float) -> None:
        await asyncio.sleep(seconds * random.uniform(0.5, 1.0))  # noqa: S311 - spreads load


def _is_told(row: Listed, wait: Wait) -> bool:
    """Whether a task's log says already what a row shows of its job."""
    return bool(wait.status) and (row.secondary or "") in wait.status and row.reason in wait.status


def _has_failed(making: asyncio.Task[JobsApi | RoutedJobs]) -> bool:
    return making.done() and (making.cancelled() or making.exception() is not None)


_Key = tuple[asyncio.AbstractEventLoop, str, JobKind, str | None]
_watchers: dict[_Key, Watcher] = {}


def watcher_for(connection: Connection, kind: JobKind, queue: str | None, clock: Clock) -> Watcher:
    """Return the running loop's watcher for a connection and a kind of job, or a queue; the first caller's clock holds.

    By event loop, since what it waits with belongs to one, and ``dags test`` makes a new one for each trigger. There is
    one as long as somebody waits.
    """
    key = (asyncio.get_running_loop(), connection.key, kind, queue)
    if key not in _watchers:
        _watchers[key] = Watcher(connection, kind, queue, clock, lambda: _watchers.pop(key, None))
    return _watchers[key]
