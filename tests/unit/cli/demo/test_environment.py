from __future__ import annotations

import json
from pathlib import Path

from airflow_sm_prefer.cli.demo.environment import Addresses, Secrets, airflow_environment, base_environment
from airflow_sm_prefer.cli.demo.home import Home

USERS = {
    "HOME": "/home/me",
    "PATH": "/usr/bin",
    "AIRFLOW_HOME": "/home/me/airflow",
    "AIRFLOW_CONFIG": "/etc/airflow.cfg",
    "AIRFLOW__CORE__EXECUTOR": "CeleryExecutor",
    "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_CMD": "vault read",
    "AIRFLOW_CONN_AWS_DEFAULT": "aws://real",
    "AIRFLOW_VAR_NIGHTLY_BUCKET": "production",
    "AWS_PROFILE": "production",
    "AWS_SECRET_ACCESS_KEY": "real",
    "AWS_ENDPOINT_URL": "https://elsewhere",
    "HTTPS_PROXY": "http://proxy:3128",
}


def environment() -> dict[str, str]:
    return airflow_environment(USERS, Home(Path("/a b/demo")), Addresses(1, 2), Path("/a b/dags"), Secrets())


def test_nothing_of_the_users_airflow_and_aws_gets_through() -> None:
    for found in (base_environment(USERS), environment()):
        assert found["HOME"] == "/home/me"
        for name, value in USERS.items():
            if name.startswith(("AIRFLOW", "AWS")):
                assert found.get(name) != value
        assert found["AWS_SHARED_CREDENTIALS_FILE"] == "/dev/null"


def test_the_users_environment_is_not_changed() -> None:
    before = dict(USERS)
    environment()
    assert before == USERS


def test_airflow_lives_in_the_demos_folder_and_on_loopback() -> None:
    found = environment()
    assert found["AIRFLOW_HOME"] == "/a b/demo/airflow"
    assert found["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "sqlite:////a b/demo/airflow/airflow.db"
    assert found["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert found["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:1/execution/"


def test_the_connection_leads_to_the_sandbox_and_no_proxy_is_asked() -> None:
    found = environment()
    connection = json.loads(found["AIRFLOW_CONN_AWS_DEFAULT"])
    assert connection["extra"]["endpoint_url"] == "http://127.0.0.1:2"
    assert "127.0.0.1" in found["NO_PROXY"].split(",")


def test_no_run_begins_but_the_demos_own_whatever_time_it_is() -> None:
    assert environment()["AIRFLOW__SCHEDULER__USE_JOB_SCHEDULE"] == "False"


def test_no_two_demos_share_their_keys() -> None:
    assert environment()["AIRFLOW__API_AUTH__JWT_SECRET"] != environment()["AIRFLOW__API_AUTH__JWT_SECRET"]
