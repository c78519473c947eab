"""What every task would do anew, done once: a worker imports this before it forks (``[celery] extra_celery_config``).

Half of what one of our tasks takes of a worker's time is imports and the making of AWS's clients, which read megabytes
of JSON. Nothing here asks AWS, or needs a connection.
"""

from __future__ import annotations

import airflow.dag_processing.dagbag
import airflow.sdk.execution_time.task_runner

import airflow_sm_prefer.operators.batch
import airflow_sm_prefer.operators.sagemaker  # noqa: F401
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind

hook = SageMakerPreferHook(aws_conn_id=None, region_name="us-east-1")
for kind in JobKind:
    hook.jobs(kind)
hook.logs_client  # noqa: B018 - a property that makes the client
