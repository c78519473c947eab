"""The sandbox's heart: who gets capacity, who waits, who is ended.

:meth:`Engine.tick` looks at the clock and does what is due; nothing happens between two ticks. It has no thread of its
own: the server ticks it, tests tick it by hand.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from airflow_sm_prefer.sandbox import endings, quotas
from airflow_sm_prefer.sandbox.accounts import Account, Caller
from airflow_sm_prefer.sandbox.agenda import Agenda
from airflow_sm_prefer.sandbox.capacity import Capacity
from airflow_sm_prefer.sandbox.demand import Candidate
from airflow_sm_prefer.sandbox.effects import Effects, Emit, RunKey
from airflow_sm_prefer.sandbox.events import Announcer, is_announced
from airflow_sm_prefer.sandbox.faults import Faults
from airflow_sm_prefer.sandbox.floor import Floor
from airflow_sm_prefer.sandbox.following import Follower, Nobody
from airflow_sm_prefer.sandbox.job import Job, StopCause
from airflow_sm_prefer.sandbox.keeping import Forgetful, Keeper
from airflow_sm_prefer.sandbox.pace import Moment, Timekeeper
from airflow_sm_prefer.sandbox.plans import Plan, PlanSpec
from airflow_sm_prefer.sandbox.record import Record, state_entry
from airflow_sm_prefer.sandbox.runs import Ending, Phase, Runner, RunResult
from airflow_sm_prefer.sandbox.scenario import Scenario


class Engine:
    """All accounts' jobs and the capacity that they share.

    Args:
        scenario: What there is, and what goes wrong.
        time: The time, and how fast a scenario, limits and graces go by it.
        runner: What makes jobs run.
        emit: Sends an event for an account and Region.
        endpoint_url: Says where jobs find S3 and the rest.
    """

    def __init__(
        self,
        *,
        scenario: Scenario,
        time: Timekeeper,
        runner: Runner,
        emit: Emit,
        endpoint_url: Callable[[], str],
    ) -> None:
        self.settings = scenario.settings
        self.time = time
        self.clock = time.clock
        self.keeper: Keeper = Forgetful()
        self.follower: Follower = Nobody()
        self.capacity = Capacity(scenario.capacity, scenario.spot)
        self.quotas = dict(scenario.quotas)
        self.faults = Faults(scenario.call_faults, scenario.job_faults)
        self.record = Record()
        self.accounts: dict[Caller, Account] = {}
        self.wake = threading.Event()
        self.plan_specs = list(scenario.plans)
        self._endpoint_url = endpoint_url
        self._inbox: queue.SimpleQueue[tuple[RunKey, Phase | RunResult]] = queue.SimpleQueue()
        self._effects = Effects(runner, self._hear, emit)
        self.announcer = Announcer(scenario.settings, self._effects.emit)
        self.agenda = Agenda()
        self.floor = Floor(self.capacity, self._plan_of)
        self.numbers = 0
        self._lock = threading.RLock()
        self.agenda.add_all(self.capacity.changes())

    # Time

    def next_due(self) -> float:
        """Return the elapsed seconds at which the next tick has something to do."""
        with self._lock:
            if self.floor.is_unsettled or self.follower.is_unsettled or not self._inbox.empty():
                return self.time.now().elapsed
            return self._next_deadline()

    def leap(self, seconds: float) -> None:
        """Let so many of the scenario's seconds pass at once; what is due by then is done by the next tick."""
        with self.locked() as now:
            self.time.pace = self.time.pace.leaping(seconds, now)
            self.keeper.world_changed()

    @contextmanager
    def locked(self) -> Iterator[Moment]:
        """Hold the state still, up to date; afterwards, do what was decided. Gives the present moment."""
        try:
            with self._lock:
                now = self.time.now()
                try:
                    self._step(now)
                    yield now
                finally:
                    self.keeper.commit(now)
        finally:
            self._effects.perform()

    def tick(self) -> None:
        """Do everything that is due by now."""
        with self.locked():
            pass

    # What callers of the API do; they hold the lock

    def account(self, caller: Caller) -> Account:
        """Return what a caller has; it begins with the scenario's plans."""
        if caller not in self.accounts:
            self.accounts[caller] = Account(caller)
            self.keeper.world_changed()
            for spec in self.plan_specs:
                self.give_plan(self.accounts[caller], spec)
        return self.accounts[caller]

    def next_number(self) -> int:
        """Return the number of the next job."""
        self.numbers += 1
        return self.numbers

    def accept(self, job: Job) -> None:
        """Take in a new job; it gets capacity at the next tick at the earliest."""
        self._account_of(job).jobs[job.kind, job.name] = job
        self._account_of(job).count(job, quotas.uses(job.kind, job.demand))
        self.floor.enter(job)
        self.agenda.add(job.pending_deadline(), job)
        self.note(job)
        self.wake.set()

    def stop(self, job: Job, cause: StopCause, now: Moment) -> None:
        """Stop a live job: with a grace if it runs and AWS hasn't failed it, at once otherwise."""
        if self.floor.holder(job.number) is not None and job.run_due is None:
            job.ask_to_stop(cause, now)
            if cause is StopCause.FAULT:
                self._effects.kill((job.number, job.launches))
                self.keeper.job_changed(job)
                return
            if job.grace_ends is None:
                job.grace_ends = now.elapsed + endings.STOP_GRACE_SECONDS
                self.agenda.add(job.grace_ends, job)
            self._effects.stop((job.number, job.launches))
            self.note(job)
            return
        job.ask_to_stop(cause, now)
        self.note(job)
        job.stop(cause.value, now)
        self._leave(job)

    def give_plan(self, account: Account, spec: PlanSpec) -> None:
        """Give one account a plan, if it is for its Region; its instants count from the sandbox's beginning."""
        if spec.region in (None, account.caller.region):
            plan = account.add_plan(spec)
            self.agenda.add_all(plan.edges())
            self.keeper.world_changed()

    def announce(self, account: str, region: str, now: Moment, event: dict[str, Any]) -> None:
        """Have an event sent, as the settings say."""
        self.agenda.add(self.announcer.send(account, region, now.elapsed, event))

    def retain(self, job: Job, seconds: int, now: Moment) -> None:
        """Keep the warm pool of a job for so long, counted from the job's end; 0 ends it."""
        job.request["ResourceConfig"] = {**job.request["ResourceConfig"], "KeepAlivePeriodInSeconds": seconds}
        if seconds:
            job.touch(now)
            self.keeper.job_changed(job)
            self.agenda.add(job.pool_deadline(), job)
        else:
            self.close_pool(job, now)

    def close_pool(self, job: Job, now: Moment) -> None:
        """Give the instances of a job's warm pool back."""
        job.close_pool(now)
        self.floor.leave(job)
        self._account_of(job).count(job, ())
        self.note(job, always=True)

    def delete(self, job: Job) -> None:
        """Forget an ended job; its name can be used again."""
        del self._account_of(job).jobs[job.kind, job.name]
        self.keeper.job_deleted(job)

    # The steps of a tick

    def _step(self, now: Moment) -> None:
        self._listen(now)
        # Each moment by itself: a fake clock may have passed several at once, and capacity that came before a limit
        # was over must be found before it.
        while self._next_deadline() <= now.elapsed:
            self._meet(self.time.pace.reached(self._next_deadline()))
        self._settle(now)
        if self.announcer.send_due(now.elapsed):
            self.keeper.world_changed()

    def _next_deadline(self) -> float:
        return min(self.agenda.next(), self.follower.next_due())

    def _meet(self, moment: Moment) -> None:
        for job in self.agenda.pop_due(moment.elapsed):
            if job is None:
                self.floor.stir()
            elif job.is_live:
                self._look_at(job, job.not_before(moment))
            elif _is_past(job.pool_deadline(), moment):
                self.close_pool(job, job.not_before(moment))
        self.follower.meet(moment)
        self._settle(moment)

    def _settle(self, now: Moment) -> None:
        if self.floor.came_free:
            for job, cause in self.floor.displaced(now.elapsed):
                self._displace(job, cause, job.not_before(now))
        for job, choice in self.floor.sweep(now.elapsed):
            self._place(job, choice, job.not_before(now))
        self.follower.settle(now)

    def _hear(self, key: RunKey, news: Phase | RunResult) -> None:
        """Take a runner's report; it may come from any thread."""
        self._inbox.put((key, news))
        self.wake.set()

    def _listen(self, now: Moment) -> None:
        while not self._inbox.empty():
            (number, launch), news = self._inbox.get()
            job = self.floor.holder(number)
            if job is None or job.launches != launch:
                continue
            if isinstance(news, Phase):
                self._follow(job, news, now)
            else:
                self.end_run(job, news, now)

    def _follow(self, job: Job, phase: Phase, now: Moment) -> None:
        first = job.run_started is None
        job.reach(phase, now)
        self.note(job)
        if first:
            self.agenda.add(job.runtime_deadline(), job)
            self.agenda.add(job.fault_deadline(), job)

    def end_run(self, job: Job, result: RunResult, now: Moment) -> None:
        """Take over how a job's run ended, whatever follows from it."""
        doom, job.doom = job.doom, None
        if job.stopping in {StopCause.INTERRUPTED, StopCause.RESERVATION_ENDED}:
            self._requeue(job, job.stopping.value, now)
            return
        if job.stopping is StopCause.FAULT and doom is not None:
            job.stopping = None
            result = RunResult(Ending.FAILED, doom.reason)
        if job.may_retry(result):
            job.retries += 1
            self._requeue(job, "Starting", now)  # so says RetryStrategy
            return
        job.started = job.started or now.instant
        job.end_run(result, now)
        self._leave(job)

    def _look_at(self, job: Job, now: Moment) -> None:
        """Meet whichever of a job's deadlines has come."""
        if _is_past(job.run_due, now):
            self._start(job, now)
        elif _is_past(job.grace_ends, now):
            self._effects.kill((job.number, job.launches))
        elif _is_past(job.pending_deadline(), now):
            self._expire(job, now)
        elif _is_past(job.runtime_deadline(), now):
            self.stop(job, StopCause.MAX_RUNTIME, now)
        elif _is_past(job.fault_deadline(), now):
            self.stop(job, StopCause.FAULT, now)

    def _expire(self, job: Job, now: Moment) -> None:
        if job.demand.is_spot:
            self.stop(job, StopCause.MAX_WAIT, now)
            return
        endings.expire(job, self.settings, now)
        self._leave(job)

    def _place(self, job: Job, choice: Candidate | None, now: Moment) -> None:
        if choice is not None:
            self._launch(job, choice, now)
        elif not job.demand.waits:
            job.fail(endings.NO_CAPACITY, now)
            self._leave(job)
        else:
            self._keep_waiting(job, now)

    def _keep_waiting(self, job: Job, now: Moment) -> None:
        plans = [plan for arn in job.demand.plans if (plan := self._plan_of(job, arn)) is not None]
        if plans and all(plan.is_over(now.elapsed) for plan in plans):
            endings.outlive_plan(job, self.settings, now)
            self._leave(job)
            return
        job.wait(now)
        # Time before a job's plan begins, and between its blocks, doesn't count (StoppingCondition).
        if job.charge(now, counts=not plans or any(plan.is_usable(now.elapsed) for plan in plans)):
            self.agenda.add(job.pending_deadline(), job)
        self.note(job)

    def _launch(self, job: Job, candidate: Candidate, now: Moment) -> None:
        self.floor.assign(job, candidate)
        job.launch(candidate, now, self.settings.launch_seconds)
        self._account_of(job).count(job, quotas.selected_uses(job.kind, candidate))
        self.agenda.add(job.pending_deadline(), job)
        self.note(job, always=True)
        if self.settings.launch_seconds:
            self.agenda.add(job.run_due, job)
        else:
            self._start(job, now)

    def _start(self, job: Job, now: Moment) -> None:
        job.run_due = None
        if job.doom is None:  # else the run that it takes up was doomed already
            job.doom = self.faults.for_run(job.name)
        self.keeper.job_changed(job)
        block_ends = self.floor.reserved_until(job, now.elapsed)
        instant = None if block_ends is None else self.time.pace.instant_of(block_ends)
        self._effects.start((job.number, job.launches), job.run_spec(self._endpoint_url(), instant))

    def _displace(self, job: Job, cause: StopCause, now: Moment) -> None:
        if not job.is_live:
            self.close_pool(job, now)
        elif job.run_due is not None:
            self._requeue(job, cause.value, now)
        else:
            self.stop(job, cause, now)

    def _requeue(self, job: Job, secondary: str, now: Moment) -> None:
        self.floor.vacate(job)
        job.requeue(now, secondary)
        self.floor.requeue(job)
        self._account_of(job).count(job, quotas.uses(job.kind, job.demand))
        self.note(job)

    def _leave(self, job: Job) -> None:
        """Let go of what a job had, now that it has ended: of everything, unless a warm pool keeps its instances."""
        uses = quotas.pool_uses(job.selected) if job.leaves_pool and job.selected is not None else ()
        if uses:
            job.open_pool(is_kept=quotas.has_room(uses[0], self._account_of(job).usage, self.quotas))
        if job.pool is not None and job.pool.is_kept:
            self.agenda.add(job.pool_deadline(), job)
        else:
            uses = ()
            self.floor.leave(job)
        self._account_of(job).count(job, uses)
        self.note(job)

    # Bookkeeping

    def _account_of(self, job: Job) -> Account:
        return self.account(Caller(job.account, job.region))

    def _plan_of(self, job: Job, arn: str) -> Plan | None:
        return self._account_of(job).plans.get(arn)

    def note(self, job: Job, *, always: bool = False) -> None:
        """Make a change of a job's state known, once."""
        self.keeper.job_changed(job)
        before, job.noted = job.noted, (job.status, job.secondary)
        if job.noted == before and not always:
            return
        self.record.add(job.modified, "state", state_entry(job))
        if self.settings.list_delay_seconds:
            job.remember()
        if is_announced(job.kind, before, job.noted):
            self.agenda.add(self.announcer.announce(job))
        self.follower.follow(job)


def _is_past(deadline: float | None, now: Moment) -> bool:
    return deadline is not None and deadline <= now.elapsed
