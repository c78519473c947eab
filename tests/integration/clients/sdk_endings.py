"""Training jobs of many kinds with the SageMaker Python SDK, side by side; nothing in here knows of the sandbox."""

import json
import pathlib
import sys

import boto3
from sagemaker.core.resources import TrainingJob
from sagemaker.core.shapes import InstancePreference, Tag
from sagemaker.core.utils.exceptions import FailedStatusError
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import CheckpointConfig, Compute, InputData, SourceCode, StoppingCondition

SPOT_LIMITS = StoppingCondition(max_runtime_in_seconds=3600, max_wait_time_in_seconds=7200)

here = pathlib.Path(sys.argv[1])
(here / "source").mkdir()
(here / "source/train.py").write_text(
    """
import argparse, os, pathlib, time
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, default=0)
parser.add_argument("--fail", default="")
options = parser.parse_args()
time.sleep(options.seconds)
if options.fail:
    raise ValueError(options.fail)
if "SM_CHANNEL_TRAIN" in os.environ:
    pathlib.Path("/opt/ml/checkpoints/step-1").write_text(" ".join(os.listdir(os.environ["SM_CHANNEL_TRAIN"])))
"""
)
s3 = boto3.client("s3")
s3.create_bucket(Bucket="lake")
s3.put_object(Bucket="lake", Key="train/rows.csv", Body=b"1,2")

trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
iam = boto3.client("iam")
role = iam.create_role(
    RoleName="endings", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
)["Role"]["Arn"]
iam.attach_role_policy(RoleName="endings", PolicyArn="arn:aws:iam::aws:policy/AmazonSageMakerFullAccess")
sagemaker = boto3.client("sagemaker")
plan = sagemaker.list_training_plans()["TrainingPlanSummaries"][0]["TrainingPlanArn"]


def prefer(*types: str, **more: object) -> list[InstancePreference]:
    return [InstancePreference(instance_type=kind, **more) for kind in types]


def start(name: str, compute: Compute, channels: list[InputData] | None = None, **more: object) -> TrainingJob:
    trainer = ModelTrainer(
        role=role,
        training_image="123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
        source_code=SourceCode(source_dir=str(here / "source"), entry_script="train.py"),
        base_job_name=name,
        compute=compute,
        **more,
    )
    trainer.train(input_data_config=channels, wait=False)
    return trainer._latest_training_job


def ending(job: TrainingJob) -> dict[str, str]:
    raised = ""
    try:
        job.wait(poll=1)
    except FailedStatusError as error:
        raised = str(error)
    job.refresh()
    seen = sagemaker.describe_training_job(TrainingJobName=job.training_job_name)
    resources = seen["ResourceConfig"]
    return {
        "status": job.training_job_status,
        "raised": raised,
        "selected": f"{resources.get('SelectedInstanceCount')} {resources.get('SelectedInstanceType')}",
    }


g5 = Compute(instance_type="ml.g5.xlarge", instance_count=1)
jobs = {
    "own-counts": start(
        "own-counts",
        Compute(
            instance_preferences=[
                InstancePreference(instance_type="ml.p5.48xlarge", instance_count=1),
                InstancePreference(instance_type="ml.g5.xlarge", instance_count=2),
            ]
        ),
    ),
    "on-plan": start(
        "on-plan",
        Compute(
            instance_preferences=[
                *prefer("ml.p5.48xlarge", training_plan_arns=[plan]),
                *prefer("ml.g5.xlarge"),
            ],
            instance_count=1,
        ),
    ),
    "spot": start(
        "spot",
        Compute(instance_type="ml.g5.xlarge", instance_count=1, enable_managed_spot_training=True),
        [InputData(channel_name="train", data_source="s3://lake/train/")],
        stopping_condition=SPOT_LIMITS,
        checkpoint_config=CheckpointConfig(s3_uri="s3://lake/checkpoints"),
        tags=[Tag(key="team", value="search")],
    ),
    "fails": start("fails", g5, hyperparameters={"fail": "no such column"}),
    "no-capacity": start("no-capacity", Compute(instance_preferences=prefer("ml.c5.xlarge"), instance_count=1)),
    "stopped": start("stopped", g5, hyperparameters={"seconds": 300}),
}
jobs["stopped"].stop()
result = {
    "jobs": {name: ending(job) for name, job in jobs.items()},
    "found": [
        job.training_job_name.rpartition("-")[0] for job in TrainingJob.get_all(name_contains="o", sort_by="Name")
    ],
    "checkpoint": s3.get_object(Bucket="lake", Key="checkpoints/step-1")["Body"].read().decode(),
    "tags": [tag["Key"] for tag in sagemaker.list_tags(ResourceArn=jobs["spot"].training_job_arn)["Tags"]],
}
sys.stdout.write(json.dumps(result) + "\n")
