"""A job that waits is let before another: by the operator and by the command."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer import BatchUpdatePriorityOperator
from airflow_sm_prefer.errors import InvalidInput, InvalidSetting
from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner
from tests.integration import aws
from tests.integration.harness import environment
from tests.integration.test_sandbox_batch import make_queue
from tests.unit.sandbox.batch.bench import submission

SM_PREFER = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()")


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    with SandboxServer({"rates": False}, runner=ScriptedRunner({}, Script(seconds=10_000))) as served:
        batch = aws.client(served.endpoint_url, "batch")
        policy = batch.create_scheduling_policy(name="fair", fairsharePolicy={})
        make_queue(batch, "fleet", schedulingPolicyArn=policy["arn"])
        yield served


@pytest.fixture
def batch(server: SandboxServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in environment(server, 1).items():
        monkeypatch.setenv(name, value)
    return aws.client(server.endpoint_url, "batch")


def submit(batch: Any, name: str) -> dict[str, str]:
    made: dict[str, str] = batch.submit_service_job(
        **submission(name, "fleet", shareIdentifier="a", schedulingPriority=5)
    )
    return made


def priority(batch: Any, job_id: str) -> int:
    number: int = batch.describe_service_job(jobId=job_id)["schedulingPriority"]
    return number


@pytest.mark.parametrize(("written", "number"), [("production", 900), (0, 0), (9999, 9999)])
def test_the_operator_sets_it_by_id_and_by_arn(batch: Any, written: int | str, number: int) -> None:
    made = submit(batch, "by-id")
    for job in (made["jobId"], made["jobArn"]):
        task = BatchUpdatePriorityOperator(task_id="raise", job=job, priority=written)
        assert task.execute({}) == {"jobId": made["jobId"], "schedulingPriority": number}
    assert priority(batch, made["jobId"]) == number


def test_a_job_is_found_by_its_name_in_a_queue(batch: Any) -> None:
    made = submit(batch, "nightly-model")
    submit(batch, "nightly-model-2")
    BatchUpdatePriorityOperator(task_id="raise", job="nightly-model", job_queue="fleet", priority=700).execute({})
    assert priority(batch, made["jobId"]) == 700


def test_two_of_a_name_are_not_guessed_between(batch: Any) -> None:
    ids = {submit(batch, "twice")["jobId"] for _ in range(2)}
    task = BatchUpdatePriorityOperator(task_id="raise", job="twice", job_queue="fleet", priority=700)
    with pytest.raises(InvalidInput, match="2 jobs of the name 'twice' are in queue fleet") as caught:
        task.execute({})
    assert all(job_id in str(caught.value) for job_id in ids)
    assert {priority(batch, job_id) for job_id in ids} == {5}


def test_a_job_that_is_over_is_not_found(batch: Any) -> None:
    batch.terminate_service_job(jobId=submit(batch, "over")["jobId"], reason="test")
    task = BatchUpdatePriorityOperator(task_id="raise", job="over", job_queue="fleet", priority=700)
    with pytest.raises(InvalidInput, match="No job of the name 'over' waits or runs"):
        task.execute({})


def test_a_name_without_its_queue_is_refused_with_batchs_words_and_what_to_do(batch: Any) -> None:
    submit(batch, "queueless")
    task = BatchUpdatePriorityOperator(task_id="raise", job="queueless", priority=700)
    with pytest.raises(InvalidInput, match=r"UpdateServiceJob: ClientException.*\n.* say in which queue"):
        task.execute({})


@pytest.mark.parametrize("wrong", [-1, 10_000, True, "5", "prodution", None, 1.5])
def test_a_priority_that_can_not_be_is_refused_when_the_dag_is_parsed(wrong: Any) -> None:
    with pytest.raises(InvalidSetting, match="priority"):
        BatchUpdatePriorityOperator(task_id="raise", job="id", priority=wrong)


def test_a_template_may_render_to_a_number_and_is_checked_then(batch: Any) -> None:
    made = submit(batch, "templated")
    task = BatchUpdatePriorityOperator(task_id="raise", job=made["jobId"], priority="{{ params.priority }}")
    task.render_template_fields({"params": {"priority": 42}})
    assert task.execute({})["schedulingPriority"] == 42
    task.priority = "10000"
    with pytest.raises(InvalidInput, match="AWS Batch takes 0 to 9999"):
        task.execute({})


def run(server: SandboxServer, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    return subprocess.run(
        [*SM_PREFER, "queues", "priority", "--endpoint-url", server.endpoint_url, *arguments],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "NO_COLOR": "1", **keys, **settings},
        check=False,
    )


def test_the_command_sets_it_by_number_and_by_a_name_of_the_settings(server: SandboxServer, batch: Any) -> None:
    made = submit(batch, "by-command")
    result = run(server, made["jobId"], "0")
    assert (result.returncode, result.stdout) == (0, f"{made['jobId']} has priority 0.\n"), result.stderr
    result = run(server, "by-command", "urgent", "--queue", "fleet", AIRFLOW__SM_PREFER__PRIORITIES="urgent=77")
    assert (result.returncode, result.stdout) == (0, f"{made['jobId']} has priority 77.\n"), result.stderr
    assert priority(batch, made["jobId"]) == 77


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("some-id", "10000"), "priority is 10000, and AWS Batch takes 0 to 9999"),
        (("some-id", "urgnt"), "priority is 'urgnt', and has to be a number from 0 to 9999, or one of production"),
        (("some-id", ""), "The priority is missing"),
        (("some-id", "5"), "UpdateServiceJob: ClientException"),
        (("gone", "5", "--queue", "fleet"), "No job of the name 'gone' waits or runs in queue fleet"),
    ],
)
def test_what_can_not_be_is_told_by_the_command(
    server: SandboxServer, arguments: tuple[str, ...], problem: str
) -> None:
    result = run(server, *arguments)
    assert result.returncode == 2
    assert result.stderr.startswith(f"sm-prefer: {problem}"), result.stderr
