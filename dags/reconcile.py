"""Every ten minutes, find SageMaker jobs that no task waits for any more, and stop them if told to.

Stopping needs ``[sm_prefer] deployment``, and the Airflow Variable ``reconcile_stop`` set to ``true`` (or the param
``stop``, for one run). One task for each connection and Region that has jobs.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, Param

from airflow_sm_prefer.operators.reconcile import SageMakerReconcileOperator

with DAG(
    "reconcile",
    schedule="*/10 * * * *",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    dagrun_timeout=timedelta(minutes=30),
    doc_md=__doc__,
    params={"stop": Param(False, type="boolean", title="Stop what nobody waits for; otherwise only report")},
):
    SageMakerReconcileOperator(task_id="reconcile", stop="{{ var.value.get('reconcile_stop', params.stop) }}")
