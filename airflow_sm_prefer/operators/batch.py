"""The operator for training jobs that wait in job queues of AWS Batch."""

# ruff: noqa: PLC0415 - DAG files import this; see base

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.common.compat.sdk import BaseOperatorLink

from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.links import JobLink, JobLogLink, JobQueueLink
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.base import SageMakerPreferOperator

if TYPE_CHECKING:
    from airflow_sm_prefer.model.queue_entries import Queues
    from airflow_sm_prefer.placement.queueing import Terms
    from airflow_sm_prefer.placement.queues import QueueStatus
    from airflow_sm_prefer.triggers.batch import BatchPreferTrigger


class BatchPreferTrainingOperator(SageMakerPreferOperator):
    """Trains through the first job queue of a list that has room in time, and sleeps until one has.

    A list may mix queues with requests to SageMaker itself. A job that has not begun to start within ``patience``, or
    whose queue can't run it as it is set up, is terminated and goes on down the list with its priority kept; where
    ``recover`` allows it, so does one that failed by no fault of its script, or was preempted and has not come back
    within ``patience``.

    Args:
        job_queue: The queue, by name or ARN, of entries that name neither a queue nor a kind of capacity, and of the
            config's own InstanceType if there is no list (templated).
        share_identifier: Whose share of ``job_queue`` the job takes, where its policy is fair share (templated).
        quota_share: Whose share of ``job_queue`` it takes, where that manages quotas (templated).
        scheduling_priority: 0 to 9999, the higher the sooner within a share; or a name of ``[sm_prefer] priorities``:
            ``production``, ``research``, ``sweep`` (templated). None leaves it out. One that somebody changes while a
            job waits is kept for the jobs after it.
        retry_strategy: How often Batch itself tries, in AWS's shape: ``{"attempts": 3, "evaluateOnExit": […]}``.
        timeout_config: How long one attempt may take, in AWS's shape: ``{"attemptDurationSeconds": 86400}``.
        preemption_configuration: How often the job may be preempted before it fails, in AWS's shape:
            ``{"preemptionRetriesBeforeTermination": 3}``. Unset, it goes back into the queue each time.
        tags: Tags of the service job, besides those of the config and ours (templated).
        kwargs: See :class:`~airflow_sm_prefer.operators.base.SageMakerPreferOperator`.

    Returns (XCom):
        ``{"decision": the decision record, "ServiceJob": the DescribeServiceJob response without its payload,
        "Training": the DescribeTrainingJob response of its latest attempt}``; without ``ServiceJob`` where the job went
        to SageMaker itself.

    Example:
        >>> BatchPreferTrainingOperator(
        ...     task_id="train",
        ...     config=training_job,
        ...     prefer=[
        ...         queued("ml.p5.48xlarge", job_queue="p5", share_identifier="research"),
        ...         queued("ml.p4d.24xlarge", job_queue="p4", share_identifier="ml", count=2),
        ...         on_demand("ml.g5.48xlarge", count=4),
        ...     ],
        ...     scheduling_priority="production",
        ...     recover=2,
        ... )  # doctest: +SKIP
    """

    kind: ClassVar[JobKind] = JobKind.TRAINING
    aws_hook_class = BatchPreferHook
    template_fields: Sequence[str] = (
        *SageMakerPreferOperator.template_fields,
        "job_queue",
        "share_identifier",
        "quota_share",
        "scheduling_priority",
        "tags",
    )
    operator_extra_links: Collection[BaseOperatorLink] = (JobLink(), JobQueueLink(), JobLogLink())

    def __init__(
        self,
        *,
        job_queue: str | None = None,
        share_identifier: str | None = None,
        quota_share: str | None = None,
        scheduling_priority: int | str | None = None,
        retry_strategy: Mapping[str, Any] | None = None,
        timeout_config: Mapping[str, Any] | None = None,
        preemption_configuration: Mapping[str, Any] | None = None,
        tags: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        # Before the base class, which checks what is plain.
        self.job_queue = job_queue
        self.share_identifier = share_identifier
        self.quota_share = quota_share
        self.scheduling_priority = scheduling_priority
        self.retry_strategy = retry_strategy
        self.timeout_config = timeout_config
        self.preemption_configuration = preemption_configuration
        self.tags = tags
        super().__init__(**kwargs)

    @property
    def trigger_class(self) -> type[BatchPreferTrigger]:
        """The trigger that it defers to."""
        from airflow_sm_prefer.triggers.batch import BatchPreferTrigger

        return BatchPreferTrigger

    def queues(self) -> Queues:
        """Return what it says about queues beside its list.

        Raises:
            InvalidInput: it can't work.
        """
        from airflow_sm_prefer.operators.queue_arguments import queues_of

        return queues_of(self)

    def read_queues(self, names: Collection[str]) -> Mapping[str, QueueStatus | None]:
        """Return how job queues stand, by name; None for one that doesn't exist."""
        assert isinstance(self.hook, BatchPreferHook)  # aws_hook_class says so
        return self.hook.queues.read(names)

    def terms(self, *, rendered: bool) -> Terms:
        """Return what service jobs are submitted with.

        Raises:
            InvalidInput: it can't work.
        """
        from airflow_sm_prefer.operators.queue_arguments import terms_of

        return terms_of(self, rendered=rendered)
