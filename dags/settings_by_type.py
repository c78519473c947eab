"""Train on what there is, with the batch size and the image that suit it.

Copy this where one setting doesn't fit all types of the list: a batch for 80 GB doesn't fit into 24, and another kind
of accelerator needs another image. An entry with settings of its own goes out as a request of its own.

Set the Airflow Variables ``training_bucket``, ``training_role``, ``training_image`` and ``training_neuron_image``.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand

with DAG("settings_by_type", schedule="@daily", catchup=False, is_paused_upon_creation=True, doc_md=__doc__):
    SageMakerPreferTrainingOperator(
        task_id="train",
        prefer=[
            # 8 x 80 GB: what the config below is written for.
            on_demand("ml.p5.48xlarge"),
            # 2 x 8 x 40 GB: half the batch on twice as many accelerators is the same batch in all.
            on_demand("ml.p4d.24xlarge", count=2, hyperparameters={"batch_size": 32}),
            # 8 x 24 GB: a quarter of the batch, four times before each step. It takes longer, and so may run longer.
            on_demand(
                "ml.g5.48xlarge",
                hyperparameters={"batch_size": 16, "accumulate": 4},
                environment={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
                max_runtime=timedelta(hours=48),
            ),
            # 16 Trainium chips: another image, and room for what it compiles.
            on_demand(
                "ml.trn1.32xlarge",
                image="{{ var.value.training_neuron_image }}",
                hyperparameters={"batch_size": 32},
                volume_size_gb=500,
            ),
        ],
        max_pending=timedelta(hours=8),
        config={
            "TrainingJobName": "settings-by-type",
            "RoleArn": "{{ var.value.training_role }}",
            "AlgorithmSpecification": {
                "TrainingImage": "{{ var.value.training_image }}",
                "TrainingInputMode": "File",
            },
            # What an entry's hyperparameters don't name stays as it is here.
            "HyperParameters": {"epochs": "10", "batch_size": "64", "accumulate": "1"},
            "OutputDataConfig": {"S3OutputPath": "s3://{{ var.value.training_bucket }}/models"},
            "ResourceConfig": {"VolumeSizeInGB": 100},
            "StoppingCondition": {"MaxRuntimeInSeconds": 12 * 3600},
        },
    )
