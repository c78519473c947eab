"""The AWS CLI against the sandbox, unmodified, by ``--endpoint-url``. ``AWS_CLI`` names one that isn't on the PATH."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.sandbox import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

AWS = os.environ.get("AWS_CLI") or shutil.which("aws")
ROLE = "arn:aws:iam::123456789012:role/training"

pytestmark = pytest.mark.skipif(AWS is None, reason="no AWS CLI (AWS_CLI)")


class Cli:
    def __init__(self, server: SandboxServer, home: str) -> None:
        self._endpoint, self._home = server.endpoint_url, home

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": self._home,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_PAGER": "",
        }
        command = [str(AWS), "--endpoint-url", self._endpoint, "--output", "json", "sagemaker", *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def __call__(self, *arguments: str) -> Any:
        done = self.run(*arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout or "null")

    def train(self, name: str, *more: str) -> str:
        created = self(
            "create-training-job",
            f"--training-job-name={name}",
            f"--role-arn={ROLE}",
            "--algorithm-specification=TrainingImage=trainer:1,TrainingInputMode=File",
            "--output-data-config=S3OutputPath=s3://bucket/models",
            "--resource-config=InstanceType=ml.g5.xlarge,InstanceCount=1,VolumeSizeInGB=30",
            "--stopping-condition=MaxRuntimeInSeconds=3600",
            *more,
        )
        arn: str = created["TrainingJobArn"]
        return arn


@pytest.fixture
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = ScriptedRunner({"long*": Script(seconds=10_000)}, Script(seconds=0.1))
    with SandboxServer(runner=runner) as server:
        yield Cli(server, str(tmp_path_factory.mktemp("home")))


def test_a_job_is_created_waited_for_and_described(cli: Cli) -> None:
    cli.train("job")
    assert cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "job").returncode == 0
    assert cli("describe-training-job", "--training-job-name", "job")["TrainingJobStatus"] == "Completed"


def test_jobs_are_listed_over_pages_by_status_and_name(cli: Cli) -> None:
    for name in ("long-a", "long-b", "other"):
        cli.train(name)
    found = cli("list-training-jobs", "--page-size", "1", "--status-equals", "InProgress", "--name-contains", "long")
    assert [row["TrainingJobName"] for row in found["TrainingJobSummaries"]] == ["long-b", "long-a"]


def test_tags_are_written_read_and_removed(cli: Cli) -> None:
    arn = cli.train("job", "--tags", "Key=team,Value=search")
    cli("add-tags", "--resource-arn", arn, "--tags", "Key=stage,Value=dev")
    cli("delete-tags", "--resource-arn", arn, "--tag-keys", "team")
    assert cli("list-tags", "--resource-arn", arn) == {"Tags": [{"Key": "stage", "Value": "dev"}]}


def test_a_running_job_is_stopped_and_a_stopped_one_is_not(cli: Cli) -> None:
    cli.train("long")
    stop = ("stop-training-job", "--training-job-name", "long")
    assert cli.run(*stop).returncode == 0
    assert cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "long").returncode == 0
    refused = cli.run(*stop)
    assert refused.returncode != 0
    assert (
        "(ValidationException) when calling the StopTrainingJob operation: The request was rejected" in refused.stderr
    )


def test_a_processing_job_is_created_and_waited_for(cli: Cli) -> None:
    cli(
        "create-processing-job",
        "--processing-job-name=prep",
        f"--role-arn={ROLE}",
        "--app-specification=ImageUri=processor:1",
        '--processing-resources={"ClusterConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, '
        '"VolumeSizeInGB": 30}}',
    )
    assert cli.run("wait", "processing-job-completed-or-stopped", "--processing-job-name", "prep").returncode == 0


def test_an_unknown_job_ends_a_wait(cli: Cli) -> None:
    waited = cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "none")
    assert waited.returncode == 255
    assert "Requested resource not found." in waited.stderr or "ValidationException" in waited.stderr
