"""Every minute, publish to CloudWatch how full the AWS Batch queues of SageMaker training are.

One task for each connection and Region that has queues. ``deploy/queues.yaml`` has alarms and a dashboard for it.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_sm_prefer import QueueMetricsOperator

with DAG(
    "queue_metrics",
    schedule="* * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    dagrun_timeout=timedelta(minutes=5),
    doc_md=__doc__,
):
    QueueMetricsOperator(task_id="publish")
