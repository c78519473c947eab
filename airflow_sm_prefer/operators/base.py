"""What the operators have in common: arguments, checks, and the way of a task from execute to its result."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, timedelta
from typing import Any, ClassVar, NoReturn

from airflow.providers.amazon.aws.operators.base_aws import AwsBaseOperator
from airflow.providers.amazon.aws.utils.mixins import aws_template_fields

from airflow_sm_prefer.aws.instance_types import is_known
from airflow_sm_prefer.aws.json_clean import json_clean
from airflow_sm_prefer.aws.log_groups import log_group
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.aws.redact import redacted
from airflow_sm_prefer.aws.versions import check_botocore
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import InvalidInput, InvalidSetting, JobExists, StateUnreadable
from airflow_sm_prefer.hooks import settings, state_store
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.links import JobLink, JobLogLink
from airflow_sm_prefer.model.early import check_what_is_plain
from airflow_sm_prefer.model.integers import coerce_integers
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.rendered import has_template, normalise_config
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.operators import failures
from airflow_sm_prefer.operators.lineage import LineageMixin
from airflow_sm_prefer.operators.lookback import describe_if_there, look_back
from airflow_sm_prefer.operators.plan import Plan, make_plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.operators.worker import Killed, Pause, Worker
from airflow_sm_prefer.placement import budget, telling
from airflow_sm_prefer.placement.deadlines import first_after
from airflow_sm_prefer.placement.events import Event, Fail, Finish, Found, Sleep, Watch, Woken
from airflow_sm_prefer.placement.record import decision_record
from airflow_sm_prefer.placement.state import Limits, Phase, State
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger

#: How long a list may wait for capacity if the author doesn't say; AWS's own default for training plans is the same
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html).
DEFAULT_MAX_PENDING = timedelta(hours=48)

#: Behind our own deadline, Airflow's: the last net.
_NET = timedelta(days=1)


class SageMakerPreferOperator(LineageMixin, AwsBaseOperator[SageMakerPreferHook]):
    """Submits one SageMaker job with a preference list and sleeps until it has ended. Use a subclass.

    Args:
        config: The job's Create request (templated), without instance types if ``prefer`` has them. A job name in it
            becomes the beginning of ours. ``S3Operations`` is carried out first, as with the Amazon provider.
        prefer: The instance types that the job may run on, best first (templated): type names, what ``on_demand``,
            ``training_plan`` and ``spot`` return, or AWS's own dicts. Without it the config says what to run on.
        max_pending: How long the whole list may wait for capacity: a timedelta, or seconds (templated). Unset, the
            config's MaxPendingTimeInSeconds holds, else 48 hours.
        start_by: A wall-clock time in the DAG's time zone, ``"06:00"``, by which the job must have started (templated).
        patience: How long one request of several may wait before the next is tried.
        native: Whether AWS takes preference lists here; False sends one type a request.
        allow_unknown_types: Whether instance types pass that the installed botocore doesn't know.
        stopped_is_success: Whether a job that ended as Stopped makes the task succeed.
        deferrable: Whether to sleep in the triggerer; False waits in the worker with the same outcome.
        wait_for_completion: False submits and returns, and nothing of this package ever stops the job.
        print_log: Whether to copy the job's CloudWatch log into the task's log when it has ended.
        check_interval: Seconds between two looks at the job.
        max_attempts: With check_interval, how long it may take from submission to end; unset, there is no such limit.
        max_ingestion_time: Seconds that it may take from submission to end.
        check_if_job_exists: Whether to look for a job of exactly the given name before the first submission.
        action_if_job_exists: ``"timestamp"`` goes on with a name of our own; ``"fail"`` fails if such a job exists.
        kwargs: ``aws_conn_id``, ``region_name``, ``verify``, ``botocore_config``, and what every operator takes.

    Raises:
        InvalidInput: something in it can't work; what is plain is checked where it is written, the rest when the
            task runs, and nothing was sent to AWS in either case.
    """

    kind: ClassVar[JobKind]
    aws_hook_class = SageMakerPreferHook
    template_fields: Sequence[str] = aws_template_fields("config", "prefer", "max_pending", "start_by")
    template_fields_renderers: ClassVar[dict[str, str]] = {"config": "json", "prefer": "json"}
    operator_extra_links = (JobLink(), JobLogLink())
    ui_color = "#ededed"

    #: Where the time comes from; tests put another clock here.
    clock: ClassVar[Clock] = SystemClock()

    def __init__(
        self,
        *,
        config: Any,
        prefer: Any = None,
        max_pending: timedelta | float | str | None = None,
        start_by: str | None = None,
        patience: timedelta = timedelta(minutes=30),
        native: bool = True,
        allow_unknown_types: bool = False,
        stopped_is_success: bool = False,
        deferrable: bool = True,
        wait_for_completion: bool = True,
        print_log: bool = True,
        check_interval: int = 30,
        max_attempts: int | None = None,
        max_ingestion_time: int | None = None,
        check_if_job_exists: bool = True,
        action_if_job_exists: str = "timestamp",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.config = config
        self.prefer = prefer
        self.max_pending = max_pending
        self.start_by = start_by
        self.patience = patience
        self.native = native
        self.allow_unknown_types = allow_unknown_types
        self.stopped_is_success = stopped_is_success
        self.deferrable = deferrable
        self.wait_for_completion = wait_for_completion
        self.print_log = print_log
        self.check_interval = check_interval
        self.max_attempts = max_attempts
        self.max_ingestion_time = max_ingestion_time
        self.check_if_job_exists = check_if_job_exists
        self.action_if_job_exists = action_if_job_exists
        self._killed = False
        self._job_name: str | None = None
        self._readers: dict[str, LogReader] = {}
        self._check_where_written()

    def execute(self, context: Any) -> dict[str, Any]:
        """Submit the job, or take up the one that an earlier try left, and wait for its end."""
        worker = self._worker(context)
        try:
            self.log.info(
                "The request, without instances:\n%s", json.dumps(redacted(worker.plan.config), indent=2, default=str)
            )
            limits = self._limits(worker.plan)
        except InvalidInput as error:
            raise failures.InvalidTask(str(error)) from error
        state, event = self._begin(worker, limits, context)
        return self._drive(context, worker, state, event)

    def resume(self, context: Any, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Go on when the trigger has seen something.

        Raises:
            StateUnreadable: the event isn't one of this task's trigger.
        """
        state = self._state_of(event, context)
        worker = self._worker(context)
        if summary := telling.summary(state, self.clock.time()):
            self.log.info("%s", summary)
        following = Woken() if state.phase is Phase.SLEEPING else worker.look(state)
        return self._drive(context, worker, state, following)

    @property
    def _hook_parameters(self) -> dict[str, Any]:
        return {**super()._hook_parameters, "clock": self.clock}

    def on_kill(self) -> None:
        """Stop the job: the task was told to end while a worker held it."""
        self._killed = True
        if self._job_name and self.wait_for_completion:
            self.log.info("The task is told to end: stopping %s.", self._job_name)
            self.hook.jobs(self.kind).stop(self._job_name)

    # -- what is written ---------------------------------------------------------------------------------

    def _check_where_written(self) -> None:
        if self.action_if_job_exists not in {"timestamp", "fail"}:
            msg = f"action_if_job_exists={self.action_if_job_exists!r}: it is 'timestamp' or 'fail'."
            raise InvalidSetting(msg)
        check_botocore()
        check_what_is_plain(
            self.prefer,
            self.config,
            self.kind,
            known_types=self._is_known,
            allow_unknown_types=self.allow_unknown_types,
        )
        if not (has_template(self.prefer) or has_template(self.config)):
            self._make_plan()
        if not (has_template(self.max_pending) or has_template(self.config)):
            self._budget(normalise_config(self.config))
        if self.start_by is not None and not has_template(self.start_by):
            first_after(self.start_by, 0.0, UTC)

    def _is_known(self, instance_type: str) -> bool:
        return is_known(self.kind, instance_type)

    def _make_plan(self) -> Plan:
        config = {key: value for key, value in normalise_config(self.config).items() if key != "S3Operations"}
        return make_plan(
            self.kind,
            coerce_integers(config, self.kind),
            self.prefer,
            known=self._is_known,
            allow_unknown_types=self.allow_unknown_types,
            native=self.native,
        )

    def _plan(self) -> Plan:
        """Check everything, now rendered, before AWS is asked for anything; then expand what AWS has to expand."""
        plan = self._make_plan()
        config = dict(plan.config)
        if "RoleArn" in config:
            config["RoleArn"] = self.hook.expand_role(config["RoleArn"])
        return Plan(plan.kind, config, plan.preferences, plan.waves)

    def _budget(self, config: Mapping[str, Any]) -> float:
        """Return the pending budget in seconds."""
        written = config.get("StoppingCondition", {}).get("MaxPendingTimeInSeconds")
        if self.max_pending is None:
            return float(written) if written is not None else DEFAULT_MAX_PENDING.total_seconds()
        if written is not None:
            msg = (
                "max_pending and StoppingCondition.MaxPendingTimeInSeconds are both set. "
                "Leave the latter out: it is sent as what is left of max_pending."
            )
            raise InvalidSetting(msg)
        seconds = _seconds(self.max_pending)
        if seconds <= 0:
            msg = f"max_pending={self.max_pending!r}: it has to be more than nothing."
            raise InvalidSetting(msg)
        return seconds

    def _limits(self, plan: Plan) -> Limits:
        total = [self.max_ingestion_time, self.max_attempts and self.max_attempts * self.check_interval]
        return Limits(
            budget=self._budget(plan.config),
            patience=self.patience.total_seconds(),
            total=min((float(limit) for limit in total if limit), default=None),
            max_runtime=plan.max_runtime(),
            speed=self.hook.clock_speed,
        )

    # -- how it begins -----------------------------------------------------------------------------------

    def _worker(self, context: Any) -> Worker:
        return Worker(
            planner=self._plan,
            this=Try.from_context(context, settings.deployment()),
            jobs=self.hook.jobs(self.kind),
            clock=self.clock,
            log=self.log,
            remember=lambda state: self._remember(context, state),
            is_killed=lambda: self._killed,
            waits=self.wait_for_completion,
        )

    def _begin(self, worker: Worker, limits: Limits, context: Any) -> tuple[State, Event]:
        stored = state_store.load(context)
        event, used = look_back(worker.jobs, worker.plan, worker.this, stored)
        if worker.this.try_number == 1 and not isinstance(event, Found):
            self._refuse_existing(worker)
        if not (isinstance(event, Found) and event.is_retry and not event.differs):
            self.hook.configure_s3_resources(normalise_config(self.config))
        since = event.first_submit if isinstance(event, Found) and event.is_retry else None
        state = worker.plan.start(self._with_start_by(limits, context, since or self.clock.time()))
        return state.but(submission=used), event

    def _with_start_by(self, limits: Limits, context: Any, since: float) -> Limits:
        if self.start_by is None:
            return limits
        instant = first_after(self.start_by, since, context["dag"].timezone)
        return Limits(limits.budget, limits.patience, instant, limits.total, limits.max_runtime, limits.speed)

    def _refuse_existing(self, worker: Worker) -> None:
        name = worker.plan.name_prefix
        if self.action_if_job_exists != "fail" or not self.check_if_job_exists or not name:
            return
        if describe_if_there(worker.jobs, name) is not None:
            msg = f"A {self.kind.value} job named {name} exists, and action_if_job_exists is 'fail'."
            raise JobExists(msg)

    def _remember(self, context: Any, state: State) -> None:
        if state.job_arn:
            self._job_name = state.job_name
            JobLink.persist_job(context, self, self.kind, state.job_name)
        state_store.save(context, state)

    # -- how it goes on ----------------------------------------------------------------------------------

    def _drive(self, context: Any, worker: Worker, state: State, event: Event) -> dict[str, Any]:
        """Carry the machine to its end; a deferral leaves by raising."""
        while True:
            state, pause = self._run(worker, state, event)
            self._job_name = state.job_name or None
            if isinstance(pause, Fail):
                return self._failed(context, worker, state, pause.judgement)
            if isinstance(pause, Finish) or not self.wait_for_completion:
                return self._result(worker, state)
            if self.deferrable:
                self._defer(state, worker)
            event = self._wait(worker, state, pause)

    def _run(self, worker: Worker, state: State, event: Event) -> tuple[State, Pause]:
        try:
            return worker.run(state, event)
        except InvalidInput as error:
            raise failures.InvalidTask(str(error)) from error
        except Killed:
            raise failures.NotRetried("The task was told to end before its job was created.") from None

    def _wait(self, worker: Worker, state: State, pause: Watch | Sleep) -> Event:
        """Wait in the worker, for a task that isn't deferrable."""
        if isinstance(pause, Sleep):
            self.clock.sleep(pause.until - self.clock.time())
            return Woken()
        self._print_log(state)
        self.clock.sleep(self._poll_interval(state))
        return worker.look(state)

    def _poll_interval(self, state: State) -> float:
        return max(1.0, self.check_interval / state.limits.speed)

    def _defer(self, state: State, worker: Worker) -> NoReturn:
        now = self.clock.time()
        due = budget.next_deadline(state, now) - now + state.limits.max_runtime / state.limits.speed
        self.defer(
            trigger=SageMakerPreferTrigger(
                state=state.to_json(),
                task=worker.this.identity.digest,
                poll_interval=self._poll_interval(state),
                aws_conn_id=self.aws_conn_id,
                region_name=self.region_name,
                verify=self.verify,
                botocore_config=self.botocore_config,
            ),
            method_name="resume",
            timeout=self.execution_timeout or timedelta(seconds=due) + _NET,
        )
        raise AssertionError  # pragma: no cover - defer raises

    def _state_of(self, event: Mapping[str, Any] | None, context: Any) -> State:
        expected = Try.from_context(context, settings.deployment()).identity.digest
        if not event or "state" not in event or event.get("task") != expected:
            msg = "The task was resumed with an event that isn't its trigger's. Clear it: it begins anew then."
            raise StateUnreadable(msg)
        return State.from_json(event["state"])

    # -- how it ends -------------------------------------------------------------------------------------

    def _result(self, worker: Worker, state: State) -> dict[str, Any]:
        self.described = described = worker.jobs.describe(state.job_name)
        verdict = Judgement(Verdict.SUCCEEDED, "the job completed") if self.wait_for_completion else None
        if self.wait_for_completion:
            self._print_log(state)
        record = decision_record(state, verdict, self.clock.time())
        return {"decision": record.to_json(), self.kind.word: json_clean(described)}

    def _failed(self, context: Any, worker: Worker, state: State, judgement: Judgement) -> dict[str, Any]:
        was_stopped = judgement.verdict in {Verdict.STOPPED, Verdict.LIMIT_REACHED}
        if was_stopped and self.stopped_is_success and state.job_name:
            return self._result(worker, state)
        if state.job_name:
            self._print_log(state)
        record = decision_record(state, judgement, self.clock.time())
        if self.do_xcom_push:
            context["ti"].xcom_push(key="decision", value=record.to_json())
        raise failures.failure(judgement, state.job_name)

    def _print_log(self, state: State) -> None:
        """Copy what is new in the job's CloudWatch log into the task's log."""
        if not self.print_log or state.capacity_at is None:
            return
        name = state.job_name
        if name not in self._readers:
            self._readers[name] = LogReader(self.hook.logs_client, log_group(self.kind), name)
        while lines := self._readers[name].read():
            for line in lines:
                self.log.info("%s", line)


def _seconds(written: timedelta | float | str) -> float:
    if isinstance(written, timedelta):
        return written.total_seconds()
    try:
        return float(written)
    except ValueError:
        msg = f"max_pending={written!r} is no timedelta and no number of seconds."
        raise InvalidSetting(msg) from None
