"""What scripts ask for before and after a job, and what nobody here answers: the rest of AWS, through moto."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.unit.sandbox.builders import CPU, G5, ROLE, processing, training

SOON = {"Delay": 1, "MaxAttempts": 60}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SandboxServer]:
    runner = LocalRunner(tmp_path_factory.mktemp("jobs"))
    with SandboxServer(
        {"rates": False, "capacity": {"ml.p4d.24xlarge": 0, "ml.c5.xlarge": 0}}, runner=runner
    ) as served:
        yield served


def client(server: SandboxServer, service: str = "sagemaker") -> Any:
    return aws.client(server.endpoint_url, service)


def script(server: SandboxServer, body: str) -> dict[str, Any]:
    """Put a script into a bucket of its own; returns the channel that brings it into a job."""
    s3 = client(server, "s3")
    s3.create_bucket(Bucket="lake")
    s3.upload_fileobj(io.BytesIO(body.encode()), "lake", "code/run.sh")
    where = {"S3DataType": "S3Prefix", "S3Uri": "s3://lake/code", "S3DataDistributionType": "FullyReplicated"}
    return {"ChannelName": "code", "DataSource": {"S3DataSource": where}}


def test_a_model_is_trained_fetched_and_registered(server: SandboxServer) -> None:
    """The tutorials' way: upload, create, wait, describe, take the artifacts, create a model of them."""
    sagemaker, s3 = client(server), client(server, "s3")
    request = training(
        "tutorial",
        {
            "InstancePreferences": [{"InstanceType": "ml.p4d.24xlarge"}, {"InstanceType": G5}],
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        },
        InputDataConfig=[script(server, "cat /opt/ml/input/config/hyperparameters.json > /opt/ml/model/weights\n")],
        OutputDataConfig={"S3OutputPath": "s3://lake/models"},
        HyperParameters={"max_depth": "5"},
    )
    request["AlgorithmSpecification"]["ContainerEntrypoint"] = ["/bin/bash", "/opt/ml/input/data/code/run.sh"]
    sagemaker.create_training_job(**request)
    sagemaker.get_waiter("training_job_completed_or_stopped").wait(TrainingJobName="tutorial", WaiterConfig=SOON)
    job = sagemaker.describe_training_job(TrainingJobName="tutorial")
    assert (job["TrainingJobStatus"], job.get("FailureReason")) == ("Completed", None)
    assert job["ResourceConfig"]["SelectedInstanceType"] == G5
    assert job["TrainingEndTime"] >= job["TrainingStartTime"] >= job["CreationTime"]

    artifacts = job["ModelArtifacts"]["S3ModelArtifacts"]
    bucket, _, key = artifacts.removeprefix("s3://").partition("/")
    with tarfile.open(fileobj=io.BytesIO(s3.get_object(Bucket=bucket, Key=key)["Body"].read())) as tar:
        weights = tar.extractfile("weights")
        assert weights is not None
        assert json.load(weights) == {"max_depth": "5"}
    container = {"Image": "server:1", "ModelDataUrl": artifacts}
    sagemaker.create_model(ModelName="tutorial", ExecutionRoleArn=ROLE, PrimaryContainer=container)
    assert sagemaker.describe_model(ModelName="tutorial")["PrimaryContainer"]["ModelDataUrl"] == artifacts


def test_a_processing_job_with_a_list_writes_what_comes_out_and_its_log(server: SandboxServer) -> None:
    sagemaker = client(server)
    channel = script(server, "echo prepared | tee /opt/ml/processing/output/rows\n")
    cluster = {
        "InstancePreferences": [
            {"InstanceType": "ml.c5.xlarge", "InstanceCount": 2},
            {"InstanceType": CPU, "InstanceCount": 1},
        ],
        "VolumeSizeInGB": 30,
    }
    given = {
        "S3Uri": channel["DataSource"]["S3DataSource"]["S3Uri"],
        "LocalPath": "/opt/ml/processing/input/code",
        "S3DataType": "S3Prefix",
        "S3InputMode": "File",
    }
    taken = {"S3Uri": "s3://lake/rows", "LocalPath": "/opt/ml/processing/output", "S3UploadMode": "EndOfJob"}
    request = processing(
        "prepare",
        cluster,
        ProcessingInputs=[{"InputName": "code", "S3Input": given}],
        ProcessingOutputConfig={"Outputs": [{"OutputName": "rows", "S3Output": taken}]},
    )
    request["AppSpecification"]["ContainerEntrypoint"] = ["/bin/bash", "/opt/ml/processing/input/code/run.sh"]
    sagemaker.create_processing_job(**request)
    sagemaker.get_waiter("processing_job_completed_or_stopped").wait(ProcessingJobName="prepare", WaiterConfig=SOON)
    job = sagemaker.describe_processing_job(ProcessingJobName="prepare")
    chosen = job["ProcessingResources"]["ClusterConfig"]
    assert (chosen["SelectedInstanceType"], chosen["SelectedInstanceCount"]) == (CPU, 1)
    assert client(server, "s3").get_object(Bucket="lake", Key="rows/rows")["Body"].read() == b"prepared\n"

    logs = client(server, "logs")
    group = "/aws/sagemaker/ProcessingJobs"
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group, logStreamNamePrefix="prepare/")
    assert "prepared" in [event["message"] for page in pages for event in page["events"]]


@pytest.mark.parametrize(
    ("service", "operation", "arguments"),
    [
        ("sagemaker", "list_hubs", {}),
        ("service-quotas", "list_services", {}),
        ("iam", "generate_service_last_accessed_details", {"Arn": ROLE}),
    ],
)
def test_what_nobody_answers_is_said_to_be_missing(
    server: SandboxServer, capfd: pytest.CaptureFixture[str], service: str, operation: str, arguments: dict[str, str]
) -> None:
    with pytest.raises(ClientError) as caught:
        getattr(client(server, service), operation)(**arguments)
    assert caught.value.response["Error"]["Code"] == "NotImplemented"
    assert operation in caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    assert caught.value.response["ResponseMetadata"]["RequestId"]
    assert "Traceback" not in capfd.readouterr().err


def test_an_operation_that_is_newer_than_the_sandboxs_botocore_is_said_to_be_missing(
    server: SandboxServer, capfd: pytest.CaptureFixture[str]
) -> None:
    newer = client(server, "sagemaker")
    newer.meta.events.register(
        "before-call.sagemaker.ListHubs",
        lambda params, **_: params["headers"].update({"X-Amz-Target": "SageMaker.ListSomethingNew"}),
    )
    with pytest.raises(ClientError) as caught:
        newer.list_hubs()
    assert caught.value.response["Error"]["Code"] == "NotImplemented"
    assert "ListSomethingNew" in caught.value.response["Error"]["Message"]
    assert caught.value.response["ResponseMetadata"]["RetryAttempts"] == 0
    assert "Traceback" not in capfd.readouterr().err
