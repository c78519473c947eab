"""What the SageMaker Python SDK v3 asks of AWS around a ModelTrainer, call by call, by boto3.

The calls and the shapes of their requests are those of sagemaker-train 1.27; the driver script stands in for the one
that the SDK uploads, and leans on the same things in the container.
"""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration.aws import client

BUCKET = "sagemaker-us-east-1-123456789012"
DRIVER = """\
#!/bin/bash
set -e
fail() {
    code=$?
    [ -s /opt/ml/output/failure ] || echo "see the log of $TRAINING_JOB_NAME" >> /opt/ml/output/failure
    exit $code
}
trap fail ERR
PYTHON=$(command -v python3 || command -v python)
PIP=$(command -v pip3 || command -v pip)
[[ -n "$PYTHON" && -n "$PIP" ]]
cat /opt/ml/input/config/resourceconfig.json /opt/ml/input/config/inputdataconfig.json > /dev/null
$PYTHON /opt/ml/input/data/sm_drivers/scripts/environment.py
source /opt/ml/input/sm_training.env
cd /opt/ml/input/data/code
$PYTHON -m pip install -r requirements.txt
$PYTHON train.py $ARGUMENTS
"""
ENVIRONMENT = """\
import json, os
with open("/opt/ml/input/config/hyperparameters.json") as config:
    given = json.load(config)
arguments = " ".join(f"--{name} {value}" for name, value in given.items())
with open("/opt/ml/input/sm_training.env", "w") as env:
    env.write(f"export ARGUMENTS='{arguments}'\\n")
    env.write("export SM_MODEL_DIR='/opt/ml/model'\\n")
"""
TRAIN = """\
import os, pathlib, sys
print("seen", sys.argv[1:], os.listdir("/opt/ml/input/data/train"))
pathlib.Path(os.environ["SM_MODEL_DIR"], "weights").write_text("1")
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxServer]:
    runner = LocalRunner(tmp_path_factory.mktemp("jobs"))
    with SandboxServer(speed=60, runner=runner) as served:
        yield served


class Clients:
    def __init__(self, server: SandboxServer) -> None:
        services = ("iam", "sts", "s3", "sagemaker", "logs")
        clients = (client(server.endpoint_url, service) for service in services)
        self.iam, self.sts, self.s3, self.sagemaker, self.logs = clients


@pytest.fixture
def aws(server: SandboxServer) -> Iterator[Clients]:
    clients = Clients(server)
    yield clients
    server_reset(clients)


def server_reset(aws: Clients) -> None:
    for role in aws.iam.list_roles()["Roles"]:
        name = role["RoleName"]
        for policy in aws.iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]:
            aws.iam.detach_role_policy(RoleName=name, PolicyArn=policy["PolicyArn"])
        for policy in aws.iam.list_role_policies(RoleName=name)["PolicyNames"]:
            aws.iam.delete_role_policy(RoleName=name, PolicyName=policy)
        aws.iam.delete_role(RoleName=name)


def role(aws: Clients, policy: dict[str, Any] | None = None, managed: str | None = None) -> str:
    trust = {"Effect": "Allow", "Principal": {"Service": "sagemaker.amazonaws.com"}, "Action": "sts:AssumeRole"}
    document = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    arn: str = aws.iam.create_role(RoleName="training", AssumeRolePolicyDocument=document)["Role"]["Arn"]
    if policy is not None:
        text = json.dumps({"Version": "2012-10-17", "Statement": policy})
        aws.iam.put_role_policy(RoleName="training", PolicyName="own", PolicyDocument=text)
    if managed is not None:
        aws.iam.attach_role_policy(RoleName="training", PolicyArn=managed)
    return arn


def decisions(aws: Clients, arn: str, actions: list[str], **more: Any) -> dict[str, str]:
    pages = aws.iam.get_paginator("simulate_principal_policy").paginate(
        PolicySourceArn=arn, ActionNames=actions, **more
    )
    return {r["EvalActionName"]: r["EvalDecision"] for page in pages for r in page["EvaluationResults"]}


class TestTheRole:
    ACTIONS = ("sagemaker:CreateTrainingJob", "logs:CreateLogStream", "iam:DeleteRole")

    def test_a_role_that_has_aws_own_policy_is_allowed_what_it_says(self, aws: Clients) -> None:
        arn = role(aws, managed="arn:aws:iam::aws:policy/AmazonSageMakerFullAccess")
        assert list(decisions(aws, arn, list(self.ACTIONS)).values()) == ["allowed", "allowed", "implicitDeny"]

    def test_a_role_with_a_policy_of_its_own_is_judged_by_it(self, aws: Clients) -> None:
        arn = role(aws, policy={"Effect": "Allow", "Action": "s3:*", "Resource": f"arn:aws:s3:::{BUCKET}/*"})
        asked = {"ResourceArns": [f"arn:aws:s3:::{BUCKET}/*"]}
        assert decisions(aws, arn, ["s3:PutObject", "sagemaker:CreateTrainingJob"], **asked) == {
            "s3:PutObject": "allowed",
            "sagemaker:CreateTrainingJob": "implicitDeny",
        }
        assert decisions(aws, arn, ["s3:PutObject"]) == {"s3:PutObject": "implicitDeny"}

    def test_a_role_that_was_given_nothing_is_allowed_everything(self, aws: Clients) -> None:
        assert set(decisions(aws, role(aws), list(self.ACTIONS)).values()) == {"allowed"}

    def test_an_assumed_role_is_the_role(self, aws: Clients) -> None:
        role(aws, policy={"Effect": "Deny", "Action": "*", "Resource": "*"})
        arn = "arn:aws:sts::123456789012:assumed-role/training/session"
        assert decisions(aws, arn, ["s3:PutObject"]) == {"s3:PutObject": "explicitDeny"}

    def test_a_user_has_policies_too(self, aws: Clients) -> None:
        arn = aws.iam.create_user(UserName="ann")["User"]["Arn"]
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]}
        aws.iam.put_user_policy(UserName="ann", PolicyName="p", PolicyDocument=json.dumps(policy))
        assert decisions(aws, arn, ["iam:PassRole"]) == {"iam:PassRole": "implicitDeny"}

    @pytest.mark.parametrize("name", ["role/nobody", "user/nobody", "nothing"])
    def test_a_principal_that_is_not_there_is_an_error(self, aws: Clients, name: str) -> None:
        with pytest.raises(ClientError) as caught:
            decisions(aws, f"arn:aws:iam::123456789012:{name}", ["s3:PutObject"])
        assert caught.value.response["Error"]["Code"] == "NoSuchEntity"

    def test_the_trust_policy_comes_back(self, aws: Clients) -> None:
        role(aws)
        document = aws.iam.get_role(RoleName="training")["Role"]["AssumeRolePolicyDocument"]
        assert document["Statement"][0]["Principal"] == {"Service": "sagemaker.amazonaws.com"}


def upload(aws: Clients, prefix: str) -> None:
    assert aws.sts.get_caller_identity()["Account"] == "123456789012"
    aws.s3.create_bucket(Bucket=BUCKET)
    assert BUCKET in [bucket["Name"] for bucket in aws.s3.list_buckets()["Buckets"]]
    files = {
        "code/train.py": TRAIN,
        "code/requirements.txt": "no-such-package-anywhere",
        "sm_drivers/sm_train.sh": DRIVER,
        "sm_drivers/scripts/environment.py": ENVIRONMENT,
        "train/rows.csv": "1,2",
    }
    for name, body in files.items():
        key = f"{prefix}/input/{name}"
        aws.s3.upload_fileobj(io.BytesIO(body.encode()), BUCKET, key, ExtraArgs={"ExpectedBucketOwner": "123456789012"})


def request(name: str, arn: str) -> dict[str, Any]:
    def channel(which: str) -> dict[str, Any]:
        where = {
            "S3DataType": "S3Prefix",
            "S3Uri": f"s3://{BUCKET}/sdk/{name}/input/{which}",
            "S3DataDistributionType": "FullyReplicated",
        }
        return {"ChannelName": which, "DataSource": {"S3DataSource": where}, "InputMode": "File"}

    driver = "/opt/ml/input/data/sm_drivers/sm_train.sh"
    return {
        "TrainingJobName": name,
        "HyperParameters": {"epochs": "3"},
        "AlgorithmSpecification": {
            "TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["/bin/bash"],
            "ContainerArguments": ["-c", f"chmod +x {driver} && {driver}"],
        },
        "RoleArn": arn,
        "InputDataConfig": [channel("train"), channel("code"), channel("sm_drivers")],
        "OutputDataConfig": {"S3OutputPath": f"s3://{BUCKET}/sdk", "CompressionType": "GZIP"},
        "ResourceConfig": {
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
            "InstancePreferences": [{"InstanceType": "ml.g5.xlarge"}, {"InstanceType": "ml.g4dn.xlarge"}],
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        "Environment": {},
    }


def ended(aws: Clients, name: str) -> dict[str, Any]:
    for _ in range(300):
        job: dict[str, Any] = aws.sagemaker.describe_training_job(TrainingJobName=name)
        if job["TrainingJobStatus"] not in {"InProgress", "Stopping"}:
            return job
        time.sleep(0.2)
    raise AssertionError(job)


def log_of(aws: Clients, name: str) -> list[str]:
    """Read a log as the SDK does: streams by name, then each from its head until a page is empty."""
    group = "/aws/sagemaker/TrainingJobs"
    streams = aws.logs.describe_log_streams(
        logGroupName=group, logStreamNamePrefix=f"{name}/", orderBy="LogStreamName"
    )["logStreams"]
    lines: list[str] = []
    for stream in streams:
        token: dict[str, str] = {}
        while True:
            page = aws.logs.get_log_events(
                logGroupName=group, logStreamName=stream["logStreamName"], startFromHead=True, **token
            )
            token = {"nextToken": page["nextForwardToken"]}
            if not page["events"]:
                break
            lines += [event["message"] for event in page["events"]]
    return lines


def test_a_job_in_script_mode_runs_by_its_drivers(aws: Clients) -> None:
    upload(aws, "sdk/good")
    aws.sagemaker.create_training_job(**request("good", role(aws)))
    job = ended(aws, "good")
    assert job["TrainingJobStatus"] == "Completed", job.get("FailureReason")
    assert job["ResourceConfig"]["SelectedInstanceType"] == "ml.g5.xlarge"
    assert "InstanceType" not in job["ResourceConfig"]
    lines = log_of(aws, "good")
    assert "seen ['--epochs', '3'] ['rows.csv']" in lines
    assert any("nothing is installed" in line for line in lines)
    body = aws.s3.get_object(Bucket=BUCKET, Key="sdk/good/output/model.tar.gz")["Body"].read()
    with tarfile.open(fileobj=io.BytesIO(body)) as tar:
        assert tar.getnames() == ["weights"]


def test_a_script_that_fails_ends_with_what_the_driver_says(aws: Clients) -> None:
    upload(aws, "sdk/bad")
    aws.s3.put_object(Bucket=BUCKET, Key="sdk/bad/input/code/train.py", Body=b"raise SystemExit(7)")
    aws.sagemaker.create_training_job(**request("bad", role(aws)))
    job = ended(aws, "bad")
    assert job["FailureReason"] == "AlgorithmError: see the log of bad, exit code: 7"


def test_there_is_no_log_before_the_first_line_of_one(aws: Clients) -> None:
    with pytest.raises(aws.logs.exceptions.ResourceNotFoundException):
        aws.logs.describe_log_streams(logGroupName="/aws/sagemaker/NeverUsed", logStreamNamePrefix="x/")
