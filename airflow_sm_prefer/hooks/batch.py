"""AWS Batch's queues of training jobs, reached with an Airflow connection.

DAG files import this: what only some tasks need is imported where they need it.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook

if TYPE_CHECKING:
    from airflow_sm_prefer.aws.queues import QueuesApi


class BatchPreferHook(SageMakerPreferHook):
    """Hands out what calls AWS Batch, besides all that calls SageMaker.

    All of it has the connection, Region, TLS verification and configuration of :class:`SageMakerPreferHook`.
    """

    @cached_property
    def queues(self) -> QueuesApi:
        """The reads of job queues and what stands behind them."""
        from airflow_sm_prefer.aws.queues import QueuesApi

        return QueuesApi(self.client_for("batch"), self.pacing, self._clock)
