"""Train on spot, which costs less and may be taken back, and On-Demand when there is none.

Copy this for a training script that writes checkpoints to ``/opt/ml/checkpoints`` and goes on from them. SageMaker
starts a spot job again by itself after an interruption, once it has an instance again; where that takes too long, the
job goes on from the same checkpoints on whatever there is. Spot goes out as a request of its own, since AWS's own list
excludes it. ``resume_from_checkpoint.py`` is the same with data and a script, to try on the sandbox.

Set the Airflow Variables ``training_bucket``, ``training_role`` and ``training_image``.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand, spot

with DAG("spot_then_on_demand", schedule="@daily", catchup=False, is_paused_upon_creation=True, doc_md=__doc__):
    SageMakerPreferTrainingOperator(
        task_id="train",
        prefer=[
            spot("ml.g6.12xlarge"),
            spot("ml.g5.12xlarge"),
            # These two go out together, and AWS takes the first that it has.
            on_demand("ml.g6.12xlarge"),
            on_demand("ml.g5.12xlarge"),
        ],
        # A spot request that has nothing after ten minutes gives way to the next. A job that was interrupted, and has
        # nothing again after ten minutes, is stopped and started again, from the top of the list.
        patience=timedelta(minutes=10),
        # So often at most, also after a failure of AWS's.
        recover=3,
        max_pending=timedelta(hours=4),
        config={
            "TrainingJobName": "spot-then-on-demand",
            "RoleArn": "{{ var.value.training_role }}",
            "AlgorithmSpecification": {
                "TrainingImage": "{{ var.value.training_image }}",
                "TrainingInputMode": "File",
            },
            "OutputDataConfig": {"S3OutputPath": "s3://{{ var.value.training_bucket }}/models"},
            # One place for all jobs of a run, so that the next one goes on where the last was interrupted.
            "CheckpointConfig": {
                "S3Uri": "s3://{{ var.value.training_bucket }}/checkpoints/{{ dag_run.run_after | ts_nodash }}"
            },
            "ResourceConfig": {"VolumeSizeInGB": 100},
            "StoppingCondition": {"MaxRuntimeInSeconds": 6 * 3600},
        },
    )
