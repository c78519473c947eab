"""The logs of running jobs, in the logs of the tasks that wait for them.

One for each event loop and connection; the calls of all together are held to ``[sm_prefer] log_rate``. Whose turn it
is is decided in :mod:`airflow_sm_prefer.placement.log_turns`; here it is asked, in a thread, and handed out.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from asgiref.sync import sync_to_async

from airflow_sm_prefer.aws.attempts import AttemptLog
from airflow_sm_prefer.aws.failures import CallFailure, FailureKind
from airflow_sm_prefer.aws.log_pages import LogPages
from airflow_sm_prefer.aws.pacing import TokenBucket
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.placement.handed import NOTHING, Handed
from airflow_sm_prefer.placement.log_cursors import JobLog, Line
from airflow_sm_prefer.placement.log_turns import Find, Followed, LogTurns, Read
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.failing import what_failed
from airflow_sm_prefer.triggers.loops import set_or

log = logging.getLogger(__name__)

#: Lines written in one go: each takes some 50 µs of the event loop, which everything in a triggerer shares.
_LINES_AT_ONCE: Final = 50

#: Seconds that nothing is asked after a failure: from, to.
_PAUSE: Final = (2.0, 60.0)


class Following:
    """One job whose lines are handed out; see :meth:`JobLogs.follow`."""

    def __init__(self, log: JobLog, write: Callable[[str], None], close: Callable[[Following], None]) -> None:
        self._log = log
        self._write = write
        self._close = close
        # Airflow knows by the context whose log a line belongs to.
        self._context = contextvars.copy_context()
        self._is_told = False
        #: How far the job's log was handed out.
        self.handed: Handed = log.handed
        #: Whether nothing is handed out any more.
        self.is_closed = False

    def close(self) -> None:
        """Have done with it. What was not handed out yet is left to who reads on."""
        self.is_closed = True
        self._close(self)

    def noted(self, state: State) -> State:
        """Return a state that says how far the job's log was handed out."""
        return state.but(logged=self.handed)

    async def hand_out(self, lines: Sequence[Line]) -> None:
        """Write lines, some at a time; others have their turn in between."""
        before, after, written = self.handed, self._log.handed, 0
        for n, line in enumerate(lines):
            if written >= _LINES_AT_ONCE and line.at > lines[n - 1].at:
                self.handed, written = before.towards(after, line.at), 0
                await asyncio.sleep(0)
            if self.is_closed:
                return
            self._put(line.text)
            written += 1
        self.handed = after

    def tell(self, text: str) -> None:
        """Say what keeps the lines away, once."""
        if not self._is_told and not self.is_closed:
            self._is_told = True
            self._put(text)

    def _put(self, text: str) -> None:
        try:
            self._context.run(self._write, text)
        except Exception:
            log.exception("A line of %s could not be written", self._log.job_name)


class JobLogs:
    """Reads the logs of the jobs of one connection."""

    def __init__(self, connection: Connection, bucket: TokenBucket, clock: Clock) -> None:
        self._connection, self._bucket, self._clock = connection, bucket, clock
        self._turns = LogTurns()
        self._followings: dict[Followed, Following] = {}
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="sm-prefer-log")
        self._pages: LogPages | None = None
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._pause = 0.0
        #: The event loop that this belongs to.
        self.loop = asyncio.get_running_loop()

    def follow(self, group: str, job_name: str, write: Callable[[str], None], since: Handed = NOTHING) -> Following:
        """Begin to hand out a job's lines; returns at once.

        A job that has no stream yet costs a call a minute at most. Lines are ten seconds old and more when they are
        handed out. Where they can't be read, ``write`` gets one line that says why; waits go on all the same.

        Args:
            group: Its log group.
            job_name: The job, by its name in SageMaker.
            write: Takes a line, in the context that this is called in, on the event loop.
            since: What isn't wanted: :attr:`Following.handed` of who read before.
        """
        followed = self._turns.follow(JobLog(group, job_name, since), self._now())
        following = Following(followed.log, write, lambda _: self._leave(followed))
        self._followings[followed] = following
        self._news.set()
        if self._task is None or self._task.done():
            # Not in the context of the task that happens to be the first.
            self._task = self.loop.create_task(self._run(), context=contextvars.Context())
        return following

    def _leave(self, followed: Followed) -> None:
        self._turns.leave(followed)
        self._followings.pop(followed, None)
        self._news.set()

    def _now(self) -> float:
        return self._clock.time() + (self._pages.ahead if self._pages else 0.0)

    async def _run(self) -> None:
        while len(self._turns):
            self._news.clear()
            if seconds := self._turns.wait(self._now()):
                await set_or(self._news, seconds)
                continue
            await asyncio.sleep(self._bucket.take())
            # Chosen now, and not before: jobs have come and gone.
            if (turn := self._turns.turn(self._now())) is None:
                continue
            try:
                await self._take(turn)
            except Exception as error:
                await self._failed(turn, what_failed(error))

    async def _take(self, turn: Find | Read) -> None:
        if self._pages is None:
            # Built in a way in which a thread may ask the triggerer for a connection.
            self._pages = await sync_to_async(self._build, thread_sensitive=False)()
        call, pages = self.loop.run_in_executor, self._pages
        if isinstance(turn, Find):
            group, name = turn.job.log.group, turn.job.log.job_name
            found, token = await call(self._thread, pages.streams, group, name, turn.token)
            self._turns.found(turn, found, token, self._now())
        else:
            of = turn.group, turn.streams, turn.start, turn.end, turn.token
            events, token = await call(self._thread, pages.events, *of)
            await self._hand_out(self._turns.lines(turn, events, token, self._now()), turn)
        self._pause = 0.0

    def _build(self) -> LogPages:
        client = self._connection.hook().logs_client
        AttemptLog(client)  # has its calls counted
        return LogPages(client, self._clock)

    async def _hand_out(self, lines: dict[Followed, list[Line]], read: Read) -> None:
        for job in list(read.jobs):
            if following := self._followings.get(job):
                await following.hand_out(lines.get(job, ()))

    async def _failed(self, turn: Find | Read, failure: CallFailure) -> None:
        """Have it asked again later, or not at all; all others wait a little, since it's mostly them too."""
        jobs = [turn.job] if isinstance(turn, Find) else list(turn.jobs)
        self._turns.failed(turn, self._now(), is_gone=failure.kind is FailureKind.NOT_FOUND)
        if failure.kind is FailureKind.NOT_FOUND:
            return
        if failure.kind is FailureKind.THROTTLED:
            self._bucket.empty()
        else:
            self._tell(jobs, failure)
        if failure.kind is FailureKind.DENIED:
            for job in jobs:
                self._leave(job)
            return
        if failure.kind is FailureKind.CREDENTIALS:
            self._pages = None  # the connection may have been changed: it is read again
        self._pause = min(_PAUSE[1], max(_PAUSE[0], self._pause * 2))
        await asyncio.sleep(self._pause)

    def _tell(self, jobs: Sequence[Followed], failure: CallFailure) -> None:
        outlook = (
            "It is not asked for again while" if failure.kind is FailureKind.DENIED else "It is asked for again while"
        )
        for job in jobs:
            if following := self._followings.get(job):
                following.tell(f"The log of {job.log.job_name} can't be read: {failure}. {outlook} the task waits.")


_buckets: dict[int, TokenBucket] = {}


def _bucket(clock: Clock) -> TokenBucket:
    """Return the budget of this process, for all connections and loops; a wrong setting is no reason to fail a wait."""
    if id(clock) not in _buckets:  # which has the bucket keep it
        try:
            rate = settings.log_rate()
        except InvalidSetting as error:
            rate = settings.DEFAULT_LOG_RATE
            log.error("%s. Until then the logs of running jobs are read at %g calls a second.", error, rate)
        _buckets[id(clock)] = TokenBucket(rate, clock, evenly=True)
    return _buckets[id(clock)]


_logs: dict[tuple[int, str], JobLogs] = {}


def logs_for(connection: Connection, clock: Clock) -> JobLogs:
    """Return what reads the logs of a connection's jobs in the running event loop; the first caller's clock holds."""
    for key in [key for key, logs in _logs.items() if logs.loop.is_closed()]:
        del _logs[key]  # ``dags test`` makes a loop for each trigger
    key = (id(asyncio.get_running_loop()), connection.key)
    if key not in _logs:
        _logs[key] = JobLogs(connection, _bucket(clock), clock)
    return _logs[key]
