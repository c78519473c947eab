"""The operator that raises or lowers the priority of a job in an AWS Batch queue."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow.providers.amazon.aws.operators.base_aws import AwsBaseOperator
from airflow.providers.amazon.aws.utils.mixins import aws_template_fields

from airflow_sm_prefer.errors import InvalidInput, InvalidSetting
from airflow_sm_prefer.hooks import settings
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.priority import parse_priority
from airflow_sm_prefer.model.rendered import has_template


class BatchUpdatePriorityOperator(AwsBaseOperator[SageMakerPreferHook]):
    """Gives a service job another scheduling priority, by UpdateServiceJob: the higher goes first, within its share.

    A job that waits moves in its queue; one that runs in a quota share is preempted later, or sooner.

    Args:
        job: The job's id or ARN; with ``job_queue``, its name (templated).
        priority: A number from 0 to 9999, or a name of ``[sm_prefer] priorities`` (templated).
        job_queue: The name or ARN of the AWS Batch queue that a job of that name is in (templated).
        kwargs: ``aws_conn_id``, ``region_name``, ``verify``, ``botocore_config``, and what every operator takes.

    Raises:
        InvalidSetting: the priority is neither; when the DAG is parsed, unless it is a template.
    """

    aws_hook_class = SageMakerPreferHook
    template_fields: Sequence[str] = aws_template_fields("job", "priority", "job_queue")
    ui_color = "#ededed"

    def __init__(self, *, job: str, priority: int | str, job_queue: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.job = job
        self.priority = priority
        self.job_queue = job_queue
        self._is_rendered = has_template(priority)
        if not self._is_rendered:
            self._number()

    def execute(self, context: Any) -> dict[str, Any]:
        """Change it, and return ``{"jobId": …, "schedulingPriority": …}``.

        Raises:
            CallFailed: AWS refused it, or didn't answer.
        """
        del context
        # Only a task needs these.
        from airflow_sm_prefer.aws.job_priority import update_priority  # noqa: PLC0415
        from airflow_sm_prefer.operators.failures import InvalidTask  # noqa: PLC0415

        try:
            number = self._number()
            job_id = update_priority(self.hook.client_for("batch"), self.job, number, self.job_queue or None)
        except InvalidInput as error:
            raise InvalidTask(str(error)) from error
        self.log.info("Job %s has priority %s.", job_id, number)
        return {"jobId": job_id, "schedulingPriority": number}

    def _number(self) -> int:
        number = parse_priority(self.priority, settings.priorities(), rendered=self._is_rendered)
        if number is None:
            msg = "priority is missing. Write a number from 0 to 9999, or a name of [sm_prefer] priorities."
            raise InvalidSetting(msg)
        return number

    @property
    def _hook_parameters(self) -> dict[str, Any]:
        return {**super()._hook_parameters, "caller": type(self).__name__}
