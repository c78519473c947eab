"""The operator of a maintenance DAG: finds the jobs that no task waits for any more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from airflow.providers.amazon.aws.operators.base_aws import AwsBaseOperator
from airflow.providers.amazon.aws.utils.mixins import aws_template_fields

from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import InvalidInput, InvalidSetting
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook


class SageMakerReconcileOperator(AwsBaseOperator[SageMakerPreferHook]):
    """Finds this Airflow's running jobs that no task waits for any more, and stops them if it may.

    A job is stopped if its task instance is over, was not in Airflow at two looks ten minutes apart, or has submitted
    a later one; never one that was submitted without waiting. Safe at any time. It reaches the jobs of one connection
    and one Region: give each its own task. It asks Airflow's API, as every task does, and needs no database.

    Args:
        stop: Whether to stop anything (templated); False only reports. Needs ``[sm_prefer] deployment``.
        kwargs: ``aws_conn_id``, ``region_name``, ``verify``, ``botocore_config``, and what every operator takes.

    Raises:
        InvalidInput: ``stop`` is neither true nor false, or may not be true here.
    """

    aws_hook_class = SageMakerPreferHook
    template_fields: Sequence[str] = aws_template_fields("stop")
    ui_color = "#ededed"

    #: Where the time comes from; tests put another clock here.
    clock: ClassVar[Clock] = SystemClock()

    def __init__(self, *, stop: bool | str = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.stop = stop

    def execute(self, context: Any) -> dict[str, Any]:
        """Look, act, and return the report; jobs that go on as they should are only counted in it.

        Raises:
            TaskStatesUnavailable: Airflow can't be asked; nothing was stopped.
            CallFailed: AWS can't be asked; nothing was stopped.
        """
        del context
        # Only a task needs these.
        from airflow_sm_prefer.hooks.airflow_state import SdkTaskStates  # noqa: PLC0415
        from airflow_sm_prefer.hooks.reconcile import reconciler  # noqa: PLC0415
        from airflow_sm_prefer.operators.failures import InvalidTask  # noqa: PLC0415

        try:
            run = reconciler(self.hook, SdkTaskStates(), clock=self.clock, stop=self._may_stop())
        except InvalidInput as error:
            raise InvalidTask(str(error)) from error
        report = run.run()
        for finding in report.findings:
            (self.log.info if finding.is_settled else self.log.warning)("%s", finding)
        for sleeper in report.sleepers:
            (self.log.warning if sleeper.is_overdue else self.log.info)("%s", sleeper)
        self.log.info("%s", report)
        return report.to_json(kept=False)

    def _may_stop(self) -> bool:
        from airflow_sm_prefer.model.written import flag  # noqa: PLC0415

        try:
            return flag(self.stop)
        except ValueError as error:
            msg = f"stop: {error}."
            raise InvalidSetting(msg) from error

    @property
    def _hook_parameters(self) -> dict[str, Any]:
        return {**super()._hook_parameters, "clock": self.clock, "caller": type(self).__name__}
