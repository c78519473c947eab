"""The trigger for lists with job queues: watches one service job, or one of SageMaker's own, on a task's behalf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger


@dataclass(frozen=True)
class BatchConnection(Connection):
    """The arguments of a hook that knows queues."""

    @property
    def key(self) -> str:
        """Equal for connections that may share a client, and to none of a hook that knows no queues."""
        return f"batch {super().key}"

    def hook(self, clock: Clock | None = None) -> BatchPreferHook:
        """Make the hook. Its connection is read from Airflow on first use, which blocks."""
        return BatchPreferHook(
            aws_conn_id=self.aws_conn_id,
            region_name=self.region_name,
            verify=self.verify,
            config=self.botocore_config,
            clock=clock,
        )


class BatchPreferTrigger(SageMakerPreferTrigger):
    """Watches a job in a queue until it is over, or sleeps until an instant; then the worker goes on.

    See :class:`SageMakerPreferTrigger` for its arguments. A service job is watched by itself and never by the training
    jobs behind it, which come and go.
    """

    connection_class: ClassVar[type[Connection]] = BatchConnection
