"""The DAG that goes on from its checkpoint: the very file, on a sandbox whose jobs really run and lose their spot."""

from __future__ import annotations

import io
import re
import tarfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import joblib
import pytest

from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.runner import ImageTable, LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

from . import aws
from .harness import dags_in, environment

DAGS = Path(__file__).parents[2] / "dags"
SPOT = "ml.g6.xlarge"
SPEED = 240.0
EPOCHS = 10


@pytest.fixture(scope="module")
def dag() -> Iterator[Any]:
    with dags_in(DAGS, "resume_from_checkpoint.py") as dags:
        yield dags["resume_from_checkpoint"]


class World:
    """A sandbox that runs jobs, and what a test asks of it."""

    def __init__(self, server: SandboxServer) -> None:
        self.control = SandboxControl(server.endpoint_url)
        self.s3, self.logs = (aws.client(server.endpoint_url, name) for name in ("s3", "logs"))

    def checkpoints(self) -> list[str]:
        found = self.s3.list_objects_v2(Bucket="sm-prefer-resume").get("Contents", ())
        return [row["Key"] for row in found if re.search(r"/checkpoints/epoch-\d+\.joblib$", row["Key"])]

    def take_the_spot_away(self) -> None:
        """Take it away for good as soon as there is a checkpoint in S3."""
        deadline = time.monotonic() + 90
        while not (self.s3.list_buckets()["Buckets"] and self.checkpoints()):
            assert time.monotonic() < deadline, "no checkpoint came to S3"
            time.sleep(0.1)
        self.control.change(spot={SPOT: 0})

    def said(self, job: str) -> str:
        group = "/aws/sagemaker/TrainingJobs"
        (stream,) = self.logs.describe_log_streams(logGroupName=group, logStreamNamePrefix=f"{job}/")["logStreams"]
        events = self.logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"])["events"]
        return "\n".join(event["message"] for event in events)

    def model(self, uri: str) -> Any:
        bucket, _, key = uri.removeprefix("s3://").partition("/")
        body = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with tarfile.open(fileobj=io.BytesIO(body)) as packed:
            return joblib.load(packed.extractfile("model.joblib"))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    runner = LocalRunner(tmp_path / "jobs", ImageTable({}))
    with SandboxServer({"rates": False, "spot": {SPOT: 1}}, speed=SPEED, runner=runner) as server:
        for name, value in environment(server, SPEED).items():
            monkeypatch.setenv(name, value)
        # What this waits for, a scheduler, isn't there in ``dag.test()``.
        monkeypatch.setattr("airflow_sm_prefer.triggers.sagemaker._SETTLE", 0.0)
        yield World(server)


def test_a_run_that_loses_its_spot_for_good_goes_on_at_its_epoch_on_another_type(dag: Any, world: World) -> None:
    with ThreadPoolExecutor(1) as beside:
        taken = beside.submit(world.take_the_spot_away)
        run = dag.test(run_conf={"epochs": EPOCHS, "epoch_seconds": 0.5})
        taken.result()
    tasks = {ti.task_id: ti for ti in run.get_task_instances()}
    assert {name: str(ti.state) for name, ti in tasks.items()} == {"upload": "success", "train": "success"}
    result = tasks["train"].xcom_pull(task_ids="train")
    decision = result["decision"]

    # The decision says what was interrupted, that there was no spot again, and what it went on with.
    assert [(wave["preferences"][0], wave["verdict"]) for wave in decision["waves"]] == [
        ("1 x ml.g6.xlarge (spot)", "spot_interruption"),
        ("1 x ml.g6.xlarge (spot)", "capacity"),
        ("1 x ml.g5.xlarge (On-Demand)", "succeeded"),
    ]
    assert (decision["recoveries"], decision["submissions"]) == (1, 3)
    assert (decision["selected_instance_type"], decision["capacity_kind"]) == ("ml.g5.xlarge", "on_demand")
    assert world.control.most_live() == 1

    # The last job begins after an epoch of the first, and does all that are left, each once.
    first, _, last = (job["name"] for job in world.control.jobs())
    assert "No checkpoint: beginning with epoch 1." in world.said(first)
    (went_on,) = map(int, re.findall(r"Going on after epoch (\d+)\.", world.said(last)))
    assert went_on >= 1
    done = [int(epoch) for epoch in re.findall(r"^epoch=(\d+);", world.said(last), re.MULTILINE)]
    assert done == list(range(went_on + 1, EPOCHS + 1))
    assert last == decision["job_name"]
    assert len(world.model(result["Training"]["ModelArtifacts"]["S3ModelArtifacts"]).classes_) == 10
