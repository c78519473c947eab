"""The trigger: watches one job, or an instant, on behalf of a task that sleeps."""

from __future__ import annotations

import asyncio
import math
import random
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any, ClassVar

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_sm_prefer.aws.log_groups import log_group
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.placement import budget, telling
from airflow_sm_prefer.placement.events import Command, Seen, Stop, Tell, Watch
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.state import Phase, State
from airflow_sm_prefer.triggers import metrics
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.job_logs import Following, logs_for
from airflow_sm_prefer.triggers.kill import is_by_a_person, stop_if_abandoned
from airflow_sm_prefer.triggers.turnstile import turnstile
from airflow_sm_prefer.triggers.waits import Over, Place
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
        self.state = dict(state)
        self.task_digest = task
        self.poll_interval = poll_interval
        self.connection = Connection(aws_conn_id, region_name, verify, botocore_config)
        self.print_log = print_log
        self._killed = False
        self._following: Following | None = None
        self._followed = ""

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

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait, and yield one event; nothing comes after it."""
        try:
            state = await self._waited()
        except asyncio.CancelledError as cancelled:
            if is_by_a_person(cancelled):
                self._kill()
            raise
        yield TriggerEvent({"state": state.to_json(), "task": self.task_digest})  # type: ignore[no-untyped-call]

    async def on_kill(self) -> None:
        """Stop the job if a person has ended its task, and nobody else looks after it."""
        self._kill()

    def _kill(self) -> None:
        state = State.from_json(self.state)
        if state.job_name and not self._killed:
            self._killed = True
            stop_if_abandoned(self.task_instance, state, self.connection, self.log)

    async def _waited(self) -> State:
        """Wait until there is something for a worker to do, and return the state before it."""
        if self.state.get("phase") == Phase.SLEEPING:
            await asyncio.sleep(_SETTLE)
            state = self._read()
            await self._sleep_until(self._due(state))
            return state
        await turnstile().through(_SETTLE)
        return await self._watch(self._read())

    def _read(self) -> State:
        try:
            return State.from_json(self.state)
        except StateUnreadable as error:
            self.log.error("%s", error)
            raise

    async def _watch(self, state: State) -> State:
        """Hear of the job until the machine wants something that is for a worker to do."""
        now = self.clock.time()
        watcher = watcher_for(self.connection, state.kind, _queue_of(state), self.clock)
        due = budget.next_deadline(state, now)
        wait = watcher.watch(state.handle, state.submitted, due, self.poll_interval)
        wait.status = state.status
        try:
            self._follow_log(state, None if state.is_queued else state.job_name)
            if self._is_log_due(state):
                wait.status = ""  # which run of the service job has the log, a Describe tells
            while not isinstance(heard := await wait.hear(), Over):
                if isinstance(heard, Place):
                    self.log.info("%s", telling.place_in_queue(state, heard.number))
                    continue
                before, state = state, self._noted(state)
                state, commands = step(state, heard, self.clock.time(), random.random())  # noqa: S311 - spreads load
                if not all(isinstance(command, Tell | Stop | Watch) for command in commands):
                    # The worker looks for itself and decides; it is told where we were.
                    return self._noted(before)
                self._carry_out(commands, watcher)
                if isinstance(heard, Seen):
                    self._follow_log(state, heard.observation.runs_as if state.is_queued else state.job_name)
                _tell_pending(before, state, self.clock.time())
                wait.goes_on(state.status, _until(commands))
            return self._noted(state)
        finally:
            wait.close()
            if self._following:
                self._following.close()

    def _carry_out(self, commands: Iterable[Command], watcher: Watcher) -> None:
        for command in commands:
            if isinstance(command, Tell):
                (self.log.warning if command.warning else self.log.info)("%s", command.text)
            elif isinstance(command, Stop):
                watcher.stop(command, self.log)

    def _is_log_due(self, state: State) -> bool:
        return self.print_log and state.capacity_at is not None and self._following is None

    def _follow_log(self, state: State, name: str | None) -> None:
        """Have the lines of a job that runs come into the task's log; a service job's latest attempt has a log anew."""
        if not self.print_log or state.capacity_at is None or name is None:
            return
        if self._following and self._followed == name:
            return
        begun = (state.logged_until, state.logged_streams) if self._following is None else (None, None)
        if self._following:
            self._following.close()
        self._followed = name
        self._following = logs_for(self.connection).follow(log_group(state.kind), name, self._print, *begun)

    def _print(self, line: str) -> None:
        self.log.info("%s", line)

    def _noted(self, state: State) -> State:
        return self._following.noted(state) if self._following else state

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
