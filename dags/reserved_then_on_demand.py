"""Train on the p5s that we have reserved, else on a p5 On-Demand, else on a p4d.

Copy this where you pay for a training plan and don't want to wait while it is in use or over. AWS's own list can't hold
a type twice, so that this one goes out as two requests: first the plan, then the two On-Demand types together.

Set the Airflow Variables ``training_plan_arn``, ``training_bucket``, ``training_role`` and ``training_image``.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand, training_plan

with DAG("reserved_then_on_demand", schedule="@daily", catchup=False, is_paused_upon_creation=True, doc_md=__doc__):
    SageMakerPreferTrainingOperator(
        task_id="train",
        prefer=[
            # Passed over while it has no free instance. wait_for_plan=True would wait for it instead.
            training_plan("ml.p5.48xlarge", arn="{{ var.value.training_plan_arn }}"),
            on_demand("ml.p5.48xlarge"),
            # As many accelerators, of half the memory: a batch has to fit into 40 GB too.
            on_demand("ml.p4d.24xlarge"),
        ],
        # How long each request waits before the next is tried; after the last, the first is tried again.
        patience=timedelta(minutes=20),
        # In the DAG's time zone. A run that has no capacity by then fails: nobody would read its result.
        start_by="06:00",
        config={
            "TrainingJobName": "reserved-then-on-demand",
            "RoleArn": "{{ var.value.training_role }}",
            "AlgorithmSpecification": {
                "TrainingImage": "{{ var.value.training_image }}",
                "TrainingInputMode": "File",
            },
            "OutputDataConfig": {"S3OutputPath": "s3://{{ var.value.training_bucket }}/models"},
            "ResourceConfig": {"VolumeSizeInGB": 100},
            "StoppingCondition": {"MaxRuntimeInSeconds": 12 * 3600},
        },
    )
