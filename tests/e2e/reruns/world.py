"""A real Airflow and a sandbox, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from airflow_sm_prefer.cli.demo import ports, processes
from airflow_sm_prefer.cli.demo.environment import Addresses, Secrets, airflow_environment, base_environment
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.processes import Service
from airflow_sm_prefer.cli.demo.stack import AIRFLOW, COMPONENTS
from airflow_sm_prefer.sandbox.client import SandboxControl
from tests.e2e.conftest import until
from tests.e2e.reruns.clicks import Clicks
from tests.e2e.reruns.sandbox_process import SPEED

DAGS = Path(__file__).parent / "dags"
ROOT = Path(__file__).parents[3]

#: Airflow waits minutes before it takes a silent process for dead; these tests have none to spare.
HASTE: Mapping[str, str] = {
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "15",
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
    # A busy machine answers late, and a worker gives up on the api-server after five seconds.
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "3",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3600",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__CORE__PARALLELISM": "24",
    "AIRFLOW__CORE__MAX_ACTIVE_TASKS_PER_DAG": "64",
    "AIRFLOW__SM_PREFER__DEPLOYMENT": "reruns",
    "AIRFLOW__SM_PREFER__CREATE_RATE": "20",
    "AIRFLOW__SM_PREFER__DESCRIBE_RATE": "20",
    "AIRFLOW__SM_PREFER__STOP_RATE": "20",
}

CONNECTION = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


@dataclass
class World:
    """What there is.

    Attributes:
        folder: Where it lives.
        settings: More environment for Airflow's processes.
        sandbox_port: The sandbox's; one is started unless this names one that runs.
        services: What runs, by name.
    """

    folder: Path
    settings: Mapping[str, str] = field(default_factory=dict)
    sandbox_port: int = 0
    services: dict[str, Service] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home = Home(self.folder)
        for needed in (self.home.airflow, self.home.logs):
            needed.mkdir(parents=True, exist_ok=True)
        self._has_sandbox = not self.sandbox_port
        self.addresses = Addresses(ports.pick(0), self.sandbox_port or ports.pick(0))
        self.clicks = Clicks(self.addresses.ui)
        self.control = SandboxControl(self.addresses.sandbox)
        environment = airflow_environment(os.environ, self.home, self.addresses, DAGS, Secrets())
        paths = {"PYTHONPATH": str(ROOT)}
        speed = {"AIRFLOW__SM_PREFER__CLOCK_SPEED": str(SPEED)}
        # SQLite has one writer at a time; on a busy machine the others wait longer than the five seconds it allows.
        database = {CONNECTION: f"{environment[CONNECTION]}?timeout=90"}
        self.environment = {**environment, **database, **HASTE, **paths, **speed, **self.settings}

    def __enter__(self) -> World:
        try:
            if self._has_sandbox:
                self.start_sandbox()
            self.migrate()
            for name in COMPONENTS:
                self.start(name)
            until(lambda: not self.clicks.unhealthy(), 120)
            until(lambda: self.clicks.has_dag("mapped") or self._unreadable(), 120)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        processes.stop(self.services.values(), grace=3)

    def start_sandbox(self) -> None:
        """Start the sandbox, and wait for it."""
        program = [sys.executable, "-m", "tests.e2e.reruns.sandbox_process", str(self.addresses.sandbox_port)]
        environment = base_environment(os.environ) | {"PYTHONPATH": str(ROOT)}
        log = self.home.logs / "sandbox.log"
        self.services["sandbox"] = processes.start("sandbox", program, environment, ROOT, log)
        until(lambda: "ready" in processes.tail(log), 60)

    def migrate(self) -> None:
        """Make the metadata database."""
        with (self.home.logs / "migrate.log").open("wb") as log:
            subprocess.run(
                [*AIRFLOW, "db", "migrate"], env=self.environment, check=True, stdout=log, stderr=subprocess.STDOUT
            )

    def start(self, name: str) -> None:
        """Start one of Airflow's processes."""
        component = name.partition(":")[0]
        log = self.home.logs / f"{name}.log"
        command = [*AIRFLOW, *COMPONENTS[component]]
        self.services[name] = processes.start(name, command, self.environment, self.folder, log)

    def _unreadable(self) -> bool:
        errors = self.clicks.import_errors()
        assert not errors, errors[0]
        return False
