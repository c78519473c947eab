"""A real Airflow and a sandbox, as processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
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
DEPLOYMENT = "reruns"

SETTINGS: Mapping[str, str] = {
    # A worker hears of a click with its heartbeat.
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
    # A busy machine answers late, and a worker gives up on the api-server after five seconds.
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
    # The DAGs don't change.
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3600",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    "AIRFLOW__SM_PREFER__DEPLOYMENT": DEPLOYMENT,
    "AIRFLOW__SM_PREFER__CLOCK_SPEED": str(SPEED),
}

CONNECTION = "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"


@dataclass
class World:
    """What there is.

    Attributes:
        folder: Where it lives.
        services: What runs.
    """

    folder: Path
    services: list[Service] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.home = Home(self.folder)
        for needed in (self.home.airflow, self.home.logs):
            needed.mkdir(parents=True, exist_ok=True)
        self.addresses = Addresses(ports.pick(0), ports.pick(0))
        self.clicks = Clicks(self.addresses.ui)
        self.control = SandboxControl(self.addresses.sandbox)
        environment = airflow_environment(os.environ, self.home, self.addresses, DAGS, Secrets())
        # SQLite has one writer at a time; on a busy machine the others wait longer than the five seconds it allows.
        database = {CONNECTION: f"{environment[CONNECTION]}?timeout=90"}
        self.environment = {**environment, **database, **SETTINGS, "PYTHONPATH": str(ROOT)}

    def __enter__(self) -> World:
        try:
            self._start_sandbox()
            self._migrate()
            for name, arguments in COMPONENTS.items():
                self._start(name, [*AIRFLOW, *arguments], self.environment, self.folder)
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
        processes.stop(self.services, grace=3)

    def _start_sandbox(self) -> None:
        program = [sys.executable, "-m", "tests.e2e.reruns.sandbox_process", str(self.addresses.sandbox_port)]
        self._start("sandbox", program, base_environment(os.environ) | {"PYTHONPATH": str(ROOT)}, ROOT)
        until(lambda: "ready" in processes.tail(self.home.logs / "sandbox.log"), 60)

    def _migrate(self) -> None:
        with (self.home.logs / "migrate.log").open("wb") as log:
            subprocess.run(
                [*AIRFLOW, "db", "migrate"], env=self.environment, check=True, stdout=log, stderr=subprocess.STDOUT
            )

    def _start(self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        log = self.home.logs / f"{name}.log"
        self.services.append(processes.start(name, command, environment, folder, log))

    def _unreadable(self) -> bool:
        errors = self.clicks.import_errors()
        assert not errors, errors[0]
        return False
