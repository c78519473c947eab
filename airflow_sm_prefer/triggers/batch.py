"""The trigger for lists with job queues: watches one service job, or one of SageMaker's own, on a task's behalf."""

from __future__ import annotations

from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger


class BatchPreferTrigger(SageMakerPreferTrigger):
    """Watches a job in a queue until it is over, or sleeps until an instant; then the worker goes on.

    See :class:`SageMakerPreferTrigger` for its arguments. A service job is watched by itself and never by the training
    jobs behind it, which come and go.
    """
