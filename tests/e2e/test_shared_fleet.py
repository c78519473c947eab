"""The DAG of a shared fleet on a real Airflow: two teams, a queue, and a production job that takes a sweep's place."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import SM_PREFER, until
from tests.e2e.reruns.databases import Sqlite
from tests.e2e.reruns.sandbox_process import SPEED
from tests.e2e.reruns.world import World
from tests.integration import aws

DAGS = Path(__file__).parents[2] / "dags"
SWEEPS = ("vision-sweep-1", "vision-sweep-2")
TASKS = (*SWEEPS, "language-research", "vision-production")
EPOCHS = 24
"""As many as a sweep needs to be still at it when the production job comes, on a machine that has much else to do."""
LOGS = "/aws/sagemaker/TrainingJobs"


def sandbox(port: int) -> Sequence[str]:
    return [SM_PREFER, "sandbox", "--port", str(port), "--speed", str(SPEED)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("fleet")
    with World(folder, Sqlite(folder), dags=(DAGS, "shared_fleet"), program=sandbox) as made:
        keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
        environment = {**made.environment, **keys, "AWS_ENDPOINT_URL": made.addresses.sandbox}
        # As the DAG says that its queue is made.
        apply = [SM_PREFER, "queues", "apply", str(DAGS / "shared_fleet.yaml")]
        subprocess.run(apply, env=environment, check=True, capture_output=True)
        yield made


@pytest.fixture(scope="module")
def results(world: World) -> dict[str, dict[str, Any]]:
    """What each task of a run came to."""
    world.clicks.unpause("shared_fleet")
    world.clicks.begin("shared_fleet", "fleet", {"epochs": EPOCHS, "epoch_seconds": 2})
    until(lambda: world.clicks.run("shared_fleet", "fleet").get("state") in {"success", "failed"}, 400)
    states = {task: world.clicks.state("shared_fleet", "fleet", task) for task in TASKS}
    assert states == dict.fromkeys(TASKS, "success")
    return {task: world.clicks.xcom("shared_fleet", "fleet", task) for task in TASKS}


def preemptions(result: dict[str, Any]) -> int:
    return int(result["ServiceJob"].get("preemptionSummary", {}).get("preemptedAttemptCount", 0))


def said(world: World, job: str) -> str:
    """Return the log of a training job."""
    logs = aws.client(world.addresses.sandbox, "logs")
    (stream,) = logs.describe_log_streams(logGroupName=LOGS, logStreamNamePrefix=f"{job}/")["logStreams"]
    events = logs.get_log_events(logGroupName=LOGS, logStreamName=stream["logStreamName"])["events"]
    return "\n".join(event["message"] for event in events)


@pytest.mark.timeout(900)
def test_a_production_job_takes_the_place_of_one_sweep_and_of_no_other_teams_job(
    results: dict[str, dict[str, Any]],
) -> None:
    assert sorted(preemptions(results[sweep]) for sweep in SWEEPS) == [0, 1]
    assert [preemptions(results[task]) for task in ("language-research", "vision-production")] == [0, 0]
    production = results["vision-production"]["ServiceJob"]
    assert (production["schedulingPriority"], production["quotaShareName"]) == (900, "vision")


@pytest.mark.timeout(900)
def test_the_sweep_goes_on_after_the_epoch_of_its_last_checkpoint(
    world: World, results: dict[str, dict[str, Any]]
) -> None:
    (sweep,) = (results[sweep] for sweep in SWEEPS if preemptions(results[sweep]))
    assert sweep["decision"]["submissions"] == 1, "Batch itself brought it back"
    log = said(world, sweep["Training"]["TrainingJobName"])
    (went_on,) = map(int, re.findall(r"Going on after epoch (\d+)\.", log))
    done = [int(epoch) for epoch in re.findall(r"^epoch=(\d+);", log, re.MULTILINE)]
    assert done == list(range(went_on + 1, EPOCHS + 1))
