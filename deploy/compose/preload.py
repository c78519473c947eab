"""What every task would do anew, done once: a worker imports this before it forks (``[celery] extra_celery_config``).

Most of what one of our tasks takes of a worker's time is imports, and AWS's models, which are megabytes of JSON.
Nothing here asks AWS, or needs a connection.
"""

# ruff: noqa: F401

from __future__ import annotations

import airflow.dag_processing.dagbag
import airflow.sdk.execution_time.task_runner
from airflow.sdk import DAG

import airflow_sm_prefer.operators.batch
import airflow_sm_prefer.operators.execution
import airflow_sm_prefer.operators.sagemaker
import airflow_sm_prefer.triggers.batch
import airflow_sm_prefer.triggers.sagemaker
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook

# What renders templates is imported and made ready with the first of them.
DAG("preload", schedule=None).get_template_env().from_string("")

for service in ("sagemaker", "logs", "batch"):
    SageMakerPreferHook(aws_conn_id=None, region_name="us-east-1").client_for(service)
