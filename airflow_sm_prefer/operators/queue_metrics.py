"""The operator of a DAG that publishes how full queues are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.providers.amazon.aws.operators.base_aws import AwsBaseOperator
from airflow.providers.amazon.aws.utils.mixins import aws_template_fields

from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import InvalidInput
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.placement.queue_metrics import NAMESPACE


class QueueMetricsOperator(AwsBaseOperator[SageMakerPreferHook]):
    """Publishes to CloudWatch how many jobs wait in AWS Batch queues, how long, and how many instances run or lie idle.

    By queue and by share, at the instant that it runs; AWS Batch publishes none of it for service jobs. The README says
    what each metric means.

    Args:
        queues: The queues' names or ARNs, as a list or as a text with commas (templated); empty, all for SageMaker
            training in the Region.
        namespace: Where they go in CloudWatch (templated).
        kwargs: ``aws_conn_id``, ``region_name``, ``verify``, ``botocore_config``, and what every operator takes.
    """

    aws_hook_class = SageMakerPreferHook
    template_fields: Sequence[str] = aws_template_fields("queues", "namespace")
    ui_color = "#ededed"

    #: Where the time comes from; tests put another clock here.
    clock: ClassVar[Clock] = SystemClock()

    def __init__(self, *, queues: Sequence[str] | str = (), namespace: str = NAMESPACE, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.queues = queues
        self.namespace = namespace

    def execute(self, context: Any) -> None:
        """Read, and publish.

        Raises:
            CallFailed: AWS refused something, or didn't answer.
        """
        del context
        # Only a task needs these.
        from airflow_sm_prefer.aws.queue_metrics import publish, read_points  # noqa: PLC0415
        from airflow_sm_prefer.operators.failures import InvalidTask  # noqa: PLC0415

        now = self.clock.time()
        try:
            values = read_points(self.hook.client_for("batch"), self._names(), now)
        except InvalidInput as error:
            raise InvalidTask(str(error)) from error
        publish(self.hook.client_for("cloudwatch"), values, self.namespace, now)
        for point in values:
            self.log.info("%s %s of %s: %.0f", point.queue, point.share or "in all", point.metric, point.value)

    def _names(self) -> list[str]:
        names = self.queues.split(",") if isinstance(self.queues, str) else self.queues
        return [name.strip() for name in names if name.strip()]

    @property
    def _hook_parameters(self) -> dict[str, Any]:
        return {**super()._hook_parameters, "caller": type(self).__name__}
