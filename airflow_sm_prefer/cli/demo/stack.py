"""The processes of a demo: what starts in which order, when it is up, and how it all ends."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from airflow_sm_prefer.cli.demo import processes
from airflow_sm_prefer.cli.demo.environment import (
    SPEED,
    Addresses,
    Secrets,
    airflow_environment,
    base_environment,
)
from airflow_sm_prefer.cli.demo.errors import DemoError
from airflow_sm_prefer.cli.demo.home import Home, dags_folder
from airflow_sm_prefer.cli.demo.processes import Service
from airflow_sm_prefer.cli.demo.record import Record
from airflow_sm_prefer.cli.demo.rest import AirflowApi

SCENARIO = Path(__file__).with_name("scenario.yaml")
START_SECONDS = 180.0
LOOK_SECONDS = 0.5

AIRFLOW = (sys.executable, "-m", "airflow")
# Without --skip-serve-logs these two would serve their logs on every interface of the machine; the api-server reads
# the files by itself.
COMPONENTS: Mapping[str, Sequence[str]] = {
    "api-server": ("api-server",),
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "triggerer": ("triggerer", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
}


@dataclass(slots=True)
class Stack:
    """A sandbox and an Airflow, each process of it in a session of its own.

    Attributes:
        home: Where it lives.
        addresses: Where it listens.
        held: Entered while a process starts, so that no signal comes between its start and our knowing of it.
        services: What has been started.
    """

    home: Home
    addresses: Addresses
    held: Callable[[], AbstractContextManager[None]] = nullcontext
    services: list[Service] = field(default_factory=list)

    def start(self) -> None:
        """Make the database and start everything; returns while it comes up.

        Raises:
            DemoError: the database can't be made.
        """
        env = airflow_environment(os.environ, self.home, self.addresses, dags_folder(), Secrets())
        self._start_sandbox()
        self._migrate(env)
        for name, arguments in COMPONENTS.items():
            self._start(name, [*AIRFLOW, *arguments], env)

    def wait(self, api: AirflowApi, dag_id: str, *, sleep: Callable[[float], None] = time.sleep) -> None:
        """Return when every process is up and the DAG has been read.

        Raises:
            DemoError: one has ended, it takes too long, or the DAG can't be read.
        """
        self._until(self._sandbox_serves, "the sandbox", sleep)
        self._until(lambda: not api.unhealthy(), "Airflow", sleep)
        self._until(lambda: api.has_dag(dag_id) or self._unreadable(api), f"the DAG {dag_id}", sleep)

    def check(self) -> None:
        """Make sure that everything still runs.

        Raises:
            DemoError: something has ended.
        """
        for service in self.services:
            if not service.is_running():
                msg = f"The {service.name} has ended by itself."
                raise DemoError(msg, Path(service.log))

    def stop(self) -> None:
        """End everything that was started, at once: a demo's database has no use for how its tasks ended."""
        processes.stop(self.services)

    def record(self, *, kept: bool) -> Record:
        """Return what to write down of it."""
        return Record(self.addresses.ui, kept, tuple(self.services))

    def _start_sandbox(self) -> None:
        program = [sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()", "sandbox"]
        options = {
            "--port": str(self.addresses.sandbox_port),
            "--scenario": str(SCENARIO),
            "--speed": str(SPEED),
            "--workdir": str(self.home.sandbox),
        }
        arguments = [word for option in options.items() for word in option]
        self._start("sandbox", [*program, *arguments], base_environment(os.environ))

    def _start(self, name: str, command: Sequence[str], env: Mapping[str, str]) -> None:
        log = self.home.logs / f"{name}.log"
        with self.held():
            self.services.append(processes.start(name, command, env, self.home.path, log))
            self.record(kept=False).save(self.home)

    def _migrate(self, env: Mapping[str, str]) -> None:
        log = self.home.logs / "migrate.log"
        with log.open("wb") as output:
            done = subprocess.run(
                [*AIRFLOW, "db", "migrate"],
                env=dict(env),
                cwd=self.home.path,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            msg = "Airflow's database can't be made."
            raise DemoError(msg, log)

    def _sandbox_serves(self) -> bool:
        return "ready" in processes.tail(self.home.logs / "sandbox.log")

    def _unreadable(self, api: AirflowApi) -> bool:
        if errors := api.import_errors():
            msg = f"A DAG can't be read: {errors[0]}"
            raise DemoError(msg, self.home.logs / "dag-processor.log")
        return False

    def _until(self, done: Callable[[], bool], what: str, sleep: Callable[[float], None]) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not done():
            self.check()
            if time.monotonic() > deadline:
                msg = f"{what} isn't up after {START_SECONDS:.0f} s; the logs are in {self.home.logs}."
                raise DemoError(msg)
            sleep(LOOK_SECONDS)
