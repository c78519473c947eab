"""The AWS CLI against the sandbox, unmodified, by ``AWS_ENDPOINT_URL``.

It is in ``.venv-clients``, which ``make .venv-clients`` makes; ``AWS_CLI`` names another.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import botocore
import pytest

from airflow_sm_prefer.sandbox import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.unit.sandbox.builders import G5, P5, training

OURS = Path(__file__).parents[2] / ".venv-clients/bin/aws"
AWS = os.environ.get("AWS_CLI") or (str(OURS) if OURS.exists() else shutil.which("aws"))
ROLE = "arn:aws:iam::123456789012:role/training"

pytestmark = pytest.mark.skipif(AWS is None, reason=f"there is no {OURS}: make .venv-clients, or set AWS_CLI")


class Cli:
    def __init__(self, server: SandboxServer, home: str) -> None:
        self._endpoint, self._home = server.endpoint_url, home

    def run(self, *arguments: str, service: str = "sagemaker") -> subprocess.CompletedProcess[str]:
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": self._home,
            "AWS_ENDPOINT_URL": self._endpoint,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_PAGER": "",
            # The models of the CLI may be older than preference lists; it takes newer ones from here.
            "AWS_DATA_PATH": str(Path(botocore.__file__).parent / "data"),
        }
        # The first version of the CLI has an address of its own for SQS, which only this overrides.
        address = ("--endpoint-url", self._endpoint) if service == "sqs" else ()
        command = [str(AWS), *address, "--output", "json", service, *arguments]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    def __call__(self, *arguments: str, service: str = "sagemaker") -> Any:
        done = self.run(*arguments, service=service)
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


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    runner = ScriptedRunner({"long*": Script(seconds=10_000)}, Script(seconds=0.1))
    with SandboxServer({"capacity": {P5: 0}, "rates": False}, runner=runner) as server:
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
    arn = cli.train("tagged", "--tags", "Key=team,Value=search")
    cli("add-tags", "--resource-arn", arn, "--tags", "Key=stage,Value=dev")
    cli("delete-tags", "--resource-arn", arn, "--tag-keys", "team")
    assert cli("list-tags", "--resource-arn", arn) == {"Tags": [{"Key": "stage", "Value": "dev"}]}


def test_a_running_job_is_stopped_and_a_stopped_one_is_not(cli: Cli) -> None:
    cli.train("long-stop")
    stop = ("stop-training-job", "--training-job-name", "long-stop")
    assert cli.run(*stop).returncode == 0
    assert cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "long-stop").returncode == 0
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


def test_a_list_is_sent_from_a_file_and_the_choice_described(cli: Cli, tmp_path: Path) -> None:
    resources = {
        "InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1}, {"InstanceType": G5, "InstanceCount": 2}],
        "VolumeSizeInGB": 30,
    }
    (tmp_path / "request.json").write_text(json.dumps(training("preferring", resources)))
    cli("create-training-job", "--cli-input-json", f"file://{tmp_path}/request.json")
    described = cli("describe-training-job", "--training-job-name", "preferring", "--query", "ResourceConfig")
    assert described == {**resources, "SelectedInstanceType": G5, "SelectedInstanceCount": 2}


def test_a_listing_goes_on_where_it_was_cut_off(cli: Cli) -> None:
    for name in ("page-a", "page-b", "page-c"):
        cli.train(name)
    listing = ("list-training-jobs", "--name-contains", "page", "--sort-by", "Name", "--sort-order", "Ascending")
    first = cli(*listing, "--max-items", "2", "--page-size", "1")
    rest = cli(*listing, "--starting-token", first["NextToken"])
    names = [row["TrainingJobName"] for found in (first, rest) for row in found["TrainingJobSummaries"]]
    assert names == ["page-a", "page-b", "page-c"]


def test_a_job_is_updated_searched_for_and_deleted(cli: Cli) -> None:
    cli.train("long-update", "--tags", "Key=purpose,Value=update")
    cli("update-training-job", "--training-job-name", "long-update", "--profiler-config", "DisableProfiler=true")
    expression = '{"Filters": [{"Name": "Tags.purpose", "Operator": "Equals", "Value": "update"}]}'
    found = cli("search", "--resource", "TrainingJob", "--search-expression", expression)
    assert [result["TrainingJob"]["TrainingJobName"] for result in found["Results"]] == ["long-update"]
    cli("stop-training-job", "--training-job-name", "long-update")
    assert cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "long-update").returncode == 0
    cli("delete-training-job", "--training-job-name", "long-update")
    assert "Requested resource not found" in cli.run("describe-training-job", "--training-job-name=long-update").stderr


def test_a_training_plan_is_found_bought_and_described(cli: Cli) -> None:
    found = cli(
        "search-training-plan-offerings",
        *("--instance-type", P5, "--instance-count", "1", "--duration-hours", "24"),
        *("--target-resources", "training-job"),
    )
    offering = found["TrainingPlanOfferings"][0]["TrainingPlanOfferingId"]
    arn = cli("create-training-plan", "--training-plan-name=mine", f"--training-plan-offering-id={offering}")
    assert cli("describe-training-plan", "--training-plan-name", "mine")["TrainingPlanArn"] == arn["TrainingPlanArn"]
    assert [plan["TrainingPlanName"] for plan in cli("list-training-plans")["TrainingPlanSummaries"]] == ["mine"]


def test_quotas_are_listed_and_asked_for(cli: Cli) -> None:
    query = f"Quotas[?QuotaName=='{G5} for training job usage']"
    listed = cli("list-service-quotas", "--service-code", "sagemaker", "--query", query, service="service-quotas")
    code = listed[0]["QuotaCode"]
    found = cli("get-service-quota", "--service-code=sagemaker", f"--quota-code={code}", service="service-quotas")
    assert found["Quota"] == listed[0]


def test_a_change_of_state_arrives_in_a_queue(cli: Cli) -> None:
    queue = cli("create-queue", "--queue-name", "changes", service="sqs")["QueueUrl"]
    pattern = '{"source": ["aws.sagemaker"], "detail-type": ["SageMaker Training Job State Change"]}'
    cli("put-rule", "--name", "changes", "--event-pattern", pattern, service="events")
    target = "Id=1,Arn=arn:aws:sqs:us-east-1:123456789012:changes"
    cli("put-targets", "--rule", "changes", "--targets", target, service="events")
    cli.train("told")
    waiting = ("receive-message", "--queue-url", queue, "--wait-time-seconds", "5", "--max-number-of-messages", "1")
    event = json.loads(cli(*waiting, service="sqs")["Messages"][0]["Body"])
    assert event["detail"]["TrainingJobName"] == "told"


def test_data_goes_in_by_s3_and_a_log_and_a_model_come_out(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/rows.csv").write_text("1,2")
    channel = {
        "ChannelName": "train",
        "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://lake/data"}},
    }
    request = training("real", InputDataConfig=[channel], OutputDataConfig={"S3OutputPath": "s3://lake/models"})
    command = "cat /opt/ml/input/data/train/rows.csv; echo 1 > /opt/ml/model/weights"
    request["AlgorithmSpecification"] |= {"ContainerEntrypoint": ["/bin/bash", "-c", command]}
    (tmp_path / "request.json").write_text(json.dumps(request))
    with SandboxServer({"rates": False}, runner=LocalRunner(tmp_path / "jobs")) as server:
        cli = Cli(server, str(tmp_path))
        assert cli.run("mb", "s3://lake", service="s3").returncode == 0
        assert cli.run("sync", str(tmp_path / "data"), "s3://lake/data", service="s3").returncode == 0
        cli("create-training-job", "--cli-input-json", f"file://{tmp_path}/request.json")
        assert cli.run("wait", "training-job-completed-or-stopped", "--training-job-name", "real").returncode == 0
        group = ("--log-group-name", "/aws/sagemaker/TrainingJobs")
        streams = cli("describe-log-streams", *group, "--log-stream-name-prefix", "real/", service="logs")
        stream = streams["logStreams"][0]["logStreamName"]
        log = cli("get-log-events", *group, "--log-stream-name", stream, service="logs")
        assert "1,2" in [event["message"] for event in log["events"]]
        model = "s3://lake/models/real/output/model.tar.gz"
        assert cli.run("cp", model, str(tmp_path / "model.tar.gz"), service="s3").returncode == 0
        assert (tmp_path / "model.tar.gz").stat().st_size
