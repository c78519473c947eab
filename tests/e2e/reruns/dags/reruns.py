"""What is clicked at: one training task between two others, in every way that it may wait; in queues, too."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG

from tests.e2e.reruns.gates import GatedBatchOperator, GatedOperator


def config(name: str) -> dict[str, Any]:
    return {
        "TrainingJobName": name,
        "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        # Of a job in a queue, all that says how it goes: Batch gives it a name of its own.
        "HyperParameters": {"job": name},
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"VolumeSizeInGB": 30, "InstanceCount": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    }


PARAMS = {"job": "long", "prefer": "ml.g5.xlarge", "queue": "wide"}
TASK: dict[str, Any] = {
    "task_id": "train",
    "check_interval": 1,
    "print_log": False,
    "retry_delay": timedelta(seconds=2),
}


DIRECT = '["{{ params.prefer }}"]'
MIXED = """[
    {"InstanceType": "{{ params.prefer }}", "JobQueue": "{{ params.queue }}"},
    {"InstanceType": "{{ params.prefer }}", "Capacity": "on_demand"}
]"""


def dag(
    dag_id: str, run_timeout: timedelta | None = None, operator: Callable[..., Any] = GatedOperator, **arguments: Any
) -> DAG:
    task = {"prefer": DIRECT, **TASK, **arguments}
    with DAG(dag_id, schedule=None, params=PARAMS, dagrun_timeout=run_timeout, max_active_runs=64) as made:
        train = operator(config=config("{{ params.job }}"), **task)
        EmptyOperator(task_id="before") >> train >> EmptyOperator(task_id="after")
    return made


def queued_dag(dag_id: str, run_timeout: timedelta | None = None, **arguments: Any) -> DAG:
    return dag(dag_id, run_timeout, GatedBatchOperator, job_queue="{{ params.queue }}", **arguments)


deferred = dag("deferred")
deferred_retried = dag("deferred_retried", retries=2)
worker = dag("worker", deferrable=False)
worker_retried = dag("worker_retried", deferrable=False, retries=2)
hurried = dag("hurried", run_timeout=timedelta(seconds=20))
hurried_worker = dag("hurried_worker", run_timeout=timedelta(seconds=20), deferrable=False)
unwaited = dag("unwaited", wait_for_completion=False)
unwaited_worker = dag("unwaited_worker", wait_for_completion=False, deferrable=False)

queued = queued_dag("queued")
queued_retried = queued_dag("queued_retried", retries=2)
queued_worker = queued_dag("queued_worker", deferrable=False)
queued_worker_retried = queued_dag("queued_worker_retried", deferrable=False, retries=2)
queued_hurried = queued_dag("queued_hurried", run_timeout=timedelta(seconds=20))
queued_unwaited = queued_dag("queued_unwaited", wait_for_completion=False)

# Where nothing is free, it goes from one place to the other every few seconds.
mixed = queued_dag("mixed", prefer=MIXED, patience=timedelta(minutes=15))
mixed_retried = queued_dag("mixed_retried", prefer=MIXED, patience=timedelta(minutes=15), retries=2)

with DAG("mapped", schedule=None, params=PARAMS, max_active_runs=64) as mapped:
    GatedOperator.partial(prefer=DIRECT, **TASK).expand(config=[config("{{ params.job }}") for _ in range(3)])
