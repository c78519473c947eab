"""The Amazon provider's own operators and sensors against the sandbox, unmodified. What they do wrong is theirs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from airflow.providers.amazon.aws.hooks.sagemaker import SageMakerHook
from airflow.providers.amazon.aws.operators.sagemaker import SageMakerProcessingOperator, SageMakerTrainingOperator
from airflow.providers.amazon.aws.sensors.sagemaker import SageMakerProcessingSensor, SageMakerTrainingSensor
from airflow.sdk.exceptions import TaskDeferred

from airflow_sm_prefer.sandbox import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.runs import Ending
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration.aws import client
from tests.unit.sandbox.builders import CPU, G5, P5, prefer, processing, single, training


@pytest.fixture(autouse=True)
def hasty() -> Iterator[None]:
    """Let the provider's time pass a hundred times as fast: with a log it describes a job every 30 seconds."""

    def sleep(seconds: float) -> None:
        time.sleep(seconds / 100)

    def monotonic() -> float:
        return time.monotonic() * 100

    fast = SimpleNamespace(sleep=sleep, monotonic=monotonic, time=time.time)
    with mock.patch("airflow.providers.amazon.aws.hooks.sagemaker.time", fast):
        yield


@pytest.fixture
def server() -> Iterator[SandboxServer]:
    scripts = {
        "fails*": Script(seconds=0.2, ending=Ending.FAILED, failure_reason="AlgorithmError: , exit code: 1"),
        "long*": Script(seconds=10_000),
    }
    with SandboxServer({"rates": False}, runner=ScriptedRunner(scripts, Script(seconds=0.2))) as served:
        connection = {
            "conn_type": "aws",
            "login": "test",
            "password": "test",
            "extra": {"endpoint_url": served.endpoint_url, "region_name": "us-east-1"},
        }
        with mock.patch.dict("os.environ", {"AIRFLOW_CONN_AWS_DEFAULT": json.dumps(connection)}):
            yield served


def aws(server: SandboxServer, service: str = "sagemaker") -> Any:
    return client(server.endpoint_url, service)


def train(config: dict[str, Any], **more: Any) -> SageMakerTrainingOperator:
    return SageMakerTrainingOperator(task_id="train", config=config, **{"check_interval": 1, **more})


def process(config: dict[str, Any], **more: Any) -> SageMakerProcessingOperator:
    return SageMakerProcessingOperator(task_id="prep", config=config, **{"check_interval": 1, **more})


@pytest.mark.usefixtures("server")
class TestTraining:
    def test_a_classic_job_runs_to_its_end_with_its_log(self) -> None:
        done = train(training("job", single(G5))).execute({})["Training"]
        assert done["TrainingJobStatus"] == "Completed"
        assert done["ModelArtifacts"]["S3ModelArtifacts"] == "s3://bucket/models/job/output/model.tar.gz"

    def test_a_list_with_one_count_runs_and_says_what_was_selected(self) -> None:
        resources = {
            "InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}],
            "InstanceCount": 1,
            "VolumeSizeInGB": 30,
        }
        done = train(training("job", resources)).execute({})["Training"]
        assert done["ResourceConfig"]["SelectedInstanceType"] == P5

    def test_a_list_with_counts_of_its_own_is_too_much_for_the_operator(self, server: SandboxServer) -> None:
        """As on AWS: there is no InstanceCount to read, and the job, created before that, runs on unwatched."""
        with pytest.raises(KeyError, match="InstanceCount"):
            train(training("long", prefer(P5, G5))).execute({})
        assert aws(server).describe_training_job(TrainingJobName="long")["TrainingJobStatus"] == "InProgress"

    def test_a_failed_job_fails_the_task_with_its_reason(self) -> None:
        with pytest.raises(Exception, match="AlgorithmError: , exit code: 1"):
            train(training("fails", single(G5)), print_log=False).execute({})

    def test_a_name_that_is_taken_gets_another(self, server: SandboxServer) -> None:
        for _ in range(2):
            train(training("job", single(G5)), action_if_job_exists="timestamp").execute({})
        names = [row["TrainingJobName"] for row in aws(server).list_training_jobs()["TrainingJobSummaries"]]
        assert len(set(names)) == 2
        assert all(name.startswith("job") for name in names)

    def test_a_quota_that_is_short_fails_the_task(self, server: SandboxServer) -> None:
        SandboxControl(server.endpoint_url).change(quotas={f"{G5} for training job usage": 0})
        with pytest.raises(Exception, match="ResourceLimitExceeded"):
            train(training("job", single(G5))).execute({})

    def test_a_deferred_wait_ends_with_the_job(self) -> None:
        pytest.importorskip("aiobotocore")
        operator = train(training("job", single(G5)), deferrable=True, print_log=False)
        with pytest.raises(TaskDeferred) as deferred:
            operator.execute({})
        event = first_event(deferred.value.trigger)
        assert event["status"] == "success"
        done = operator.execute_complete({}, event)["Training"]
        assert done["TrainingJobStatus"] == "Completed"

    def test_a_deferred_wait_fails_with_the_job(self) -> None:
        pytest.importorskip("aiobotocore")
        operator = train(training("fails", single(G5)), deferrable=True, print_log=False)
        with pytest.raises(TaskDeferred) as deferred:
            operator.execute({})
        with pytest.raises(Exception, match="AlgorithmError"):
            operator.execute_complete({}, first_event(deferred.value.trigger))


def first_event(trigger: Any) -> dict[str, Any]:
    async def first() -> dict[str, Any]:
        async for event in trigger.run():
            payload: dict[str, Any] = event.payload
            return payload
        raise AssertionError

    return asyncio.run(first())


class TestProcessing:
    @pytest.mark.parametrize(
        "cluster", [single(CPU), {**prefer(), "InstancePreferences": [{"InstanceType": CPU}], "InstanceCount": 1}]
    )
    def test_a_job_runs_to_its_end(self, server: SandboxServer, cluster: dict[str, Any]) -> None:
        done = process(processing("prep", cluster)).execute({})["Processing"]
        assert done["ProcessingJobStatus"] == "Completed"

    def test_a_deferred_wait_ends_with_the_job(self, server: SandboxServer) -> None:
        pytest.importorskip("aiobotocore")
        operator = process(processing("prep", single(CPU)), deferrable=True)
        with pytest.raises(TaskDeferred) as deferred:
            operator.execute({})
        done = operator.execute_complete({}, first_event(deferred.value.trigger))["Processing"]
        assert done["ProcessingJobStatus"] == "Completed"

    def test_a_failed_job_fails_the_task(self, server: SandboxServer) -> None:
        with pytest.raises(Exception, match="AlgorithmError"):
            process(processing("fails", single(CPU))).execute({})


class TestSensors:
    def test_a_training_sensor_waits_for_capacity_and_the_end(self, server: SandboxServer) -> None:
        control = SandboxControl(server.endpoint_url)
        control.set_capacity({G5: 0})
        aws(server).create_training_job(**training("job", single(G5)))
        sensor = SageMakerTrainingSensor(task_id="wait", job_name="job")
        assert sensor.poke({}) is False
        control.set_capacity({G5: 1})
        assert until(lambda: sensor.poke({}))

    def test_a_training_sensor_fails_with_the_job(self, server: SandboxServer) -> None:
        aws(server).create_training_job(**training("fails", single(G5)))
        sensor = SageMakerTrainingSensor(task_id="wait", job_name="fails", print_log=False)
        with pytest.raises(Exception, match="AlgorithmError"):
            until(lambda: sensor.poke({}))

    def test_a_processing_sensor_waits_for_the_end(self, server: SandboxServer) -> None:
        aws(server).create_processing_job(**processing("prep", single(CPU)))
        assert until(lambda: SageMakerProcessingSensor(task_id="wait", job_name="prep").poke({}))


class TestTheHook:
    def test_it_finds_jobs_by_name_and_stops_none_that_it_was_not_asked_to(self, server: SandboxServer) -> None:
        for number in range(3):
            aws(server).create_training_job(**training(f"long-{number}", single(G5)))
        hook = SageMakerHook(aws_conn_id="aws_default")
        assert len(hook.list_training_jobs(name_contains="long", max_results=2)) == 2
        assert [row["TrainingJobName"] for row in hook.list_training_jobs(name_contains="long-1")] == ["long-1"]

    def test_a_role_is_found_by_its_name(self, server: SandboxServer) -> None:
        aws(server, "iam").create_role(RoleName="execution", AssumeRolePolicyDocument="{}", Path="/service-role/")
        arn = SageMakerHook(aws_conn_id="aws_default").expand_role("execution")
        assert arn == "arn:aws:iam::123456789012:role/service-role/execution"


def test_a_killed_task_leaves_its_job_as_the_provider_does(server: SandboxServer) -> None:
    """The provider's operator has nothing that stops the job; whoever waits for the sandbox sees it run on."""
    operator = train(training("long", single(G5)), print_log=False)
    task = threading.Thread(target=fails, args=(operator,), daemon=True)
    task.start()
    sagemaker = aws(server)
    assert until(lambda: sagemaker.list_training_jobs(StatusEquals="InProgress")["TrainingJobSummaries"])
    operator.on_kill()
    assert sagemaker.describe_training_job(TrainingJobName="long")["TrainingJobStatus"] == "InProgress"
    sagemaker.stop_training_job(TrainingJobName="long")
    task.join()


def fails(operator: SageMakerTrainingOperator) -> None:
    with contextlib.suppress(Exception):
        operator.execute({})


def until(condition: Any) -> Any:
    for _ in range(200):
        if found := condition():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came true")
