"""Every response of every operation, as it goes over the wire, held against botocore's model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest
from botocore.exceptions import ClientError
from botocore.model import ListShape, MapShape, Shape, StructureShape

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox import Sandbox, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.runs import Ending
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.integration.batch_calls import call_everything
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, prefer, processing, single, training

_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "boolean": (bool,),
    "integer": (int,),
    "long": (int,),
    "double": (int, float),
    "float": (int, float),
    "timestamp": (int, float),
}
#: Until there are artifacts, or a job has started, Describe has none, though the models call them required.
_MAY_LACK = {"ModelArtifacts", "startedAt"}


def faults(shape: Shape, value: Any, path: str) -> Iterator[str]:
    """Name everything in a body that the model doesn't have, or doesn't have like that."""
    if isinstance(shape, StructureShape):
        yield from _structure_faults(shape, value, path)
    elif isinstance(shape, ListShape):
        for index, item in enumerate(value):
            yield from faults(shape.member, item, f"{path}[{index}]")
    elif isinstance(shape, MapShape):
        for key, item in value.items():
            yield from faults(shape.value, item, f"{path}[{key}]")
    else:
        yield from _scalar_faults(shape, value, path)


def _structure_faults(shape: StructureShape, value: Any, path: str) -> Iterator[str]:
    if not isinstance(value, dict):
        yield f"{path} is no structure: {value!r}"
        return
    for key in value.keys() - shape.members.keys():
        yield f"{path}.{key} is unknown"
    for key in set(shape.required_members) - value.keys() - _MAY_LACK:
        yield f"{path}.{key} is missing"
    for key in value.keys() & shape.members.keys():
        yield from faults(shape.members[key], value[key], f"{path}.{key}")


def _scalar_faults(shape: Shape, value: Any, path: str) -> Iterator[str]:
    wanted = _TYPES[shape.type_name]
    if not isinstance(value, wanted) or (isinstance(value, bool) and bool not in wanted):
        yield f"{path} is {value!r}, not of type {shape.type_name}"
    elif shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        # AWS adds to enumerations; ours are of the installed botocore, but for what it has never published.
        yield f"{path} is {value!r}, which its enumeration lacks"


class Recorder:
    """Clients whose answers are kept as they came."""

    def __init__(self, server: SandboxServer) -> None:
        self._server = server
        self.seen: dict[str, list[dict[str, Any]]] = {}

    def client(self, service: str) -> Any:
        once = {"total_max_attempts": 1, "mode": "standard"}
        made = aws.client(self._server.endpoint_url, service, retries=once)
        made.meta.events.register("after-call", self._keep)
        return made

    def _keep(self, model: Any, http_response: Any, **_: Any) -> None:
        if http_response.status_code == 200:
            body = json.loads(http_response.content or b"{}")
            self.seen.setdefault(f"{model.service_model.service_name}:{model.name}", []).append(body)


@pytest.fixture(scope="module")
def seen() -> dict[str, list[dict[str, Any]]]:
    """The answers of every operation, of jobs in every state that they come into."""
    clock = FakeClock()
    scripts = {
        "fails": Script(seconds=10, ending=Ending.FAILED, failure_reason="AlgorithmError: , exit code: 1"),
        "AWSBatchfails*": Script.fails("AlgorithmError: , exit code: 1"),
        "AWSBatchlong*": Script(seconds=10_000, stop_seconds=30),
        "long*": Script(seconds=10_000, stop_seconds=30),
        "says": Script(seconds=10, exit_message="done"),
    }
    scenario = {
        "rates": False,
        "capacity": {"ml.p4d.24xlarge": 0},
        "plans": [{"name": "december", "type": P5, "count": 2, "blocks": [{"starts": 0, "lasts": "4h"}]}],
    }
    with SandboxServer(scenario, clock=clock, runner=ScriptedRunner(scripts, Script(seconds=10))) as server:
        recorder = Recorder(server)
        sagemaker, service_quotas = recorder.client("sagemaker"), recorder.client("service-quotas")
        _create(sagemaker)
        _look(sagemaker)
        server.sandbox.advance(60)
        sagemaker.stop_training_job(TrainingJobName="long-stopped")
        sagemaker.stop_processing_job(ProcessingJobName="long-stopped")
        _look(sagemaker)
        server.sandbox.advance(3 * 86_400)
        _look(sagemaker)
        _rest(sagemaker, service_quotas)
        call_everything(recorder.client("batch"), server.sandbox.advance)
        return recorder.seen


NAMES = ("waits", "plan", "fails", "long-stopped", "over", "spot", "done")


def _create(sagemaker: Any) -> None:
    limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
    everything = {
        "HyperParameters": {"a": "1"},
        "Environment": {"B": "2"},
        "Tags": [{"Key": "team", "Value": "x"}],
        "CheckpointConfig": {"S3Uri": "s3://bucket/c"},
        "RetryStrategy": {"MaximumRetryAttempts": 2},
        "InputDataConfig": [
            {
                "ChannelName": "train",
                "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/in"}},
            }
        ],
        "SessionChainingConfig": {"EnableSessionTagChaining": True},
        "DebugHookConfig": {"S3OutputPath": "s3://bucket/d"},
        "ExperimentConfig": {"ExperimentName": "e"},
        "ProfilerConfig": {"DisableProfiler": True},
        "EnableNetworkIsolation": False,
        "EnableInterContainerTrafficEncryption": False,
        "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
    }
    plan = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"
    sagemaker.create_training_job(**training("waits", prefer("ml.p4d.24xlarge")))
    sagemaker.create_training_job(**training("plan", single(P5, TrainingPlanArn=plan), **everything))
    sagemaker.create_training_job(**training("fails", single(G5)))
    sagemaker.create_training_job(**training("long-stopped", single(G5)))
    sagemaker.create_training_job(**training("over", prefer(G5, CPU), StoppingCondition={"MaxRuntimeInSeconds": 5}))
    sagemaker.create_training_job(
        **training("spot", single(G5), EnableManagedSpotTraining=True, StoppingCondition=limits)
    )
    sagemaker.create_training_job(**training("done", prefer(G5)))
    sagemaker.create_processing_job(
        **processing("says", Environment={"A": "1"}, StoppingCondition={"MaxRuntimeInSeconds": 60})
    )
    sagemaker.create_processing_job(**processing("fails", single(CPU)))
    sagemaker.create_processing_job(**processing("long-stopped"))


def _look(sagemaker: Any) -> None:
    for name in NAMES:
        sagemaker.describe_training_job(TrainingJobName=name)
    for name in ("says", "fails", "long-stopped"):
        sagemaker.describe_processing_job(ProcessingJobName=name)
    sagemaker.list_training_jobs(MaxResults=100)
    sagemaker.list_training_jobs(MaxResults=1)
    sagemaker.list_processing_jobs(MaxResults=100)
    sagemaker.search(Resource="TrainingJob", MaxResults=100)
    sagemaker.search(Resource="TrainingJob", MaxResults=1)
    sagemaker.describe_training_plan(TrainingPlanName="december")
    sagemaker.list_training_plans()


def _rest(sagemaker: Any, service_quotas: Any) -> None:
    arn = sagemaker.describe_training_job(TrainingJobName="done")["TrainingJobArn"]
    sagemaker.add_tags(ResourceArn=arn, Tags=[{"Key": "a", "Value": "b"}])
    sagemaker.list_tags(ResourceArn=arn)
    sagemaker.delete_tags(ResourceArn=arn, TagKeys=["a"])
    sagemaker.create_training_job(**training("long-updated", single(G5)))
    sagemaker.update_training_job(TrainingJobName="long-updated", ProfilerConfig={})
    sagemaker.describe_training_job(TrainingJobName="long-updated")
    sagemaker.delete_training_job(TrainingJobName="done")
    offered = sagemaker.search_training_plan_offerings(
        InstanceType=P5, InstanceCount=2, DurationHours=24, TargetResources=["training-job"]
    )
    sagemaker.create_training_plan(
        TrainingPlanName="bought", TrainingPlanOfferingId=offered["TrainingPlanOfferings"][0]["TrainingPlanOfferingId"]
    )
    sagemaker.describe_training_plan(TrainingPlanName="bought")
    quota = service_quotas.list_service_quotas(ServiceCode="sagemaker", MaxResults=1)["Quotas"][0]
    service_quotas.get_service_quota(ServiceCode="sagemaker", QuotaCode=quota["QuotaCode"])
    service_quotas.list_aws_default_service_quotas(ServiceCode="sagemaker", MaxResults=1)
    service_quotas.get_aws_default_service_quota(ServiceCode="sagemaker", QuotaCode=quota["QuotaCode"])
    sagemaker.delete_processing_job(ProcessingJobName="fails")
    sagemaker.search_training_plan_offerings(TrainingPlanArn=PLAN)


def test_every_operation_of_the_sandbox_is_here(seen: dict[str, list[dict[str, Any]]]) -> None:
    with Sandbox() as sandbox:
        assert seen.keys() == {f"{service}:{name}" for name, service in sandbox._services.items()}


def test_jobs_came_into_every_state(seen: dict[str, list[dict[str, Any]]]) -> None:
    states = {(job["TrainingJobStatus"], job["SecondaryStatus"]) for job in seen["sagemaker:DescribeTrainingJob"]}
    assert states >= {
        ("InProgress", "Pending"),
        ("InProgress", "Training"),
        ("Completed", "Completed"),
        ("Failed", "Failed"),
        ("Stopped", "MaxRuntimeExceeded"),
    }
    assert {status for status, _ in states} >= {"Stopped", "Stopping"}


def test_service_jobs_came_into_every_state(seen: dict[str, list[dict[str, Any]]]) -> None:
    shown = seen["batch:DescribeServiceJob"]
    assert {job["status"] for job in shown} >= {"RUNNABLE", "RUNNING", "SUCCEEDED", "FAILED"}
    assert any("preemptionSummary" in job for job in shown)
    assert any("serviceResourceId" not in attempt for job in shown for attempt in job["attempts"])


def test_nothing_in_a_response_is_unknown_missing_or_of_another_type(seen: dict[str, list[dict[str, Any]]]) -> None:
    found = []
    for name, bodies in seen.items():
        service, _, operation = name.partition(":")
        shape = botocore.session.get_session().get_service_model(service).operation_model(operation).output_shape
        for body in bodies:
            if shape is None:
                assert not body
                continue
            found += list(faults(shape, body, operation))
    # MaxPendingTimeExceeded is what the sandbox calls an ending whose name AWS has never published.
    assert not [fault for fault in found if "MaxPendingTimeExceeded" not in fault]


def test_a_call_that_is_not_let_in_has_them_too_and_says_how_to_ask() -> None:
    with SandboxServer() as server, pytest.raises(ClientError) as caught:
        aws.client(server.endpoint_url, signature_version=botocore.UNSIGNED).list_training_jobs()
    said = caught.value.response
    assert said["Error"]["Code"] == "AccessDeniedException"
    assert "no AWS Authorization header; ask with an AWS client, with this address as AWS_ENDPOINT_URL" in str(
        caught.value
    )
    assert said["ResponseMetadata"]["RequestId"]
    assert said["ResponseMetadata"]["HTTPHeaders"]["x-amzn-errortype"] == "AccessDeniedException"


def test_a_refusal_has_a_code_a_message_and_a_request_id() -> None:
    with SandboxServer() as server, pytest.raises(ClientError) as caught:
        Recorder(server).client("sagemaker").describe_training_job(TrainingJobName="none")
    said = caught.value.response
    assert said["Error"] == {"Code": "ValidationException", "Message": "Requested resource not found."}
    assert said["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert said["ResponseMetadata"]["RequestId"]
