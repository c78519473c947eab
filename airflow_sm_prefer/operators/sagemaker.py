"""Operators for SageMaker training and processing jobs with a preference list."""

# ruff: noqa: PLC0415 - DAG files import this; see base

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.base import SageMakerPreferOperator


class SageMakerPreferTrainingOperator(SageMakerPreferOperator):
    """Trains on the first instance type of a list that has capacity, and sleeps until there is one.

    A drop-in for the Amazon provider's ``SageMakerTrainingOperator``: every argument of that is taken with its
    meaning. :class:`~airflow_sm_prefer.operators.base.SageMakerPreferOperator` says what they are.

    Returns (XCom):
        ``{"decision": the decision record, "Training": the DescribeTrainingJob response}``, the latter without
        Environment and transitions.

    Example:
        >>> SageMakerPreferTrainingOperator(
        ...     task_id="train",
        ...     config=training_job,
        ...     prefer=["ml.p5.48xlarge", on_demand("ml.p4d.24xlarge", count=2)],
        ...     max_pending=timedelta(hours=6),
        ... )  # doctest: +SKIP
    """

    kind: ClassVar[JobKind] = JobKind.TRAINING


class SageMakerPreferProcessingOperator(SageMakerPreferOperator):
    """Processes data on the first instance type of a list that has capacity, and sleeps until there is one.

    A drop-in for the Amazon provider's ``SageMakerProcessingOperator``: every argument of that is taken with its
    meaning. :class:`~airflow_sm_prefer.operators.base.SageMakerPreferOperator` says what they are.

    Args:
        output_files_to_xcom: Small JSON files among the job's outputs whose contents become part of the result:
            dicts with ``output_name``, ``file_name`` and ``result_name`` (templated).
        kwargs: See the base class.

    Returns (XCom):
        ``{"decision": the decision record, "Processing": the DescribeProcessingJob response}``, the latter without
        Environment, and ``"OutputFiles"`` if any were asked for.
    """

    kind: ClassVar[JobKind] = JobKind.PROCESSING
    template_fields: Sequence[str] = (*SageMakerPreferOperator.template_fields, "output_files_to_xcom")

    def __init__(self, *, output_files_to_xcom: list[dict[str, str]] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.output_files_to_xcom = output_files_to_xcom
        if output_files_to_xcom and not self.wait_for_completion:
            msg = "output_files_to_xcom needs wait_for_completion=True: before the job's end there are no outputs."
            raise InvalidSetting(msg)
        self.check_own_arguments()

    def check_own_arguments(self) -> None:
        """Check ``output_files_to_xcom``, as far as it is rendered."""
        from airflow_sm_prefer.model.rendered import has_template
        from airflow_sm_prefer.operators.outputs import check_output_files

        if self.output_files_to_xcom and not has_template(self.output_files_to_xcom):
            check_output_files(self.output_files_to_xcom)

    def more_results(self, described: Mapping[str, Any]) -> dict[str, Any]:
        """Return the contents of the output files that were asked for."""
        from airflow_sm_prefer.operators.outputs import read_output_files

        if not self.output_files_to_xcom:
            return {}
        outputs = described.get("ProcessingOutputConfig", {}).get("Outputs", [])
        return {"OutputFiles": read_output_files(self.hook.s3_client, outputs, self.output_files_to_xcom)}
