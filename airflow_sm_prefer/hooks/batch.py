"""AWS Batch's queues of training jobs, reached with an Airflow connection.

DAG files import this: what only some tasks need is imported where they need it.
"""

# ruff: noqa: PLC0415

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind

if TYPE_CHECKING:
    from airflow_sm_prefer.aws.jobs import JobsApi
    from airflow_sm_prefer.aws.queues import QueuesApi
    from airflow_sm_prefer.aws.routed import RoutedJobs
    from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi


class BatchPreferHook(SageMakerPreferHook):
    """Hands out what calls AWS Batch, and SageMaker for the training jobs behind its service jobs.

    All of it has the connection, Region, TLS verification and configuration of :class:`SageMakerPreferHook`.
    """

    def jobs(self, kind: JobKind) -> JobsApi | RoutedJobs:
        """Return the calls about jobs of one kind; those about training jobs know queues."""
        from airflow_sm_prefer.aws.routed import RoutedJobs

        direct = self.direct_jobs(kind)
        return RoutedJobs(direct, lambda: self.service_jobs) if kind is JobKind.TRAINING else direct

    @cached_property
    def service_jobs(self) -> ServiceJobsApi:
        """The calls about service jobs."""
        from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi

        return ServiceJobsApi(self.client_for("batch"), self.pacing, self._clock)

    @cached_property
    def queues(self) -> QueuesApi:
        """The reads of job queues and what stands behind them."""
        from airflow_sm_prefer.aws.queues import QueuesApi

        return QueuesApi(self.client_for("batch"), self.pacing, self._clock)
