"""Events about jobs for whoever waits in this process: one reader for each event loop and connection.

``[sm_prefer] events_queue`` names the SQS queue, one for each triggerer. Reading it never fails a task: what goes wrong
is said once in this module's log and tried again, and meanwhile jobs are found by polling.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Final

from asgiref.sync import sync_to_async

from airflow_sm_prefer.aws.event_queue import LONGEST_POLL, EventQueue, Hint
from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import SmPreferError
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.failing import what_failed

log = logging.getLogger(__name__)

OnHint = Callable[[Hint], None]

#: Seconds without an answer from the queue after which it is not relied on: three long polls.
_HEALTHY_FOR: Final = 3.0 * LONGEST_POLL

#: Seconds between two polls that bring next to nothing, so that events that trickle in are read several at a time: a
#: poll costs eight milliseconds of CPU however few they are. One that brings more is followed by the next at once.
_REST: Final = 0.25
_FEW: Final = 5

#: Seconds before a queue that can't be read is tried again: at first, and at most.
_FIRST_PAUSE: Final = 1.0
_LONGEST_PAUSE: Final = 60.0

_WHAT_TO_DO: Final = {
    FailureKind.NOT_FOUND: (
        "There is no such queue: make it with deploy/events.yaml or sm-prefer events apply, or unset"
        " [sm_prefer] events_queue."
    ),
    FailureKind.DENIED: "Allow sqs:GetQueueUrl, sqs:ReceiveMessage and sqs:DeleteMessage on the queue.",
    FailureKind.CREDENTIALS: "Renew the credentials of the Airflow connection, or see that it is there.",
}


def listen(connection: Connection, on_hint: OnHint) -> None:
    """Have a function called in this event loop with every hint, until :func:`unlisten`.

    Without a queue in the settings it is never called. Hints come as they are read, whatever connection or account the
    listener had in mind: a message is read by one reader only, and two connections may share a queue. To listen again
    is to see to it that there is a reader: should it ever have ended by itself, it begins anew.

    Args:
        connection: How to reach the queue.
        on_hint: What to call; whatever it raises ends nothing.
    """
    loop = asyncio.get_running_loop()
    key = loop, connection.key
    if key not in _sources:
        _sources[key] = EventSource(lambda: _open(connection), lambda hint: _hand_out(loop, hint))
    _sources[key].listen(on_hint)


def unlisten(connection: Connection, on_hint: OnHint) -> None:
    """Call a function no more. A connection's reader ends with its last listener, after the poll that it is in."""
    key = asyncio.get_running_loop(), connection.key
    if (source := _sources.get(key)) is not None and not source.unlisten(on_hint):
        del _sources[key]


def is_healthy(connection: Connection) -> bool:
    """Whether a connection's queue has answered within the last minute.

    Only then may jobs be polled less often. Whether events reach the queue, it can't tell.
    """
    source = _sources.get((asyncio.get_running_loop(), connection.key))
    return source is not None and source.is_healthy


class EventSource:
    """Reads one queue as long as somebody listens."""

    def __init__(
        self,
        make: Callable[[], EventQueue | None],
        hand_out: OnHint,
        clock: Clock | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Take what it needs; nothing is done before somebody listens.

        Args:
            make: Makes the queue, or None where none is configured. Blocks; called again after a failure.
            hand_out: Called in the event loop with each hint.
            clock: What tells how long ago the queue has answered.
            sleep: What is waited with before another try.
        """
        self._make = make
        self._hand_out = hand_out
        self._clock = clock or SystemClock()
        self._sleep = sleep
        self._listeners: list[OnHint] = []
        self._task: asyncio.Task[None] | None = None
        self._queue: EventQueue | None = None
        self._answered: float | None = None
        self._problem: str | None = None

    def listen(self, on_hint: OnHint) -> None:
        """Add a listener, unless it is one already, and read if nobody does."""
        if on_hint not in self._listeners:
            self._listeners.append(on_hint)
        if self._task is None or self._task.done():
            # In no trigger's context: what is logged here belongs to no task's log.
            self._task = asyncio.get_running_loop().create_task(self._run(), context=contextvars.Context())

    def unlisten(self, on_hint: OnHint) -> bool:
        """Remove a listener; returns whether there is another."""
        if on_hint in self._listeners:
            self._listeners.remove(on_hint)
        return bool(self._listeners)

    @property
    def is_healthy(self) -> bool:
        """Whether the queue has answered within the last minute."""
        return self._answered is not None and 0 <= self._clock.time() - self._answered < _HEALTHY_FOR

    def tell(self, hint: Hint) -> None:
        """Call the listeners."""
        for on_hint in tuple(self._listeners):
            try:
                on_hint(hint)
            except Exception:
                log.exception("What was to be done about an event failed, and goes without: %s", hint)

    async def _run(self) -> None:
        pause = _FIRST_PAUSE
        while self._listeners:
            try:
                if not await self._read():
                    return
            except Exception as error:
                self._queue = None  # the next has the connection as it is then
                self._say(error)
                await self._sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                pause = _FIRST_PAUSE

    async def _read(self) -> bool:
        """Wait for events and hand them out; returns whether there is a queue."""
        if self._queue is None:
            # Airflow may have to be asked for the connection, which a thread of any other kind can't do in 3.1 and 3.2.
            self._queue = await sync_to_async(self._make, thread_sensitive=False)()
        if self._queue is None:
            return False
        hints = await _in_thread(self._queue.receive, LONGEST_POLL)
        self._answered = self._clock.time()
        if self._problem is not None:
            self._problem = None
            log.info("Events are read again.")
        for hint in hints:
            self._hand_out(hint)
        if len(hints) < _FEW:
            await self._sleep(_REST)
        return True

    def _say(self, error: Exception) -> None:
        """Say what went wrong, once for each kind of failure until there are events again."""
        failure = what_failed(error)
        is_unforeseen = failure.kind is FailureKind.OTHER
        problem = failure.code if is_unforeseen else failure.kind
        if problem == self._problem:
            return
        self._problem = problem
        log.warning(
            "Events can't be read, and are tried again each minute; until then jobs are found by polling. %s %s",
            failure,
            _WHAT_TO_DO.get(failure.kind, ""),
            exc_info=error if is_unforeseen and not isinstance(error, SmPreferError) else None,
        )


def _in_thread(call: Callable[[float], list[Hint]], wait: float) -> asyncio.Future[list[Hint]]:
    """Make a call in a thread that no end of a process waits for: a long poll takes 20 seconds."""
    done: Future[list[Hint]] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(call(wait))
        except BaseException as error:  # noqa: BLE001, RUF100 - whatever it is, the loop hears of it
            done.set_exception(error)

    threading.Thread(target=run, name="sm-prefer-events", daemon=True).start()
    return asyncio.wrap_future(done)


_sources: dict[tuple[asyncio.AbstractEventLoop, str], EventSource] = {}


def _hand_out(loop: asyncio.AbstractEventLoop, hint: Hint) -> None:
    """Tell all listeners of an event loop."""
    for (theirs, _), source in tuple(_sources.items()):
        if theirs is loop:
            source.tell(hint)


def _open(connection: Connection) -> EventQueue | None:
    """Make the queue that the settings name. Blocks: the connection is read from Airflow, and a client built."""
    queue = settings.events_queue()
    return EventQueue(connection.hook().client_for("sqs"), queue) if queue else None
