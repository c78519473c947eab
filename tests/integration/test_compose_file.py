"""What docker-compose.yaml and its image promise; nothing is started, and no Docker is needed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.compose import file
from tests.e2e.compose.file import COMPLETED, FILE, HEALTHY, Service

ROOT = FILE.parent
TRIGGERERS = ("triggerer-1", "triggerer-2")
WORKERS = ("worker-1", "worker-2")
AIRFLOW = ("migrate", "api-server", "scheduler", "dag-processor", *TRIGGERERS, *WORKERS)
AT_THE_SANDBOX = ("sandbox", "event-queues", *TRIGGERERS, *WORKERS)
OWN = {"SERVICE_NAME", "AIRFLOW__SM_PREFER__EVENTS_QUEUE"}
"""What a service has of its own in its environment."""

SECRETS = {
    "POSTGRES_PASSWORD": ("AIRFLOW__DATABASE__SQL_ALCHEMY_CONN", "AIRFLOW__CELERY__RESULT_BACKEND"),
    "REDIS_PASSWORD": ("AIRFLOW__CELERY__BROKER_URL",),
    "AIRFLOW_SECRET_KEY": ("AIRFLOW__API__SECRET_KEY",),
    "AIRFLOW_JWT_SECRET": ("AIRFLOW__API_AUTH__JWT_SECRET",),
    "AIRFLOW_FERNET_KEY": ("AIRFLOW__CORE__FERNET_KEY",),
}


@pytest.fixture(scope="module")
def said() -> dict[str, Any]:
    return file.read()["services"]


@pytest.fixture(scope="module")
def services() -> dict[str, Service]:
    return file.services()


def test_all_of_a_team_s_airflow_is_there(said: dict[str, Any]) -> None:
    assert set(said) == {"postgres", "redis", "loopback", "sandbox", "event-queues", *AIRFLOW}


def test_every_service_is_checked_or_ends_and_is_waited_for(services: dict[str, Service]) -> None:
    waited_for = {name for service in services.values() for name, how in service.needs.items() if how == COMPLETED}
    assert {name for name, service in services.items() if not service.check} == waited_for


def test_what_is_waited_for_to_be_healthy_is_checked(services: dict[str, Service]) -> None:
    for service in services.values():
        for name, how in service.needs.items():
            assert how != HEALTHY or services[name].check, f"{service.name} waits for {name}"


def test_airflow_s_services_differ_in_their_names_only(services: dict[str, Service]) -> None:
    seen = [{k: v for k, v in services[name].environment.items() if k not in OWN} for name in AIRFLOW]
    assert all(environment == seen[0] for environment in seen)
    assert [services[name].environment["SERVICE_NAME"] for name in AIRFLOW] == list(AIRFLOW)


def test_each_triggerer_has_a_queue_that_is_made(services: dict[str, Service]) -> None:
    queues = [services[name].environment["AIRFLOW__SM_PREFER__EVENTS_QUEUE"] for name in TRIGGERERS]
    assert len(set(queues)) == len(queues)
    command = services["event-queues"].command
    assert [name for option, name in pairwise(command) if option == "--queue"] == queues
    assert all(services[name].needs["event-queues"] == COMPLETED for name in TRIGGERERS)


def test_triggerers_know_how_many_they_are(services: dict[str, Service]) -> None:
    told = services["triggerer-1"].environment["AIRFLOW__SM_PREFER__TRIGGERERS"]
    assert int(told) == sum(service.command[:2] == ["airflow", "triggerer"] for service in services.values())


def test_a_triggerer_may_open_a_log_for_each_task_that_it_takes(said: dict[str, Any]) -> None:
    for name in TRIGGERERS:
        capacity = int(said[name]["environment"]["AIRFLOW__TRIGGERER__CAPACITY"])
        assert said[name]["ulimits"]["nofile"]["soft"] >= 2 * capacity


def test_a_task_is_at_hand_for_each_slot_that_comes_free(services: dict[str, Service]) -> None:
    environment = services["scheduler"].environment
    slots = len(WORKERS) * int(environment["AIRFLOW__CELERY__WORKER_CONCURRENCY"])
    assert int(environment["AIRFLOW__CORE__PARALLELISM"]) == 2 * slots


def test_workers_have_names_of_their_own(services: dict[str, Service]) -> None:
    for name in WORKERS:
        command = services[name].command
        assert command[command.index("--celery-hostname") + 1] == name


def test_only_this_machine_reaches_a_port(said: dict[str, Any]) -> None:
    published = {name: service["ports"] for name, service in said.items() if "ports" in service}
    assert published == {"api-server": ["127.0.0.1:8080:8080"]}


def test_the_sandbox_is_reached_by_loopback_only(said: dict[str, Any]) -> None:
    assert {name for name, service in said.items() if "network_mode" in service} == set(AT_THE_SANDBOX)
    assert all(said[name]["network_mode"] == "service:loopback" for name in AT_THE_SANDBOX)
    assert "--endpoint-url http://127.0.0.1:4580" in said["event-queues"]["command"]
    connection = yaml.safe_load(said["worker-1"]["environment"]["AIRFLOW_CONN_AWS_DEFAULT"])
    assert connection["extra"]["endpoint_url"] == "http://127.0.0.1:4580"
    assert "--port 4580" in said["sandbox"]["command"]


def test_airflow_and_the_sandbox_go_by_one_clock() -> None:
    services = file.services({"SANDBOX_SPEED": "7"})
    command = services["sandbox"].command
    assert command[command.index("--speed") + 1] == "7"
    assert services["triggerer-1"].environment["AIRFLOW__SM_PREFER__CLOCK_SPEED"] == "7"


@pytest.mark.parametrize("variable", SECRETS)
def test_a_secret_comes_from_a_variable(variable: str) -> None:
    environment = file.services({variable: "told-by-nobody"})["worker-1"].environment
    assert all("told-by-nobody" in environment[setting] for setting in SECRETS[variable])
    assert "told-by-nobody" not in str(file.read())


def test_what_is_kept_is_in_volumes(said: dict[str, Any]) -> None:
    kept = {
        "postgres": "postgres:",
        "redis": "redis:",
        "sandbox": "sandbox:",
        "worker-1": "logs:",
        "api-server": "logs:",
    }
    for name, volume in kept.items():
        assert any(mounted.startswith(volume) for mounted in said[name]["volumes"]), name


def test_compose_reads_the_file_as_the_tests_do(services: dict[str, Service], tmp_path: Path) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("docker-compose isn't installed; on Debian: apt-get install --no-install-recommends docker-compose")
    # With the file's own values, whatever a contributor has set for an Airflow of theirs.
    nothing = tmp_path / "env"
    nothing.touch()
    command = [program, "--env-file", str(nothing), "--file", str(FILE), "config"]
    done = subprocess.run(command, env={"PATH": os.defpath}, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    read = yaml.safe_load(done.stdout)["services"]
    assert set(read) == set(services)
    for name, service in services.items():
        environment = {key: str(value) for key, value in read[name].get("environment", {}).items()}
        assert environment == dict(service.environment), name
        needs = {needed: how["condition"] for needed, how in read[name].get("depends_on", {}).items()}
        assert needs == dict(service.needs), name


def test_the_image_is_made_of_what_there_is() -> None:
    copied = re.findall(r"^COPY (.+) \S+$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    let_in = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for path in " ".join(copied).split():
        assert (ROOT / path).exists(), path
        assert path in let_in, path


def test_the_image_has_the_versions_that_the_tests_have() -> None:
    image, tests = (
        set(re.findall(r"^[\w.-]+==\S+", (ROOT / lock).read_text(), re.MULTILINE))
        for lock in ("requirements-image.lock", "requirements.lock")
    )
    assert image <= tests
    assert {name.partition("==")[0] for name in image} >= {
        "apache-airflow-providers-celery", "asyncpg", "moto", "psycopg2-binary", "redis", "scikit-learn"
    }  # fmt: skip
