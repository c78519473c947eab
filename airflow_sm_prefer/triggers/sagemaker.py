"""The trigger: watches one job, or an instant, on behalf of a task that sleeps."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, ClassVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_sm_prefer import chance
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.placement import budget, telling, watching
from airflow_sm_prefer.placement.events import Command, Glimpsed, Seen, Stop, Tell, Unseen, Watch
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.state import Phase, State
from airflow_sm_prefer.triggers import metrics
from airflow_sm_prefer.triggers.connection import Connection, the_same
from airflow_sm_prefer.triggers.copied_log import CopiedLog
from airflow_sm_prefer.triggers.crowd import crowd
from airflow_sm_prefer.triggers.kill import is_by_a_person, stop_if_abandoned
from airflow_sm_prefer.triggers.turnstile import turnstile
from airflow_sm_prefer.triggers.waits import Over, Place, Wait
from airflow_sm_prefer.triggers.watch import Watcher, watcher_for

#: Airflow loses a task whose trigger fires while its deferral is still being written down
#: (https://github.com/apache/airflow/issues/71580), so that the first look waits this long, in real seconds.
_SETTLE = 5.0


class SageMakerPreferTrigger(BaseTrigger):
    """Watches a job until it is over, or sleeps until an instant; then the worker goes on.

    Its only writes to AWS are stops: of a job that has no capacity when its time to wait is over, and of one whose
    task a person has ended. It creates nothing, so that it may run twice, move and be frozen without harm.

    Args:
        state: The machine's state, as :meth:`State.to_json` writes it.
        task: The digest of the task instance, which comes back in the event.
        poll_interval: Real seconds between two looks at the job.
        aws_conn_id: The Airflow connection.
        region_name: The Region.
        verify: TLS verification, as boto3 takes it.
        botocore_config: Settings of the boto3 client.
        print_log: Whether the job's CloudWatch lines come into the task's log while it runs.
        later: What a later version of this package may have added; not needed here.
    """

    #: Where the time comes from; tests put another clock here.
    clock: ClassVar[Clock] = SystemClock()
    #: Draws evenly from 0 to 1; tests put another here too.
    draw: ClassVar[staticmethod[[], float]] = staticmethod(chance.draw)

    def __init__(  # noqa: PLR0917 - Airflow passes them by name
        self,
        state: Mapping[str, Any],
        task: str = "",
        poll_interval: float = 30.0,
        aws_conn_id: str | None = "aws_default",
        region_name: str | None = None,
        verify: bool | str | None = None,
        botocore_config: dict[str, Any] | None = None,
        print_log: bool = False,
        **later: Any,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        del later
        self._state = json.dumps(dict(state))
        self.task_digest = task
        self.poll_interval = poll_interval
        self.connection = the_same(Connection(aws_conn_id, region_name, verify, botocore_config))
        self.print_log = print_log
        self._killed = False
        self._copied: CopiedLog | None = None

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return what makes this trigger again: plain JSON types, no request and no secret."""
        kwargs = {
            "state": self.state,
            "task": self.task_digest,
            "poll_interval": self.poll_interval,
            "print_log": self.print_log,
            **self.connection.to_json(),
        }
        return f"{type(self).__module__}.{type(self).__qualname__}", kwargs

    @property
    def state(self) -> dict[str, Any]:
        """The machine's state, in its wire form."""
        state: dict[str, Any] = json.loads(self._state)
        return state

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield one event; nothing comes after it."""
        crowd.enter()
        try:
            if self.state.get("phase") == Phase.SLEEPING:
                await asyncio.sleep(_SETTLE)
                await self._sleep_until(self._due(self._read()))
            else:
                await turnstile().through(_SETTLE)
                await self._watch()
        except asyncio.CancelledError as cancelled:
            if is_by_a_person(cancelled):
                self._kill()
            raise
        finally:
            crowd.leave()
        yield TriggerEvent({"state": self.state, "task": self.task_digest})  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Stop the job if a person has ended its task, and nobody else looks after it."""
        self._kill()

    def _kill(self) -> None:
        state = self._read()
        if state.job_name and not self._killed:
            self._killed = True
            stop_if_abandoned(self.task_instance, state, self.connection, self.log)

    def _read(self) -> State:
        try:
            return State.from_json(self.state)
        except StateUnreadable as error:
            self.log.error("%s", error)
            raise

    async def _watch(self) -> None:
        """Hear of the job until the machine wants something that is for a worker to do; the state is that before it."""
        state = self._read()
        watcher = watcher_for(self.connection, state.kind, _queue_of(state), self.clock)
        due = watching.next_look(state, self.clock.time())
        wait = watcher.watch(state.handle, state.submitted, due, self.poll_interval)
        try:
            self._begin(wait, state)
            # While nothing happens nothing is kept but text: a collection of garbage holds up all that it looks at.
            del state
            while not isinstance(heard := wait.heard(), Over):
                if heard is None:
                    await wait.news()
                elif not self._goes_on(watcher, wait, heard):
                    return
        finally:
            wait.close()
            self._write_down()

    def _begin(self, wait: Wait, state: State) -> None:
        """Say what the task's log has told before, and go on with the job's."""
        wait.status = state.status
        self._copy_log(state)
        if self._copied and state.is_queued:
            wait.status = ""  # which run of the service job has the log, a Describe tells

    def _goes_on(self, watcher: Watcher, wait: Wait, heard: Seen | Unseen | Glimpsed | Place) -> bool:
        """Have the machine hear of the job; returns whether it only wants to hear more."""
        before = self._read()
        if isinstance(heard, Place):
            self.log.info("%s", telling.place_in_queue(before, heard.number))
            return True
        now = self.clock.time()
        state, commands = step(before, heard, now, self.draw())
        if not all(isinstance(command, Tell | Stop | Watch) for command in commands):
            # The worker looks for itself and decides; it is told where we were.
            return False
        self._carry_out(commands, watcher)
        self._copy_log(state, heard.observation if isinstance(heard, Seen) else None)
        _tell_pending(before, state, now)
        self._state = json.dumps(state.to_json())
        wait.goes_on(state.status, _until(commands))
        return True

    def _carry_out(self, commands: Iterable[Command], watcher: Watcher) -> None:
        for command in commands:
            if isinstance(command, Tell):
                (self.log.warning if command.warning else self.log.info)("%s", command.text)
            elif isinstance(command, Stop):
                watcher.stop(command, self.log)

    def _copy_log(self, state: State, shown: Observation | None = None) -> None:
        """Have the log of a job that has capacity come into the task's log."""
        if self.print_log and state.capacity_at is not None:
            if self._copied is None:
                self._copied = CopiedLog(self.connection, self.log, self.clock)
            self._copied.keep_up(state, shown)

    def _write_down(self) -> None:
        """Note how far the log was copied, and copy nothing more."""
        if self._copied is not None:
            self._state = json.dumps(self._copied.noted(self._read()).to_json())
            self._copied.close()

    async def _sleep_until(self, instant: float) -> None:
        while (left := instant - self.clock.time()) > 0:
            await asyncio.sleep(min(left, 60.0))

    def _due(self, state: State) -> float:
        return state.wake_at or 0.0


def _queue_of(state: State) -> str | None:
    """Return the queue that the current job is in; None for one of SageMaker's own."""
    return state.entries[state.waves[state.wave][0]].queue if state.is_queued else None


def _tell_pending(before: State, state: State, now: float) -> None:
    """Tell the metric of a job that has its capacity now and hadn't before."""
    if before.capacity_at is None and state.capacity_at is not None and state.selected_type:
        metrics.pending(state.selected_type, budget.spent(state, now))


def _until(commands: Iterable[Command]) -> float:
    """Return when the machine wants to hear of the job at the latest."""
    return next((command.until for command in commands if isinstance(command, Watch) and command.until), math.inf)
