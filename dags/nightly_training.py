"""Train a classifier of handwritten digits every night, on the first GPU type of a list that has capacity.

Runs on the sandbox as it is (``make demo``). On AWS, set the Airflow Variables ``nightly_bucket`` and ``nightly_role``.
Any param of this DAG has such a Variable, ``nightly_`` and its name; where one is set, it holds, also when a task of an
old run is cleared.
"""

from __future__ import annotations

import io
import os
import tarfile
from datetime import timedelta
from importlib.resources import files
from pathlib import Path

from airflow.sdk import DAG, Param, task

from airflow_sm_prefer.operators.sagemaker import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator

ACCURACY = 0.9
SCRIPTS = Path(__file__).parent / "scripts"
RUN = "s3://{{ var.value.get('nightly_bucket', params.bucket) }}/nightly-digits/{{ dag_run.run_after | ts_nodash }}"
ROLE = "{{ var.value.get('nightly_role', params.role) }}"
IMAGE = "{{ var.value.get('nightly_image', params.image) }}"

# AWS's own scikit-learn image lives in another account in each Region; for the rest see
# https://docs.aws.amazon.com/sagemaker/latest/dg-ecr-paths/sagemaker-algo-docker-registry-paths.html
REGION = os.environ.get("AWS_DEFAULT_REGION", "us-east-1")
REGISTRIES = {
    "ap-northeast-1": "354813040037",
    "eu-central-1": "492215442770",
    "eu-west-1": "141502667606",
    "us-east-1": "683313688378",
    "us-east-2": "257758044811",
    "us-west-2": "246618743249",
}
REGISTRY = f"{REGISTRIES.get(REGION, REGISTRIES['us-east-1'])}.dkr.ecr.{REGION}.amazonaws.com"


def types(default: list[str], title: str) -> Param:
    """Show a list of instance types in the 'Trigger DAG' form, one a line."""
    return Param(default, title=title, type="array", items={"type": "string"}, minItems=1, maxItems=5)


def s3_input(name: str, uri: str) -> dict:
    """Give a processing job a folder of S3 as /opt/ml/processing/input/NAME."""
    local = f"/opt/ml/processing/input/{name}"
    return {
        "InputName": name,
        "S3Input": {"S3Uri": uri, "LocalPath": local, "S3DataType": "S3Prefix", "S3InputMode": "File"},
    }


def channel(name: str, uri: str) -> dict:
    """Give a training job a folder of S3 as /opt/ml/input/data/NAME."""
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}}


with DAG(
    "nightly_training",
    schedule="@daily",
    catchup=False,
    max_active_runs=1,
    is_paused_upon_creation=True,
    default_args={"retries": 1, "retry_delay": timedelta(seconds=10)},
    doc_md=__doc__,
    params={
        "train_on": types(
            ["ml.g6.xlarge", "ml.g5.xlarge", "ml.g4dn.xlarge"], "Instance types for training, best first"
        ),
        "prepare_on": types(["ml.m5.large", "ml.m5.xlarge"], "Instance types for preparing data, best first"),
        "bucket": Param("sm-prefer-nightly", type="string", title="S3 bucket, made if it isn't there"),
        "role": Param("arn:aws:iam::123456789012:role/sagemaker", type="string", title="The role that the jobs run as"),
        "image": Param(f"{REGISTRY}/sagemaker-scikit-learn:1.2-1-cpu-py3", type="string", title="Container image"),
    },
):

    @task
    def upload(run: str) -> None:
        """Put the raw data, as scikit-learn ships it, and the jobs' scripts into S3."""
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook

        s3 = S3Hook()
        bucket, prefix = s3.parse_s3_url(run)
        if not s3.check_for_bucket(bucket):
            s3.create_bucket(bucket)
        raw = files("sklearn.datasets.data") / "digits.csv.gz"
        s3.load_bytes(raw.read_bytes(), f"{prefix}/raw/digits.csv.gz", bucket, replace=True)
        for script in sorted(SCRIPTS.glob("*.py")):
            s3.load_file(script, f"{prefix}/code/{script.name}", bucket, replace=True)

    prepare = SageMakerPreferProcessingOperator(
        task_id="prepare",
        prefer="{{ var.json.get('nightly_prepare_on', params.prepare_on) }}",
        config={
            "ProcessingJobName": "nightly-prepare",
            "RoleArn": ROLE,
            "AppSpecification": {
                "ImageUri": IMAGE,
                "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/prepare_digits.py"],
            },
            "ProcessingInputs": [s3_input("raw", f"{RUN}/raw"), s3_input("code", f"{RUN}/code")],
            "ProcessingOutputConfig": {
                "Outputs": [
                    {
                        "OutputName": "split",
                        "S3Output": {
                            "S3Uri": f"{RUN}/split",
                            "LocalPath": "/opt/ml/processing/output",
                            "S3UploadMode": "EndOfJob",
                        },
                    }
                ]
            },
            "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 10}},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        },
    )

    train = SageMakerPreferTrainingOperator(
        task_id="train",
        prefer="{{ var.json.get('nightly_train_on', params.train_on) }}",
        max_pending=timedelta(hours=6),
        config={
            "TrainingJobName": "nightly-train",
            "RoleArn": ROLE,
            "AlgorithmSpecification": {
                "TrainingImage": IMAGE,
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/train_digits.py"],
            },
            "HyperParameters": {"C": "0.1"},
            "InputDataConfig": [channel("train", f"{RUN}/split/train"), channel("code", f"{RUN}/code")],
            "OutputDataConfig": {"S3OutputPath": f"{RUN}/models"},
            "ResourceConfig": {"VolumeSizeInGB": 10},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        },
    )

    @task
    def check(trained: dict, run: str) -> float:
        """Load the model from S3, and fail the run if it knows fewer than nine of ten digits that it has never seen."""
        import joblib
        import numpy as np
        from airflow.providers.amazon.aws.hooks.s3 import S3Hook
        from airflow.providers.common.compat.sdk import AirflowFailException

        def read(uri: str) -> io.BytesIO:
            bucket, key = S3Hook.parse_s3_url(uri)
            return io.BytesIO(S3Hook().get_key(key, bucket).get()["Body"].read())

        with tarfile.open(fileobj=read(trained["Training"]["ModelArtifacts"]["S3ModelArtifacts"])) as packed:
            names = [name for name in packed.getnames() if name.endswith("model.joblib")]
            model = joblib.load(packed.extractfile(names[0]))
        test = np.loadtxt(read(f"{run}/split/test/test.csv"), delimiter=",")
        accuracy = float((model.predict(test[:, 1:]) == test[:, 0]).mean())
        if accuracy < ACCURACY:
            raise AirflowFailException(
                f"The model knows {accuracy:.1%} of {len(test)} digits; {ACCURACY:.0%} are needed."
            )
        print(f"The model knows {accuracy:.1%} of {len(test)} digits that it has never seen.")
        return accuracy

    upload(RUN) >> prepare >> train
    check(train.output, RUN)
