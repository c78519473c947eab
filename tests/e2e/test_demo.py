"""The demo, as a user runs it who has an Airflow and an AWS account already."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.cli.demo import ports
from tests.e2e.conftest import SM_PREFER, processes_in, until


@dataclass(frozen=True)
class Finished:
    """A demo that has come to its end."""

    code: int
    out: str
    said: str
    home: Path
    users_airflow: Path

    @property
    def report(self) -> dict[str, Any]:
        found = json.loads(self.out.splitlines()[-1])
        assert isinstance(found, dict)
        return found


def hostile(users_airflow: Path) -> dict[str, str]:
    """Settings of the user's that would break or betray a demo that took them over."""
    return {
        **os.environ,
        "AIRFLOW_HOME": str(users_airflow),
        "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
        "AIRFLOW__CORE__DAGS_FOLDER": "/nonexistent",
        "AIRFLOW_CONN_AWS_DEFAULT": "aws://production:secret@/",
        "AIRFLOW_VAR_NIGHTLY_TRAIN_ON": '["ml.p5.48xlarge"]',
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_PROFILE": "production",
        "NO_COLOR": "1",
    }


def end_what_is_left(home: Path) -> None:
    """End the services of a demo that took too long and was killed, which would slow down every test after it."""
    subprocess.run([SM_PREFER, "demo", "--stop", "--home", str(home)], capture_output=True, check=False)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp("with a space")
    home, users_airflow = folder / "demo home", folder / "users airflow"
    users_airflow.mkdir()
    with socket.socket() as squatter:
        squatter.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if not ports.is_open(8080):
            squatter.bind((ports.HOST, 8080))
            squatter.listen()
        try:
            done = subprocess.run(
                [SM_PREFER, "demo", "--json", "--home", str(home)],
                env=hostile(users_airflow),
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=280,
            )
        except subprocess.TimeoutExpired:
            end_what_is_left(home)
            raise
    return Finished(done.returncode, done.stdout, done.stderr, home, users_airflow)


def test_the_run_succeeds_on_the_second_choice_after_a_wait(finished: Finished) -> None:
    assert finished.code == 0, finished.said
    report = finished.report
    assert report["state"] == "success"
    assert report["selected_instance_type"] == "ml.g5.xlarge"
    assert report["selected_instance_count"] == 1
    assert report["preference_index"] == 1
    assert report["pending_seconds"] >= 15
    assert 0 < report["worker_seconds"] < report["wall_seconds"]
    assert report["pending_seconds"] < report["wall_seconds"]
    assert set(report) == {
        "state",
        "selected_instance_type",
        "selected_instance_count",
        "preference_index",
        "pending_seconds",
        "worker_seconds",
        "wall_seconds",
        "artifact",
        "ui",
    }


def test_a_model_is_left(finished: Finished) -> None:
    assert finished.report["artifact"].startswith("s3://")
    assert finished.report["artifact"].endswith("model.tar.gz")
    assert (finished.home / "model.tar.gz").stat().st_size > 0


def test_the_terminal_tells_it_as_it_happens(finished: Finished) -> None:
    told = ["sleeps in the triggerer", "one ml.g5.xlarge is free", "choice 2 of 3: no capacity for ml.g6.xlarge"]
    positions = [finished.said.find(words) for words in told]
    assert -1 not in positions, finished.said
    assert positions == sorted(positions)
    assert "\x1b" not in finished.said
    assert len(finished.out.splitlines()) == 1


def test_nothing_is_left_running_and_no_port_open(finished: Finished) -> None:
    port = int(finished.report["ui"].rpartition(":")[2])
    assert port != 8080
    assert not ports.is_open(port)
    assert processes_in(finished.home) == []
    assert not (finished.home / "demo.json").exists()


def test_the_users_airflow_is_not_touched(finished: Finished) -> None:
    assert list(finished.users_airflow.iterdir()) == []


def test_ctrl_c_half_way_leaves_nothing_and_a_second_demo_is_told_to_wait(tmp_path: Path) -> None:
    home, log = tmp_path / "demo", tmp_path / "log"
    command = [SM_PREFER, "demo", "--home", str(home)]
    with log.open("wb") as output:
        demo = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        until(lambda: "All are up" in log.read_text() or demo.poll() is not None)
        assert demo.poll() is None, log.read_text()
        second = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert second.returncode != 0
        assert "Another demo is at work" in second.stdout
        assert demo.poll() is None

        services = json.loads((home / "demo.json").read_text())["services"]
        assert {service["name"] for service in services} == {
            "sandbox",
            "api-server",
            "scheduler",
            "triggerer",
            "dag-processor",
        }
        demo.send_signal(signal.SIGINT)
        assert demo.wait(60) == 130
    finally:
        if demo.poll() is None:
            demo.kill()
            demo.wait()
            end_what_is_left(home)
    assert processes_in(home) == []
    assert not (home / "demo.json").exists()
