"""A worker's part: carries out what the machine asks for, until there is something to wait for or it is over."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from airflow_sm_prefer import chance
from airflow_sm_prefer.aws.answers import look_failed
from airflow_sm_prefer.aws.failures import CallFailed
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.service_job import observe
from airflow_sm_prefer.operators.creation import Creation, Killed
from airflow_sm_prefer.operators.plan import Plan, envelope
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.events import (
    AskPlans,
    Created,
    Event,
    Fail,
    Finish,
    PlansSeen,
    Seen,
    Sleep,
    Stop,
    Submit,
    Tell,
    Watch,
    Woken,
)
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.plans import PlanStatus
from airflow_sm_prefer.placement.state import Entry, State

#: How long a task may stay in a worker to wait for something, in real seconds; beyond that it is slept for elsewhere.
#: To come back to a worker costs about as much of its time.
_SHORT = 1.0

Pause = Watch | Sleep | Finish | Fail


class Worker:
    """Drives the machine in a worker."""

    def __init__(
        self,
        *,
        planner: Callable[[], Plan],
        this: Try,
        jobs: JobsApi | RoutedJobs,
        clock: Clock,
        log: Any,
        remember: Callable[[State], None],
        is_killed: Callable[[], bool] = lambda: False,
        is_left: Callable[[str], bool] = lambda _: False,
        waits: bool = True,
        ask_plan: Callable[[str], PlanStatus | None] = lambda _: None,
        draw: Callable[[], float] = chance.draw,
    ) -> None:
        """Take what the worker stands on.

        Args:
            planner: Makes the plan when there is something to submit. A job that is there already is watched to its
                end even if what is written now is wrong.
            this: The try on whose behalf.
            jobs: The calls to AWS.
            clock: The time.
            log: Where the machine's words go.
            remember: Called with the state before each create, and after it.
            is_killed: Whether the task was told to end, so that nothing new may be created.
            is_left: Whether a job, by its ARN, is another try's or the triggerer's affair by now.
            waits: False for a task that submits and returns.
            ask_plan: Says how a training plan stands; None where AWS doesn't.
            draw: Draws evenly from 0 to 1.
        """
        self.this, self.jobs, self.kind = this, PatientJobs(jobs, clock, draw), jobs.kind
        self._planner, self._clock, self._log = planner, clock, log
        self._remember, self._is_killed, self._is_left = remember, is_killed, is_left
        self._waits, self._draw, self._ask_plan = waits, draw, ask_plan
        self._began = clock.time()
        #: What AWS said of the present job when it was last looked at.
        self.described: dict[str, Any] | None = None

    @cached_property
    def plan(self) -> Plan:
        """What may be submitted."""
        return self._planner()

    def run(self, state: State, event: Event) -> tuple[State, Pause]:
        """Go on until the machine waits for something that takes time, or is over.

        Raises:
            CallFailed: AWS could not say whose a job is that has our name; nothing was created.
            Killed: the task was told to end before, or while, it created a job, or another try has taken its place.
        """
        while True:
            state, commands = step(state, event, self._clock.time(), self._draw())
            outcome = self._carry_out(state, commands)
            if not isinstance(outcome, Pause):
                event = outcome
                continue
            if not (isinstance(outcome, Sleep) and self._is_short(outcome)):
                return state, outcome
            event = self._nap(outcome)

    def look(self, state: State) -> Event:
        """Look at the job."""
        try:
            self.described = self.jobs.describe(state.handle)
        except CallFailed as failed:
            return look_failed(failed.failure)
        return Seen(observe(self.kind, self.described))

    def _carry_out(self, state: State, commands: tuple[Any, ...]) -> Event | Pause:
        for command in commands:
            match command:
                case Tell():
                    (self._log.warning if command.warning else self._log.info)("%s", command.text)
                case Stop():
                    self._stop(command.handle, command.why)
                case AskPlans():
                    return PlansSeen({n: self._plan_of(state.entries[n]) for n in command.entries})
                case Submit():
                    return self._submit(state, command)
                case _:
                    pause: Pause = command
                    return pause
        msg = "the machine asked for nothing to wait for"
        raise AssertionError(msg)

    def _plan_of(self, entry: Entry) -> PlanStatus | None:
        return self._ask_plan(entry.plan) if entry.plan else None

    def _submit(self, state: State, command: Submit) -> Event:
        now = self._clock.time()
        owner = self._owner(state, command.submission, now)
        sent = envelope(self.plan, self.this, state, owner, now)
        request = self.plan.request(sent, command.wave, command.without)
        self._remember(state.but(job_name=sent.name))
        if self._is_killed():
            msg = "The task was told to end before its job was created."
            raise Killed(msg)
        created = self._creation.create(request, sent.name, command.submission, state.looks)
        if not isinstance(created, Created):
            return created
        self.described = None
        state = state.but(job_name=sent.name, job_arn=created.arn, submission=command.submission)
        self._remember(state)
        if self._is_killed() and self._waits and not self._is_left(created.arn):
            # Told to end while AWS was creating it: nobody else knows of this job yet.
            self._stop(state.handle, "airflow_sm_prefer: the task was told to end.")
            msg = f"The task was told to end while its job {sent.name} was being created: AWS was asked to stop it."
            raise Killed(msg)
        return created

    @cached_property
    def _creation(self) -> Creation:
        return Creation(self.jobs, self.plan, self.this, self._log)

    def _stop(self, handle: str, why: str) -> None:
        """Send a stop; if AWS doesn't take it now, whoever watches the job sends it again."""
        try:
            self.jobs.stop(handle, why)
        except CallFailed as failed:
            self._log.warning("%s could not be stopped yet: %s", handle, failed.failure)

    def _owner(self, state: State, number: int, now: float) -> Ownership:
        return Ownership(
            task=Ownership.task_tag(self.this.identity),
            deployment=self.this.identity.deployment,
            ti_id=self.this.ti_id,
            max_tries=self.this.max_tries,
            fingerprint=self.plan.fingerprint,
            submission=number,
            first_submit=state.first_submit or now,
            pending_spent=budget.spent(state, now),
            recoveries=state.recoveries,
            waits=self._waits,
            wave=state.wave,
            pieces=Ownership.task_pieces(self.this.identity),
        )

    def _is_short(self, pause: Sleep) -> bool:
        """Whether the task may stay in this worker for a pause: all that it does there together is to be short."""
        return pause.until - self._began <= _SHORT

    def _nap(self, pause: Sleep) -> Event:
        self._clock.sleep(max(0.0, pause.until - self._clock.time()))
        return Woken()
