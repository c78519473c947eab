"""What the operators have in common: their arguments, and who does what when.

DAG files import this, and should pay for it no more than they must: what checks and runs a task is imported when there
is one.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.amazon.aws.operators.base_aws import AwsBaseOperator
from airflow.providers.amazon.aws.utils.mixins import aws_template_fields
from airflow.providers.common.compat.sdk import BaseOperatorLink

from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.links import JobLink, JobLogLink
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.lineage import LineageMixin

if TYPE_CHECKING:
    from airflow_sm_prefer.model.queue_entries import Queues
    from airflow_sm_prefer.operators.tries import Try
    from airflow_sm_prefer.placement.queueing import Terms
    from airflow_sm_prefer.placement.queues import QueueStatus
    from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger


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
        recover: How often a job is started again that AWS failed or interrupted, whose reservation ended, or that
            can't run on its type, which is dropped then. It begins with the best entry of the list again.
        recover_on: ``"infrastructure"``, as just said; ``"any"`` starts a job again on the next entry that failed by an
            error of its script, too.
        allow_unknown_types: Whether instance types pass that the installed botocore doesn't know.
        check_quotas: Whether to read the account's quotas before the first submission and leave out entries that they
            never let in.
        stopped_is_success: Whether a job that ended as Stopped makes the task succeed.
        deferrable: Whether to sleep in the triggerer; False waits in the worker with the same outcome.
        wait_for_completion: False submits and returns, and nothing of this package ever stops the job.
        print_log: Whether to copy the job's CloudWatch log into the task's log: while it runs, and the rest at its end.
        check_interval: Seconds between two looks at the job if it had looks of its own. All tasks share them, so that
            while it sleeps there are six times as many.
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
    operator_extra_links: Collection[BaseOperatorLink] = (JobLink(), JobLogLink())
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
        recover: int = 0,
        recover_on: str = "infrastructure",
        allow_unknown_types: bool = False,
        check_quotas: bool = False,
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
        self.recover = recover
        self.recover_on = recover_on
        self.allow_unknown_types = allow_unknown_types
        self.check_quotas = check_quotas
        self.stopped_is_success = stopped_is_success
        self.deferrable = deferrable
        self.wait_for_completion = wait_for_completion
        self.print_log = print_log
        self.check_interval = check_interval
        self.max_attempts = max_attempts
        self.max_ingestion_time = max_ingestion_time
        self.check_if_job_exists = check_if_job_exists
        self.action_if_job_exists = action_if_job_exists
        #: Whether the task was told to end.
        self.killed = False
        #: The job that this process has submitted or taken up.
        self.job_name: str | None = None
        #: Its ARN.
        self.job_arn: str | None = None
        #: Which try this is, once it runs.
        self.this_try: Try | None = None

        from airflow_sm_prefer.operators.checks import check_where_written

        check_where_written(self)

    def execute(self, context: Any) -> dict[str, Any]:
        """Submit the job, or take up the one that an earlier try left, and wait for its end."""
        from airflow_sm_prefer.operators.execution import Execution

        return Execution(self, context).begin()

    def resume(self, context: Any, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Go on when the trigger has seen something.

        Raises:
            StateUnreadable: the event isn't one of this task's trigger.
        """
        from airflow_sm_prefer.operators.execution import Execution

        return Execution(self, context).resume(event)

    def on_kill(self) -> None:
        """Stop the job: the task was told to end while a worker held it.

        It is left alone where the task sleeps in the triggerer by now, or another try has taken the job up.
        """
        from airflow_sm_prefer.model.service_job import is_service_job
        from airflow_sm_prefer.operators.handover import is_left

        self.killed = True
        if not (self.job_name and self.wait_for_completion):
            return
        jobs = self.hook.jobs(self.kind)
        if is_left(jobs, self.job_arn or "", self.this_try):
            self.log.info("The job %s is left to the triggerer, or to the try that has it now.", self.job_name)
        else:
            self.log.info("The task is told to end: stopping %s.", self.job_name)
            handle = self.job_arn if self.job_arn and is_service_job(self.job_arn) else self.job_name
            jobs.stop(handle, "airflow_sm_prefer: the task was told to end.")

    def check_own_arguments(self) -> None:
        """Check arguments that only this operator has, once they are rendered.

        Raises:
            InvalidInput: one of them can't work; nothing was sent.
        """

    @property
    def trigger_class(self) -> type[SageMakerPreferTrigger]:
        """The trigger that it defers to."""
        from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger

        return SageMakerPreferTrigger

    def queues(self) -> Queues | None:
        """Return what it says about job queues; None for an operator that knows none."""
        return None

    def terms(self, *, rendered: bool) -> Terms:
        """Return what service jobs are submitted with."""
        from airflow_sm_prefer.placement.queueing import Terms

        del rendered
        return Terms()

    def read_queues(self, names: Collection[str]) -> Mapping[str, QueueStatus | None]:
        """Return how job queues stand, by name; nothing where that can't be said."""
        del names
        return {}

    def more_results(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the result has besides the decision and the job's description."""
        del described
        return {}

    @property
    def _hook_parameters(self) -> dict[str, Any]:
        return {**super()._hook_parameters, "clock": self.clock, "caller": type(self).__name__}
