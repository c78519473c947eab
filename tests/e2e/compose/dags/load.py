"""A training job and an empty deferrable task, side by side."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.sdk import DAG

from airflow_sm_prefer.operators.sagemaker import SageMakerPreferTrainingOperator
from tests.e2e.compose.sleeping import SleepOperator

SECONDS = 20
"""How long a job runs, and the empty task sleeps."""

JOB: dict[str, Any] = {
    "TrainingJobName": "load",
    "AlgorithmSpecification": {
        "TrainingImage": "trainer:1",
        "TrainingInputMode": "File",
        "ContainerEntrypoint": ["sleep", str(SECONDS)],
    },
    "RoleArn": "arn:aws:iam::123456789012:role/training",
    "OutputDataConfig": {"S3OutputPath": "s3://load/models"},
    "ResourceConfig": {"VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
}

# A worker that is killed takes its task along, and Airflow tries it again.
TRIES = {"retries": 3, "retry_delay": timedelta(seconds=1)}

with DAG("load", schedule=None, max_active_runs=64, default_args=TRIES, is_paused_upon_creation=False) as dag:
    train = SageMakerPreferTrainingOperator(task_id="train", config=JOB, prefer=["ml.g6.xlarge", "ml.g5.xlarge"])
    SleepOperator(task_id="empty", seconds=SECONDS)
