"""What is clicked at: one training task between two others, in every way that it may wait."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from tests.e2e.reruns.gates import GatedOperator


def config(name: str) -> dict[str, Any]:
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"VolumeSizeInGB": 30, "InstanceCount": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    }


PARAMS = {"job": "long", "prefer": "ml.g5.xlarge"}
TASK: dict[str, Any] = {
    "task_id": "train",
    "prefer": '["{{ params.prefer }}"]',
    "check_interval": 1,
    "print_log": False,
    "retry_delay": timedelta(seconds=2),
}


def dag(dag_id: str, run_timeout: timedelta | None = None, **arguments: Any) -> DAG:
    with DAG(dag_id, schedule=None, params=PARAMS, dagrun_timeout=run_timeout, max_active_runs=64) as made:
        train = GatedOperator(config=config("{{ params.job }}"), **TASK, **arguments)
        EmptyOperator(task_id="before") >> train >> EmptyOperator(task_id="after")
    return made


deferred = dag("deferred")
deferred_retried = dag("deferred_retried", retries=2)
worker = dag("worker", deferrable=False)
worker_retried = dag("worker_retried", deferrable=False, retries=2)
hurried = dag("hurried", run_timeout=timedelta(seconds=20))
hurried_worker = dag("hurried_worker", run_timeout=timedelta(seconds=20), deferrable=False)
unwaited = dag("unwaited", wait_for_completion=False)
unwaited_worker = dag("unwaited_worker", wait_for_completion=False, deferrable=False)

with DAG("mapped", schedule=None, params=PARAMS, max_active_runs=64) as mapped:
    GatedOperator.partial(**TASK).expand(config=[config("{{ params.job }}") for _ in range(3)])
