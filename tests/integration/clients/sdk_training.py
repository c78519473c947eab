"""A training job with the SageMaker Python SDK, as a user writes it; nothing in here knows of the sandbox."""

import json
import logging
import pathlib
import sys

import boto3
from sagemaker.core.shapes import InstancePreference
from sagemaker.train import ModelTrainer
from sagemaker.train.configs import Compute, InputData, SourceCode

logging.basicConfig(level=logging.INFO)
here = pathlib.Path(sys.argv[1])
(here / "source").mkdir()
(here / "data").mkdir()
(here / "data/rows.csv").write_text("1,2")
(here / "source/requirements.txt").write_text("no-such-package-anywhere")
(here / "source/train.py").write_text(
    """
import argparse, os, pathlib
parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int)
parser.add_argument("--label")
options = parser.parse_args()
print("seen:", options.epochs, options.label, os.listdir(os.environ["SM_CHANNEL_TRAIN"]))
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights").write_text("1")
"""
)

trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
iam = boto3.client("iam")
role = iam.create_role(
    RoleName="training", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
)["Role"]["Arn"]
iam.attach_role_policy(RoleName="training", PolicyArn="arn:aws:iam::aws:policy/AmazonSageMakerFullAccess")

trainer = ModelTrainer(
    role=role,
    training_image="123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
    source_code=SourceCode(source_dir=str(here / "source"), entry_script="train.py", requirements="requirements.txt"),
    compute=Compute(
        instance_preferences=[
            InstancePreference(instance_type="ml.p5.48xlarge"),
            InstancePreference(instance_type="ml.g5.xlarge"),
        ],
        instance_count=1,
    ),
    hyperparameters={"epochs": 3, "label": "two words"},
    base_job_name="sdk",
)
trainer.train(input_data_config=[InputData(channel_name="train", data_source=str(here / "data"))], wait=True, logs=True)
job = trainer._latest_training_job
job.refresh()
result = {
    "status": job.training_job_status,
    "selected": job.resource_config.selected_instance_type,
    "artifacts": job.model_artifacts.s3_model_artifacts,
}
sys.stdout.write(json.dumps(result) + "\n")
