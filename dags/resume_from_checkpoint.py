"""Train on spot, and when the instance is taken away for good, go on at the same epoch on another type.

Copy this where hours of training are lost with an instance. The job is started again with the same request, finds what
the last one wrote to ``/opt/ml/checkpoints``, and begins after that epoch; ``scripts/train_with_checkpoints.py`` says
what a script has to do for it.

Runs on the sandbox as it is. To see it recover, wait for the first epochs and take the spot instances away::

    sm-prefer sandbox set ml.g6.xlarge=0 --spot

On AWS, set the Airflow Variables ``training_bucket``, ``training_role`` and ``training_image``; the image has
scikit-learn.
"""

from __future__ import annotations

from datetime import timedelta
from importlib.resources import files
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand, spot

SCRIPT = Path(__file__).parent / "scripts" / "train_with_checkpoints.py"
BUCKET = "{{ var.value.get('training_bucket', 'sm-prefer-resume') }}"
# The run's own, so that no run goes on with another's model.
RUN = f"s3://{BUCKET}/resume-from-checkpoint/{{{{ dag_run.run_after | ts_nodash }}}}"


def channel(name: str, uri: str) -> dict:
    """Give the job a folder of S3 as /opt/ml/input/data/NAME."""
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}


with DAG(
    "resume_from_checkpoint",
    schedule=None,
    catchup=False,
    is_paused_upon_creation=True,
    doc_md=__doc__,
    params={
        "epochs": Param(20, type="integer", minimum=1, title="Epochs"),
        "epoch_seconds": Param(5, type="number", minimum=0, title="Seconds that each epoch is stretched by"),
    },
):

    @task
    def upload(run: str) -> None:
        """Put the data, as scikit-learn ships it, and the job's script into S3."""
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook

        s3 = S3Hook()
        bucket, prefix = s3.parse_s3_url(run)
        if not s3.check_for_bucket(bucket):
            s3.create_bucket(bucket)
        digits = files("sklearn.datasets.data") / "digits.csv.gz"
        s3.load_bytes(digits.read_bytes(), f"{prefix}/data/digits.csv.gz", bucket, replace=True)
        s3.load_file(SCRIPT, f"{prefix}/code/{SCRIPT.name}", bucket, replace=True)

    train = SageMakerPreferTrainingOperator(
        task_id="train",
        prefer=[
            spot("ml.g6.xlarge"),
            # These two go out together, and AWS takes the first that it has.
            on_demand("ml.g5.xlarge"),
            on_demand("ml.g4dn.xlarge"),
        ],
        # How often the job is started again, from the top of the list: spot first, and if there is none within the
        # patience, On-Demand. An error of the script fails the task; recover_on="any" would start it again too.
        recover=3,
        # SageMaker has this long to bring an interrupted job back by itself; then it is stopped and started again.
        patience=timedelta(minutes=10),
        max_pending=timedelta(hours=4),
        config={
            "TrainingJobName": "resume-from-checkpoint",
            "RoleArn": "{{ var.value.get('training_role', 'arn:aws:iam::123456789012:role/sagemaker') }}",
            "AlgorithmSpecification": {
                "TrainingImage": "{{ var.value.get('training_image', 'scikit-learn:1') }}",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", f"/opt/ml/input/data/code/{SCRIPT.name}"],
            },
            "HyperParameters": {"epochs": "{{ params.epochs }}", "epoch_seconds": "{{ params.epoch_seconds }}"},
            "InputDataConfig": [channel("train", f"{RUN}/data"), channel("code", f"{RUN}/code")],
            "OutputDataConfig": {"S3OutputPath": f"{RUN}/models"},
            # One place for all jobs of a run, whatever they run on: a retry goes on there as well.
            "CheckpointConfig": {"S3Uri": f"{RUN}/checkpoints"},
            "ResourceConfig": {"VolumeSizeInGB": 10},
            "StoppingCondition": {"MaxRuntimeInSeconds": 6 * 3600},
        },
    )

    upload(RUN) >> train
