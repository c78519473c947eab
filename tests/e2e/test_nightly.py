"""The nightly DAG without the demo around it, and the package as Airflow's commands show it."""

from __future__ import annotations

import json
import subprocess

from airflow_sm_prefer.cli.demo.environment import Addresses, aws_connection
from tests.e2e.conftest import AIRFLOW


def test_dags_test_is_green(airflow_env: dict[str, str], sandbox: str) -> None:
    port = int(sandbox.rpartition(":")[2])
    env = {**airflow_env, "AIRFLOW_CONN_AWS_DEFAULT": aws_connection(Addresses(0, port))}
    done = subprocess.run(
        [AIRFLOW, "dags", "test", "nightly_training"], env=env, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    assert "state=success" in done.stdout + done.stderr


def test_airflow_lists_the_package_as_a_provider(airflow_env: dict[str, str]) -> None:
    done = subprocess.run(
        [AIRFLOW, "providers", "list", "--output", "json"], env=airflow_env, capture_output=True, text=True, check=True
    )
    assert "airflow-sm-prefer" in {provider["package_name"] for provider in json.loads(done.stdout)}


def test_the_dags_are_read_without_aws_and_paused(airflow_env: dict[str, str]) -> None:
    done = subprocess.run(
        [AIRFLOW, "dags", "list-import-errors", "--local", "--output", "json"],
        env=airflow_env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
