"""The script that goes on from its checkpoint: interrupted in the sandbox, on one type and on another."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import joblib
import pytest

from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.runner import ImageTable, LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

from .test_running_jobs import SPEED, World, channel

SCRIPT = Path(__file__).parents[2] / "dags" / "scripts" / "train_with_checkpoints.py"
EPOCHS = 8


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    runner = LocalRunner(tmp_path / "jobs", ImageTable({}))
    scenario = {"rates": False, "spot": {"ml.g5.xlarge": 1}}
    with SandboxServer(scenario, speed=SPEED, runner=runner) as server:
        world = World(server, runner, tmp_path / "jobs")
        world.script(SCRIPT.read_text())
        raw = files("sklearn.datasets.data") / "digits.csv.gz"
        world.s3.put_object(Bucket="data", Key="raw/digits.csv.gz", Body=raw.read_bytes())
        yield world


def submit(world: World, name: str, *, on: str = "ml.g5.xlarge", is_spot: bool = False, pause: float = 0.0) -> None:
    stopping = {"MaxRuntimeInSeconds": 36000, **({"MaxWaitTimeInSeconds": 72000} if is_spot else {})}
    world.sagemaker.create_training_job(
        TrainingJobName=name,
        AlgorithmSpecification={
            "TrainingImage": "trainer:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
        },
        RoleArn="arn:aws:iam::123456789012:role/training",
        HyperParameters={"epochs": str(EPOCHS), "epoch_seconds": str(pause)},
        InputDataConfig=[channel("code", "s3://data/code"), channel("train", "s3://data/raw")],
        OutputDataConfig={"S3OutputPath": "s3://data/models"},
        CheckpointConfig={"S3Uri": "s3://data/checkpoints"},
        ResourceConfig={"InstanceType": on, "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition=stopping,
        EnableManagedSpotTraining=is_spot,
    )


def checkpoints(world: World) -> list[str]:
    found = world.s3.list_objects_v2(Bucket="data", Prefix="checkpoints/epoch-").get("Contents", ())
    return [row["Key"] for row in found]


def epochs(world: World, name: str) -> list[int]:
    return [int(number) for line in world.said(name) for number in re.findall(r"^epoch=(\d+);", line)]


def wait_for_some_epochs(world: World) -> None:
    world.until(lambda: checkpoints(world), lambda keys: any(key >= "checkpoints/epoch-0003" for key in keys))


def test_a_spot_job_goes_on_after_an_interruption_where_it_was(world: World) -> None:
    submit(world, "digits", is_spot=True, pause=0.4)
    wait_for_some_epochs(world)
    control = SandboxControl(world.server.endpoint_url)
    control.change(spot={"ml.g5.xlarge": 0})
    world.until(lambda: secondary(world, "digits"), lambda status: status != "Training")
    control.change(spot={"ml.g5.xlarge": 1})
    assert world.ended("digits")["TrainingJobStatus"] == "Completed"
    said = "\n".join(world.said("digits"))
    (went_on,) = re.findall(r"Going on after epoch (\d+)\.", said)
    assert int(went_on) >= 3
    done = epochs(world, "digits")
    # At most the epoch that was being trained, or had not been copied, is done twice.
    assert sorted(set(done)) == list(range(1, EPOCHS + 1))
    assert len(done) <= EPOCHS + 1


def secondary(world: World, name: str) -> Any:
    return world.sagemaker.describe_training_job(TrainingJobName=name)["SecondaryStatus"]


def test_another_job_on_another_type_goes_on_where_a_stopped_one_was(world: World) -> None:
    submit(world, "first", pause=0.4)
    wait_for_some_epochs(world)
    world.sagemaker.stop_training_job(TrainingJobName="first")
    assert world.ended("first")["TrainingJobStatus"] == "Stopped"
    submit(world, "second", on="ml.m5.xlarge")
    assert world.ended("second")["TrainingJobStatus"] == "Completed"
    done = epochs(world, "second")
    assert done == list(range(done[0], EPOCHS + 1))
    assert done[0] > 3
    model = joblib.load(io.BytesIO(world.packed("models/second/output/model.tar.gz", "model.joblib")))
    assert len(model.classes_) == 10


def test_a_torn_checkpoint_is_passed_over_for_the_one_before(world: World) -> None:
    submit(world, "first", pause=0.4)
    wait_for_some_epochs(world)
    world.sagemaker.stop_training_job(TrainingJobName="first")
    world.ended("first")
    *_, before, last = checkpoints(world)
    world.s3.put_object(Bucket="data", Key=last, Body=b"half of it")
    submit(world, "second")
    assert world.ended("second")["TrainingJobStatus"] == "Completed"
    assert epochs(world, "second")[0] == int(before[-11:-7]) + 1
