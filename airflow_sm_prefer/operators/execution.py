"""The way of one task in a worker: from execute, over deferrals, to its result."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

from airflow_sm_prefer.aws.json_clean import json_clean
from airflow_sm_prefer.aws.log_groups import log_group
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.aws.redact import redacted
from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.errors import InvalidInput, JobExists, StateUnreadable
from airflow_sm_prefer.hooks import settings, state_store
from airflow_sm_prefer.links import JobLink, QueuedJob
from airflow_sm_prefer.model.accelerators import differing
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.rendered import normalise_config
from airflow_sm_prefer.model.service_job import training_job
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.operators import failures
from airflow_sm_prefer.operators.checks import pending_budget, plan_of
from airflow_sm_prefer.operators.creation import Killed
from airflow_sm_prefer.operators.description import describe_all
from airflow_sm_prefer.operators.handover import is_left, take_over
from airflow_sm_prefer.operators.lookback import describe_if_there, look_back
from airflow_sm_prefer.operators.plan import Plan
from airflow_sm_prefer.operators.plans_check import PlanReader
from airflow_sm_prefer.operators.quotas_check import find_short, leave_out
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.operators.worker import Pause, Worker
from airflow_sm_prefer.placement import budget, telling
from airflow_sm_prefer.placement.deadlines import first_after
from airflow_sm_prefer.placement.events import Event, Fail, Finish, Found, Sleep, Watch, Woken
from airflow_sm_prefer.placement.queueing import inner_name
from airflow_sm_prefer.placement.queues import paused, unfit_entries, without_effect
from airflow_sm_prefer.placement.record import decision_record
from airflow_sm_prefer.placement.state import Limits, Phase, State

if TYPE_CHECKING:
    from airflow_sm_prefer.operators.base import SageMakerPreferOperator

#: Behind our own deadline, Airflow's: the last net.
_NET = timedelta(days=1)


class Execution:
    """One stay of a task in a worker."""

    def __init__(self, operator: SageMakerPreferOperator, context: Any) -> None:
        """Take the operator, whose arguments are rendered by now, and the task's context."""
        self._operator, self._context = operator, context
        self._kind, self._hook, self._log, self._clock = operator.kind, operator.hook, operator.log, operator.clock
        self._readers: dict[str, LogReader] = {}

    def begin(self) -> dict[str, Any]:
        """Submit the job, or take up the one that an earlier try left, and wait for its end.

        A deferral leaves by raising.
        """
        worker = self._worker
        try:
            self._operator.check_own_arguments()
            shown = json.dumps(redacted(worker.plan.config), indent=2, default=str)
            self._log.info("The request, without instances:\n%s", shown)
            self._warn_of_lost_work(worker.plan)
            limits = self._limits(worker.plan)
            begun = self._first_step(limits)
        except InvalidInput as error:
            raise failures.InvalidTask(str(error)) from error
        return self._drive(*begun)

    def resume(self, event: Mapping[str, Any] | None) -> dict[str, Any]:
        """Go on when the trigger has seen something.

        Raises:
            StateUnreadable: the event isn't one of this task's trigger.
        """
        state = self._state_of(event)
        if summary := telling.summary(state, self._clock.time()):
            self._log.info("%s", summary)
        following = Woken() if state.phase is Phase.SLEEPING else self._worker.look(state)
        return self._drive(state, following)

    # -- how it begins -----------------------------------------------------------------------------------

    @cached_property
    def _worker(self) -> Worker:
        return Worker(
            planner=self._plan,
            this=self._try,
            jobs=self._hook.jobs(self._kind),
            clock=self._clock,
            log=self._log,
            remember=self._remember,
            is_killed=lambda: self._operator.killed,
            is_left=lambda arn: is_left(self._hook.jobs(self._kind), arn, self._try),
            waits=self._operator.wait_for_completion,
            ask_plan=self._plans.read,
        )

    @cached_property
    def _plans(self) -> PlanReader:
        return PlanReader(self._hook.plans.status)

    @cached_property
    def _try(self) -> Try:
        this = Try.from_context(self._context, settings.deployment())
        self._operator.this_try = this
        return this

    def _plan(self) -> Plan:
        """Check everything, now rendered, before AWS is asked for anything; then expand what AWS has to expand."""
        plan = plan_of(self._operator)
        config = dict(plan.config)
        if "RoleArn" in config:
            config["RoleArn"] = self._hook.expand_role(config["RoleArn"])
        return replace(plan, config=config)

    def _limits(self, plan: Plan) -> Limits:
        of = self._operator
        total = [of.max_ingestion_time, of.max_attempts and of.max_attempts * of.check_interval]
        return Limits(
            budget=pending_budget(of.max_pending, plan.config),
            patience=of.patience.total_seconds(),
            total=min((float(limit) for limit in total if limit), default=None),
            max_runtime=plan.max_runtime(),
            speed=self._hook.clock_speed,
        )

    def _warn_of_lost_work(self, plan: Plan) -> None:
        """Say that a job that is started again begins anew, if it has nowhere to keep what it has done."""
        if self._kind is JobKind.TRAINING and self._operator.recover and not plan.keeps_checkpoints:
            self._log.warning(
                "recover=%d, and the request has no CheckpointConfig: a job that is started again begins anew.",
                self._operator.recover,
            )

    def _first_step(self, limits: Limits) -> tuple[State, Event]:
        worker, (stored, submitted) = self._worker, state_store.load(self._context)
        event, used = look_back(worker.jobs, worker.plan, worker.this, stored)
        if worker.this.try_number == 1 and not isinstance(event, Found):
            self._refuse_existing(worker)
        first_submit = event.first_submit if isinstance(event, Found) and event.is_retry else None
        since = first_submit or submitted
        state = self._start(worker.plan, limits, since).but(submission=used, first_submit=since)
        if isinstance(event, Found) and event.goes_on:
            return self._gone_on_with(event, state, stored), event
        return leave_out(state, self._prepare(worker.plan), self._clock.time()), event

    def _gone_on_with(self, found: Found, state: State, stored: State | None) -> State:
        """Take over the job of the try before if it lives, and that try's account of the list if there is one."""
        if not found.seen.is_terminal:
            take_over(self._worker.jobs, found.arn, self._worker.this, self._log)
        # Airflow has deleted what the try before had pushed.
        self._show(state.but(job_name=found.seen.name, job_arn=found.arn, submission=found.submission, wave=found.wave))
        if stored is None or not stored.is_of_the_same_list(state):
            return state
        return state.but(attempts=stored.attempts, round=stored.round, dropped=stored.dropped)

    def _start(self, plan: Plan, limits: Limits, since: float | None) -> State:
        of = self._operator
        return plan.start(
            self._with_start_by(limits, since or self._clock.time()),
            recover=of.recover,
            recover_any=of.recover_on == "any",
            submits_only=not of.wait_for_completion,
        )

    def _prepare(self, plan: Plan) -> Mapping[int, str]:
        """Do what comes before a first submission, and not before a job that is there already is watched.

        Returns the entries that no quota lets in, and why.
        """
        if self._kind is JobKind.TRAINING:
            self._plans.check(plan.preferences, plan.config)
            plan.check_payloads()
            if differs := differing(plan.preferences):
                self._log.warning("%s", differs)
        short = dict(self._short_of_quota(plan)) if self._operator.check_quotas else {}
        short |= self._unfit_for_queue(plan)
        self._hook.configure_s3_resources(normalise_config(self._operator.config))
        return short

    def _short_of_quota(self, plan: Plan) -> Mapping[int, str]:
        short = find_short(self._kind, plan.preferences, self._hook.quotas.named)
        for why in short.values():
            self._log.warning("Left out for good: %s. Raise it in Service Quotas.", why)
        return short

    def _unfit_for_queue(self, plan: Plan) -> Mapping[int, str]:
        """Ask Batch about the queues on the list; returns the entries that theirs can't take as things stand."""
        if not plan.queues:
            return {}
        known = self._operator.read_queues(plan.queues)
        unfit = unfit_entries(plan.preferences, known)
        for why in unfit.values():
            self._log.warning("Left out: %s.", why)
        for why in paused(plan.preferences, known):
            self._log.warning("No job begins now in the job queue %s.", why)
        if plan.terms.priority is not None and (names := without_effect(plan.preferences, known)):
            self._log.warning("scheduling_priority has no effect in %s: by arrival alone.", ", ".join(names))
        return unfit

    def _with_start_by(self, limits: Limits, since: float) -> Limits:
        if self._operator.start_by is None:
            return limits
        instant = first_after(self._operator.start_by, since, self._context["dag"].timezone)
        return replace(limits, start_by=instant)

    def _refuse_existing(self, worker: Worker) -> None:
        name, of = worker.plan.name_prefix, self._operator
        if of.action_if_job_exists != "fail" or not of.check_if_job_exists or not name:
            return
        if describe_if_there(worker.jobs, name) is not None:
            msg = f"A {self._kind.value} job named {name} exists, and action_if_job_exists is 'fail'."
            raise JobExists(msg)

    def _remember(self, state: State) -> None:
        if state.job_arn:
            self._show(state)
        if not state.job_arn or state.is_queued:
            # One of SageMaker's own is found by the name that was written down before it was there.
            state_store.save(self._context, state)

    def _show(self, state: State) -> None:
        """Have the operator know the job, and the task's links lead to it."""
        self._hold(state)
        JobLink.persist_job(self._context, self._operator, self._kind, state.job_name, self._queued(state))

    def _queued(self, state: State) -> QueuedJob | None:
        """Return what links need to know of a service job."""
        queue = state.entries[state.waves[state.wave][0]].queue
        if queue is None or not state.is_queued:
            return None
        return QueuedJob(state.job_arn, queue, f"AWSBatch{inner_name(self._try.identity, state.submission)}")

    def _hold(self, state: State) -> None:
        """Have the operator know the job, for when it is told to end."""
        self._operator.job_name, self._operator.job_arn = state.job_name or None, state.job_arn or None

    # -- how it goes on ----------------------------------------------------------------------------------

    def _drive(self, state: State, event: Event) -> dict[str, Any]:
        """Carry the machine to its end; a deferral leaves by raising."""
        while True:
            state, pause = self._run(state, event)
            self._hold(state)
            if isinstance(pause, Fail):
                return self._failed(state, pause.judgement)
            if isinstance(pause, Finish) or self._only_submits(state):
                return self._result(state)
            if self._operator.deferrable:
                self._defer(state)
            event = self._wait(state, pause)

    def _only_submits(self, state: State) -> bool:
        """Whether the job is there and nobody is to wait for it; a pause before that is waited for all the same."""
        return state.phase is Phase.WATCHING and not self._operator.wait_for_completion

    def _run(self, state: State, event: Event) -> tuple[State, Pause]:
        try:
            return self._worker.run(state, event)
        except InvalidInput as error:
            raise failures.InvalidTask(str(error)) from error
        except Killed as killed:
            raise failures.NotRetried(str(killed)) from None

    def _wait(self, state: State, pause: Watch | Sleep) -> Event:
        """Wait in the worker, for a task that isn't deferrable."""
        if isinstance(pause, Sleep):
            self._clock.sleep(pause.until - self._clock.time())
            return Woken()
        self._print_log(state)
        self._clock.sleep(self._poll_interval(state))
        return self._worker.look(state)

    def _poll_interval(self, state: State) -> float:
        return max(1.0, self._operator.check_interval / state.limits.speed)

    def _defer(self, state: State) -> NoReturn:
        of, now = self._operator, self._clock.time()
        due = budget.deferral_ends(state, now) - now
        of.defer(
            trigger=of.trigger_class(
                state=state.to_json(),
                task=self._try.identity.digest,
                poll_interval=self._poll_interval(state),
                aws_conn_id=of.aws_conn_id,
                region_name=of.region_name,
                verify=of.verify,
                botocore_config=of.botocore_config,
                print_log=of.print_log,
            ),
            method_name="resume",
            timeout=of.execution_timeout or timedelta(seconds=due) + _NET,
        )
        raise AssertionError  # pragma: no cover - defer raises

    def _state_of(self, event: Mapping[str, Any] | None) -> State:
        if not event or "state" not in event or event.get("task") != self._try.identity.digest:
            msg = "The task was resumed with an event that isn't its trigger's. Clear it: it begins anew then."
            raise StateUnreadable(msg)
        return State.from_json(event["state"])

    # -- how it ends -------------------------------------------------------------------------------------

    def _result(self, state: State) -> dict[str, Any]:
        of = self._operator
        shown = describe_all(self._worker.jobs, self._kind, state.handle, self._worker.described)
        of.described = described = shown.get(self._kind.word, {})
        verdict = Judgement(Verdict.SUCCEEDED, "the job completed") if of.wait_for_completion else None
        if of.wait_for_completion:
            self._print_log(state)
        record = decision_record(state, verdict, self._clock.time())
        clean = {word: json_clean(part) for word, part in shown.items()}
        return {"decision": record.to_json(), **clean, **of.more_results(described)}

    def _failed(self, state: State, judgement: Judgement) -> dict[str, Any]:
        was_stopped = judgement.verdict in {Verdict.STOPPED, Verdict.LIMIT_REACHED}
        if was_stopped and self._operator.stopped_is_success and state.job_name:
            return self._result(state)
        self._operator.described = self._worker.described
        if state.job_name:
            self._print_log(state)
        record = decision_record(state, judgement, self._clock.time())
        if self._operator.do_xcom_push:
            self._context["ti"].xcom_push(key="decision", value=record.to_json())
        raise failures.failure(judgement, state.job_name)

    def _print_log(self, state: State) -> None:
        """Copy what is new in the job's CloudWatch log into the task's log, after what the trigger has copied."""
        if not self._operator.print_log or state.capacity_at is None:
            return
        name = state.job_name if not state.is_queued else training_job(self._worker.described or {})
        if name is None:
            return
        if name not in self._readers:
            self._readers[name] = self._reader(state, name)
        for line in self._readers[name].rest():
            self._log.info("%s", line)

    def _reader(self, state: State, name: str) -> LogReader:
        if (earliest := state.logged.earliest) is not None:
            self._log.info("Lines before %s are in the trigger's log.", f"{utc(earliest / 1000):%H:%M:%S} UTC")
        return LogReader(self._hook.logs_client, log_group(self._kind), name, state.logged)
