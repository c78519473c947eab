"""``sm-prefer reconcile`` as a process, between a sandbox and an Airflow on loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.unit.hooks.fake_airflow import FakeAirflow, serving
from tests.unit.sandbox.builders import G5, training

SM_PREFER = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()")
OVER = TaskIdentity("prod", "dag", "manual__1", "train", 0)
GOES_ON = TaskIdentity("prod", "dag", "manual__1", "train", 1)


class Both:
    """A sandbox and an Airflow, and the command between them."""

    def __init__(self, sandbox: SandboxServer, airflow: FakeAirflow) -> None:
        self.sandbox, self.airflow = sandbox, airflow
        self.control = SandboxControl(sandbox.endpoint_url)

    def submit(self, task: TaskIdentity, state: str | None) -> None:
        owner = Ownership(Ownership.task_tag(task), task.deployment, "try", 0, "", 1, 0.0)
        name = job_name(task, "nightly", 1)
        aws.client(self.sandbox.endpoint_url).create_training_job(**training(name, Tags=owner.to_tags()))
        self.airflow.states[task.dag_id, task.run_id, task.task_id, task.map_index] = state

    def run(self, *arguments: str, **changes: str | None) -> subprocess.CompletedProcess[str]:
        env = {
            **os.environ,
            "NO_COLOR": "1",
            "AWS_ENDPOINT_URL": self.sandbox.endpoint_url,
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AIRFLOW__SM_PREFER__DEPLOYMENT": "prod",
            "SM_PREFER_AIRFLOW_URL": self.airflow.url,
            "SM_PREFER_AIRFLOW_TOKEN": "opens-it",
            **changes,
        }
        return subprocess.run(
            [*SM_PREFER, "reconcile", *arguments],
            capture_output=True,
            text=True,
            timeout=120,
            env={key: value for key, value in env.items() if value is not None},
            check=False,
        )

    def stopped(self) -> list[str]:
        return [job["name"] for job in self.control.jobs() if job["status"] != "InProgress"]


@pytest.fixture
def both() -> Iterator[Both]:
    airflow = FakeAirflow()
    with SandboxServer({"capacity": {G5: 0}, "rates": False}) as sandbox, serving(airflow):
        yield Both(sandbox, airflow)


def test_it_tells_what_it_would_stop_stops_it_and_has_nothing_left(both: Both) -> None:
    both.submit(OVER, "failed")
    both.submit(GOES_ON, "deferred")
    over = job_name(OVER, "nightly", 1)

    told = both.run("--json")
    assert told.returncode == 3, told.stderr
    report = json.loads(told.stdout)
    assert (report["deployment"], report["region"], report["settled"]) == ("prod", "us-east-1", False)
    done: dict[str, Any] = {job["job"]: job for job in report["jobs"]}
    assert (done[over]["done"], done[over]["cause"]) == ("would_stop", "task_over")
    assert done[over]["task"] == "dag/manual__1/train[0]"
    assert both.stopped() == []

    stopped = both.run("--stop")
    assert stopped.returncode == 0, stopped.stderr
    assert over in stopped.stdout
    assert "its task is over: failed" in stopped.stdout
    assert "2 running jobs of prod in us-east-1: 1 kept, 1 stopped" in stopped.stdout
    assert both.stopped() == [over]

    assert both.run("--stop").returncode == 0


def test_a_connection_of_airflows_serves_as_well(both: Both) -> None:
    both.submit(GOES_ON, "running")
    connection = {
        "conn_type": "aws",
        "login": "test",
        "password": "test",
        "extra": {"endpoint_url": both.sandbox.endpoint_url, "region_name": "us-east-1"},
    }
    without = dict.fromkeys(("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"))
    done = both.run("--conn-id", "gpus", **without, AIRFLOW_CONN_GPUS=json.dumps(connection))
    assert done.returncode == 0, done.stderr
    assert "1 running jobs of prod in us-east-1: 1 kept" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        ((), {"SM_PREFER_AIRFLOW_TOKEN": "stale"}, "HTTP 401"),
        (("--stop",), {"AIRFLOW__SM_PREFER__DEPLOYMENT": None}, "deployment isn't set"),
        (
            ("--stop",),
            {"AIRFLOW__SM_PREFER__DEPLOYMENT": "dev"},
            "'prod', and the settings here say 'dev'",
        ),
        ((), {"AWS_DEFAULT_REGION": None}, "You must specify a region. See --region"),
        (("--conn-id", "nowhere"), {}, "there is no Airflow connection of that id"),
    ],
)
def test_what_cant_work_is_said_in_a_line_and_stops_nothing(
    both: Both, arguments: tuple[str, ...], environment: dict[str, str | None], words: str
) -> None:
    both.submit(OVER, "failed")
    both.airflow.settings = "prod"
    done = both.run(*arguments, **environment)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert both.stopped() == []
