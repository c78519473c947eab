"""Train several models at once, each on the first type of the list that has capacity, and pick the best one.

Copy this for a sweep: each mapped task has a job, a wait and a result of its own, and none holds a worker while it
waits. A model that failed doesn't keep the others from being compared.

Set the Airflow Variables ``training_bucket``, ``training_role`` and ``training_image``. The image prints lines such as
``validation:loss=0.123``.
"""

from __future__ import annotations

from datetime import timedelta

from airflow.sdk import DAG, task

from airflow_sm_prefer import SageMakerPreferTrainingOperator

MODELS = {"small": {"layers": "12"}, "medium": {"layers": "24"}, "large": {"layers": "48"}}


def training(model: str, hyperparameters: dict[str, str]) -> dict:
    """Return the request for one model; names and places of its own keep the jobs apart."""
    return {
        "TrainingJobName": f"mapped-{model}",
        "RoleArn": "{{ var.value.training_role }}",
        "AlgorithmSpecification": {
            "TrainingImage": "{{ var.value.training_image }}",
            "TrainingInputMode": "File",
            "MetricDefinitions": [{"Name": "validation:loss", "Regex": "validation:loss=([0-9.]+)"}],
        },
        "HyperParameters": hyperparameters,
        "OutputDataConfig": {"S3OutputPath": f"s3://{{{{ var.value.training_bucket }}}}/models/{model}"},
        "ResourceConfig": {"VolumeSizeInGB": 50},
        "StoppingCondition": {"MaxRuntimeInSeconds": 6 * 3600},
    }


with DAG("mapped_models", schedule="@weekly", catchup=False, is_paused_upon_creation=True, doc_md=__doc__):
    train = SageMakerPreferTrainingOperator.partial(
        task_id="train",
        prefer=["ml.g6e.12xlarge", "ml.g6.12xlarge", "ml.g5.12xlarge"],
        max_pending=timedelta(hours=6),
        retries=1,
    ).expand(config=[training(model, hyperparameters) for model, hyperparameters in MODELS.items()])

    # When all are over, some of them well.
    @task(trigger_rule="all_done_min_one_success")
    def pick(trained: list[dict]) -> str:
        """Return where the model with the lowest loss lies in S3."""

        def loss(result: dict) -> float:
            metrics = {metric["MetricName"]: metric["Value"] for metric in result["Training"]["FinalMetricDataList"]}
            return metrics["validation:loss"]

        best = min(trained, key=loss)
        print(f"{best['Training']['TrainingJobName']} on {best['decision']['selected_instance_type']}: {loss(best)}")
        return best["Training"]["ModelArtifacts"]["S3ModelArtifacts"]

    pick(train.output)
