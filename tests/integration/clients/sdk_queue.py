"""Training jobs through an AWS Batch queue with the SageMaker Python SDK; nothing in here knows of the sandbox."""

import json
import logging
import pathlib
import sys

import boto3
from sagemaker.train import ModelTrainer
from sagemaker.train.aws_batch.training_queue import TrainingQueue
from sagemaker.train.configs import Compute, SourceCode, StoppingCondition

logging.basicConfig(level=logging.INFO)
here = pathlib.Path(sys.argv[1])
(here / "source").mkdir()
(here / "source/train.py").write_text(
    """
import argparse, os, sys, time
parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float)
seconds = parser.parse_args().seconds
print("seen:", seconds)
time.sleep(seconds)
"""
)

trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
role = boto3.client("iam").create_role(
    RoleName="training", AssumeRolePolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [trust]})
)["Role"]["Arn"]

batch = boto3.client("batch")
batch.create_service_environment(
    serviceEnvironmentName="environment",
    serviceEnvironmentType="SAGEMAKER_TRAINING",
    capacityLimits=[{"maxCapacity": 1, "capacityUnit": "NUM_INSTANCES"}],
)
policy = batch.create_scheduling_policy(
    name="fair", fairsharePolicy={"shareDistribution": [{"shareIdentifier": "RED", "weightFactor": 1.0}]}
)
batch.create_job_queue(
    jobQueueName="fair",
    jobQueueType="SAGEMAKER_TRAINING",
    priority=1,
    schedulingPolicyArn=policy["arn"],
    serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": "environment"}],
)


def trainer(name, seconds):
    return ModelTrainer(
        role=role,
        training_image="123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
        source_code=SourceCode(source_dir=str(here / "source"), entry_script="train.py"),
        compute=Compute(instance_type="ml.g5.xlarge", instance_count=1),
        stopping_condition=StoppingCondition(max_runtime_in_seconds=3600),
        hyperparameters={"seconds": seconds},
        base_job_name=name,
    )


queue = TrainingQueue("fair")
short = trainer("short", 0)
first = queue.submit(short, inputs=None, share_identifier="RED", priority=5, tags={"team": "red"})
long = queue.submit(trainer("long", 600), inputs=None, job_name="long", share_identifier="RED", priority=1)
behind = queue.submit(short, inputs=None, job_name="behind", share_identifier="RED", priority=1)
done = first.wait(timeout=120)
behind.update(2)
found = queue.get_job("long")
waiting = [job.job_name for job in queue.list_jobs(status="RUNNABLE")]
by_share = [job.job_name for job in queue.list_jobs_by_share(status="RUNNABLE", share_identifier="RED")]
long.terminate("not needed")
ended = long.wait(timeout=120)
last = behind.wait(timeout=120)
result = {
    "first": done["status"],
    "attempts": len(done["attempts"]),
    "found": found.job_arn == long.job_arn,
    "waiting": waiting,
    "by_share": by_share,
    "ended": [ended["status"], ended["statusReason"]],
    "last": last["status"],
    "priority": last["schedulingPriority"],
    "trainer": first.get_model_trainer()._latest_training_job.training_job_status,
}
sys.stdout.write(json.dumps(result) + "\n")
