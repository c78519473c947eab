"""The watcher: what all triggers of a process share to look at jobs.

One boto3 client for each connection and kind of job, called from threads: a client takes tens of milliseconds and up to
18 MB to build, and SageMaker counts calls by account, so that a client or a schedule for each task would help nobody.
Two loops share its turns. One lists, to find what has ended or changed about everybody; the other describes one job at
a time, where a listing doesn't say enough. What to look at next is decided in ``placement``.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable
from typing import Any

from airflow_sm_prefer import chance
from airflow_sm_prefer.aws.event_queue import Hint
from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.model.service_job import observe
from airflow_sm_prefer.placement.describing import Describing, Urgency
from airflow_sm_prefer.placement.events import Seen, Stop, Unseen
from airflow_sm_prefer.placement.hints import Hints
from airflow_sm_prefer.placement.lookout import Looked, Lookout
from airflow_sm_prefer.triggers import event_source, metrics
from airflow_sm_prefer.triggers.calling import Caller, Failed
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.loops import Loops
from airflow_sm_prefer.triggers.places import Places, places_in
from airflow_sm_prefer.triggers.stops import Stops
from airflow_sm_prefer.triggers.waits import Over, Wait, Waits

log = logging.getLogger(__name__)

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

#: So many hints wait for a Describe of their own at a time even when others are believed without one.
_LOOKED_INTO = 2

#: Real seconds between two accounts of how fresh the looks are.
_MEASURE_EVERY = 10.0

_UNASKABLE = frozenset({FailureKind.DENIED, FailureKind.NOT_FOUND})


class Watcher:
    """Looks at the jobs of one kind, or of one queue, over one connection, as long as somebody waits for one.

    Args:
        connection: How to reach AWS.
        kind: The kind of job.
        queue: The queue of AWS Batch that they are in; None for SageMaker's own.
        clock: The time.
        leave: Called when nobody waits any more: this watcher has done its work.
        draw: Draws evenly from 0 to 1; spreads pauses.
    """

    def __init__(
        self,
        connection: Connection,
        kind: JobKind,
        queue: str | None,
        clock: Clock,
        leave: Callable[[], object],
        *,
        draw: Callable[[], float] = chance.draw,
    ) -> None:
        self._connection, self._kind, self._queue, self._clock = connection, kind, queue, clock
        self._leave, self._draw = leave, draw
        self._caller = Caller(connection, kind, clock)
        self._lookout, self._describing = Lookout(filters=queue is None), Describing()
        self._hints, self._places, self._stops = Hints(), Places(), Stops(self._send, clock)
        self._waits = Waits()
        self._loops = Loops(
            f"The watcher of {kind.value} jobs", (self._list_on, self._describe_on), self._is_wanted, self._after_error
        )
        self._no_list_until = self._last_detail = self._told_at = self._measured_at = self._latest = -math.inf
        self._failing_since: float | None = None
        self._failures = 0
        event_source.listen(connection, self.hint)

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
        wait = Wait(handle, created, due, self, max(1.0, every))
        self._waits.add(wait)
        self._look_for(wait, now)
        self._hints.waits_again(handle, now)
        self._loops.keep_up()
        self._loops.stir()
        return wait

    @property
    def _every(self) -> float:
        """How many real seconds may pass between two looks, for those who wait now."""
        return min(_STALE_AFTER, self._waits.every)

    def _look_for(self, wait: Wait, now: float) -> None:
        self._lookout.watch(wait.handle, now if wait.created is None else wait.created, now)
        self._describing.want_at(wait.handle, now + _STALE_AFTER, Urgency.STALE)
        self._want_at_due(wait.handle)
        if wait.created is None or not self._lists(now):
            self._describing.want(wait.handle, Urgency.MISSING, now)

    def hint(self, hint: Hint) -> None:
        """Look at a job soon, since it may have changed or be over.

        Where that can't be soon for all, a hint that it is over is believed as long as those prove true that are looked
        into meanwhile: the worker looks for itself before it does anything.
        """
        now, handle = self._clock.time(), hint.handle
        if handle not in self._lookout:
            return
        if not hint.is_over:
            self._describing.want(handle, Urgency.CHANGED, now)
        elif self._lists(now) and self._lookout.can_look_closely(now):
            self._hints.look_into(handle)
            self._lookout.hint(handle, now)
        elif self._hints.are_believed(now) and self._describing.backlog(Urgency.HINTED) >= _LOOKED_INTO:
            self._hints.believe(handle, now)
            self._waits.put(handle, Over())
        else:
            self._hints.look_into(handle)
            self._describing.want(handle, Urgency.HINTED, now)
        self._loops.stir()

    def stop(self, stop: Stop, log: Any) -> None:
        """Have a job stopped, as soon as AWS takes it, unless its wait is over before."""
        self._stops.add(stop, log)

    def close(self, wait: Wait) -> None:
        """Look at a job no more for one who waited."""
        if not self._waits.remove(wait):
            return
        self._lookout.forget(wait.handle)
        self._describing.forget(wait.handle)
        self._stops.drop(wait.handle)
        self._hints.forget(wait.handle)
        if not self._waits:
            self._end()

    def _end(self) -> None:
        self._leave()
        self._measure(self._clock.time())
        event_source.unlisten(self._connection, self.hint)
        self._loops.close()
        self._stops.close()
        self._caller.close()

    def _is_wanted(self) -> bool:
        return bool(self._waits)

    def _after_error(self) -> None:
        self._lookout.failed(for_good=True)

    def set_due(self, wait: Wait) -> None:
        """Look at a job when its wait says so."""
        now = self._clock.time()
        if wait.due <= now:
            wait.due = now + self._every
        self._want_at_due(wait.handle)
        self._loops.stir()

    def _want_at_due(self, handle: str) -> None:
        """Have a job looked at when something falls due for the first of those who wait for it."""
        self._describing.want_at(handle, min(wait.due for wait in self._waits.of(handle)))

    # -- listing -----------------------------------------------------------------------------------------

    def _lists(self, now: float) -> bool:
        return now >= self._no_list_until

    async def _list_on(self) -> None:
        while self._waits:
            now = self._clock.time()
            self._mind_the_clock(now)
            self._lookout.every = max(1.0, self._every / _LOOKS)
            self._lookout.is_calm = event_source.is_healthy(self._connection)
            due = self._lookout.due(now) if self._lists(now) else self._no_list_until
            if due > now:
                await self._loops.rest(due - now)
            else:
                if not self._lookout.is_busy(now):
                    await self._caller.turn()
                # What was due may have been settled while this waited for its turn.
                if self._waits and self._lookout.due(self._clock.time()) <= self._clock.time():
                    await self._list()
            self._measure(self._clock.time())

    def _mind_the_clock(self, now: float) -> None:
        """Look for everybody anew if our clock was set back: what was to come by it would come too late."""
        if now < self._latest - 1.0:
            self._lookout, self._describing = Lookout(filters=self._queue is None), Describing()
            self._no_list_until = self._last_detail = self._told_at = self._measured_at = -math.inf
            for wait in self._waits:
                self._look_for(wait, now)
        self._latest = now

    async def _list(self) -> None:
        question = self._lookout.ask(self._clock.time())
        answer = await self._caller.answer(lambda jobs: jobs.page(question, self._queue))
        if isinstance(answer, Failed):
            await self._list_failed(answer)
        else:
            self._failures, self._failing_since = 0, None
            await self._tell(self._lookout.answered(question, answer, self._clock.time()))

    async def _tell(self, looked: Looked) -> None:
        """Let those hear it who wait for what an answer has shown."""
        now = self._clock.time()
        await self._waits.wake([self._over(row, now) for row in looked.over])
        for row in looked.first:
            if any(not wait.has_told(row) for wait in self._waits.of(row.handle)):
                self._describing.want(row.handle, Urgency.CHANGED, now)
        for row in looked.changed:
            self._describing.want(row.handle, Urgency.CHANGED, now)
        for handle in looked.missing:
            self._describing.want(handle, Urgency.MISSING, now)
        for handle in looked.hinted:
            self._describing.want(handle, Urgency.HINTED, now)
        if looked.first or looked.changed or looked.missing or looked.hinted:
            self._loops.stir()
        if looked.is_whole:
            await self._waits.reassure()

    def _over(self, row: Listed, now: float) -> str:
        """Note that a row shows a job over; returns its handle."""
        self._hints.seen(row.handle, is_over=True, now=now)
        if row.ended is not None:
            metrics.woke(now - row.ended)
        return row.handle

    async def _list_failed(self, failed: Failed) -> None:
        now = self._clock.time()
        self._lookout.failed(for_good=failed.kind is FailureKind.INVALID)
        self._failures += 1
        self._failing_since = self._failing_since or now
        if failed.kind in _UNASKABLE:
            self._describe_everybody(failed, now)
            return
        if failed.is_about_credentials:
            self._caller.begin_anew()
        if failed.is_about_credentials or now - self._failing_since >= _TELL_AFTER:
            await self._worry(failed.unseen)
        pause = min(_LONGEST_PAUSE, 2.0 ** min(self._failures, 5))
        await asyncio.sleep(pause * (0.5 + self._draw() / 2.0))

    def _describe_everybody(self, failed: Failed, now: float) -> None:
        """Look at each job by itself for a while, since the listing can't be asked."""
        log.warning("Jobs are looked at one by one, as they can't be listed: %s", failed.unseen.judgement.text)
        self._no_list_until = now + _NO_LIST_FOR
        for handle in self._waits.handles():
            self._describing.want(handle, Urgency.STALE, now)
        self._loops.stir()

    async def _worry(self, unseen: Unseen) -> None:
        """Let everybody hear that no job can be seen, now and then."""
        now = self._clock.time()
        if now - self._told_at < _TELL_EVERY:
            return
        self._told_at = now
        await self._waits.worry(unseen)

    # -- describing --------------------------------------------------------------------------------------

    async def _describe_on(self) -> None:
        while self._waits:
            now = self._clock.time()
            due = min(self._describe_due(now), self._places_due(now))
            if due > now:
                await self._loops.rest(due - now)
                continue
            first = self._describing.next(now)
            if not (first and self._hints.is_pending(first[0])):
                await self._caller.turn()  # a hint comes when jobs end, and Describes have a limit of their own
            if self._places_due(now) <= now:
                await self._look_at_front()
            elif first := self._describing.next(self._clock.time()):
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
        # Read in there too: an answer that can't be read is a Describe that has failed.
        answer = await self._caller.answer(lambda jobs: observe(self._kind, jobs.describe(handle)))
        now = self._clock.time()
        if isinstance(answer, Failed):
            await self._describe_failed(handle, answer, now)
            return
        self._hints.seen(handle, is_over=answer.is_terminal, now=now)
        self._describing.described(handle)
        self._lookout.described(handle, answer.created)
        if handle in self._waits:
            pause = _STALE_AFTER if self._lists(now) else self._every
            self._describing.want_at(handle, now + pause, Urgency.STALE)
        self._waits.put(handle, Seen(answer))
        await self._waits.wake(self._hints.believe_pending(now))

    async def _describe_failed(self, handle: str, failed: Failed, now: float) -> None:
        self._describing.failed(handle, now)
        if failed.kind is FailureKind.THROTTLED:
            return
        if failed.is_about_credentials:
            self._caller.begin_anew()
            if not self._lists(now):
                await self._worry(failed.unseen)
        self._waits.put(handle, failed.unseen)

    def _places_due(self, now: float) -> float:
        return self._places.due(self._waits, now) if self._queue else math.inf

    async def _look_at_front(self) -> None:
        """Tell the jobs that are in line their places; what keeps Batch from saying them is no matter."""
        queue = self._queue or ""
        answer = await self._caller.answer(lambda jobs: places_in(jobs, queue))
        places = {} if isinstance(answer, Failed) else answer
        self._places.looked(places, self._waits, self._clock.time())

    # -- what both need ----------------------------------------------------------------------------------

    def _measure(self, now: float) -> None:
        if now - self._measured_at >= _MEASURE_EVERY or not self._waits:
            self._measured_at = now
            # Of all watchers together: there is one gauge of a name, whoever tells it.
            watchers = [self, *(one for one in _watchers.values() if one is not self)]
            metrics.waiting(self._kind.value, sum(len(one._waits) for one in watchers if one._kind is self._kind))
            metrics.lag(max(one._lookout.lag(now) for one in watchers))

    async def _send(self, stop: Stop) -> str | None:
        """Send a stop; returns what has kept AWS from taking it."""
        answer = await self._caller.answer(lambda jobs: jobs.stop(stop.handle, stop.why))
        return answer.unseen.judgement.text if isinstance(answer, Failed) else None


_Key = tuple[asyncio.AbstractEventLoop, str, JobKind, str | None]
_watchers: dict[_Key, Watcher] = {}


def watcher_for(connection: Connection, kind: JobKind, queue: str | None, clock: Clock) -> Watcher:
    """Return the running loop's watcher for a connection and a kind of job, or a queue; the first caller's clock holds.

    By event loop, since what it waits with belongs to one, and ``dags test`` makes a new one for each trigger.
    """
    key = (asyncio.get_running_loop(), connection.key, kind, queue)
    if key not in _watchers:
        _watchers[key] = Watcher(connection, kind, queue, clock, lambda: _watchers.pop(key, None))
    return _watchers[key]
