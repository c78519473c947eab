"""AWS's page on getting started with Batch for SageMaker Training, by the AWS CLI against the sandbox.

The commands are those of https://docs.aws.amazon.com/batch/latest/userguide/getting-started-sagemaker.html, in its
order and with options of our own.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration.test_sandbox_wire import wait_for
from tests.integration.test_sandbox_with_cli import AWS, OURS, Cli
from tests.unit.sandbox.builders import G5, single, training

pytestmark = pytest.mark.skipif(AWS is None, reason=f"there is no {OURS}: make .venv-clients, or set AWS_CLI")

ENVIRONMENT = "--service-environment-name=environment"


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    runner = ScriptedRunner({"AWSBatchlong*": Script(seconds=10_000)}, Script(seconds=0.1))
    with SandboxServer(runner=runner) as server:
        yield Cli(server, str(tmp_path))


def batch(cli: Cli, *arguments: str) -> Any:
    return cli(*arguments, service="batch")


def test_getting_started(cli: Cli) -> None:
    limits = "--capacity-limits=capacityUnit=NUM_INSTANCES,maxCapacity=1"
    kind = "--service-environment-type=SAGEMAKER_TRAINING"
    batch(cli, "create-service-environment", ENVIRONMENT, kind, limits)
    shown = batch(cli, "describe-service-environments", "--service-environments", "environment")
    assert shown["serviceEnvironments"][0]["status"] == "VALID"
    order = "--service-environment-order=order=1,serviceEnvironment=environment"
    named = ("--job-queue-name=queue", "--job-queue-type=SAGEMAKER_TRAINING", "--priority=1", order)
    batch(cli, "create-job-queue", *named)
    assert batch(cli, "describe-job-queues", "--job-queues", "queue")["jobQueues"][0]["status"] == "VALID"
    ids = [submit(cli, name) for name in ("short", "long", "waits")]
    wait_for(lambda: status(cli, ids[1]) == "RUNNING", 30)
    assert status(cli, ids[0]) == "SUCCEEDED"
    shown = batch(cli, "list-service-jobs", "--job-queue", "queue", "--job-status", "RUNNABLE")
    assert [job["jobId"] for job in shown["jobSummaryList"]] == [ids[2]]
    front = batch(cli, "get-job-queue-snapshot", "--job-queue", "queue")["frontOfQueue"]["jobs"]
    assert [job["jobArn"].rpartition("/")[2] for job in front] == [ids[2]]
    batch(cli, "update-service-job", "--job-id", ids[2], "--scheduling-priority", "7")
    batch(cli, "tag-resource", "--resource-arn", front[0]["jobArn"], "--tags", "team=red")
    tags = batch(cli, "list-tags-for-resource", "--resource-arn", front[0]["jobArn"])["tags"]
    assert tags == {"team": "red"}
    batch(cli, "terminate-service-job", "--job-id", ids[1], "--reason", "enough")
    wait_for(lambda: status(cli, ids[2]) == "SUCCEEDED", 30)
    clean_up(cli)


def submit(cli: Cli, name: str) -> str:
    payload = json.dumps(training(name, single(G5)))
    made = batch(
        cli,
        "submit-service-job",
        f"--job-name={name}",
        "--job-queue=queue",
        "--service-job-type=SAGEMAKER_TRAINING",
        f"--service-request-payload={payload}",
    )
    job_id: str = made["jobId"]
    return job_id


def status(cli: Cli, job_id: str) -> str:
    shown: str = batch(cli, "describe-service-job", "--job-id", job_id)["status"]
    return shown


def clean_up(cli: Cli) -> None:
    """Delete everything, in the only order that goes."""
    refused = cli.run("delete-service-environment", "--service-environment=environment", service="batch")
    assert "ClientException" in refused.stderr
    batch(cli, "update-job-queue", "--job-queue=queue", "--state=DISABLED")
    batch(cli, "delete-job-queue", "--job-queue=queue")
    wait_for(lambda: not batch(cli, "describe-job-queues")["jobQueues"])
    batch(cli, "update-service-environment", "--service-environment=environment", "--state=DISABLED")
    batch(cli, "delete-service-environment", "--service-environment=environment")
    wait_for(lambda: not batch(cli, "describe-service-environments")["serviceEnvironments"])
