"""A real Airflow and a sandbox, as processes, some of which die or freeze."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from airflow_sm_prefer.cli.demo import ports, processes
from airflow_sm_prefer.cli.demo.environment import Addresses, Secrets, airflow_environment, base_environment
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.processes import Service
from airflow_sm_prefer.cli.demo.stack import AIRFLOW, COMPONENTS
from airflow_sm_prefer.cli.reconcile import LEFT
from airflow_sm_prefer.placement.findings import Done
from airflow_sm_prefer.sandbox.client import SandboxControl
from tests.e2e.conftest import until
from tests.e2e.reruns import gates
from tests.e2e.reruns.clicks import Clicks
from tests.e2e.reruns.databases import Database
from tests.e2e.reruns.sandbox_process import SPEED
from tests.e2e.reruns.service_jobs import ServiceJobs

DAGS = Path(__file__).parent / "dags"
ROOT = Path(__file__).parents[3]
DEPLOYMENT = "reruns"

SETTINGS: Mapping[str, str] = {
    # Tasks that wait in their worker need one each.
    "AIRFLOW__CORE__PARALLELISM": "24",
    # A worker hears of a click with its heartbeat.
    "AIRFLOW__WORKERS__MIN_HEARTBEAT_INTERVAL": "2",
    # A busy machine answers late, and a worker gives up on the api-server after five seconds.
    "AIRFLOW__WORKERS__EXECUTION_API_TIMEOUT": "30",
    # The DAGs don't change.
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "3600",
    "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3600",
    "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
    # What died is missed after half a minute instead of five, so that what is frozen for longer is missed too.
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "25",
    "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "5",
    "AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_THRESHOLD": "25",
    "AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "10",
    "AIRFLOW__TRIGGERER__TRIGGERER_HEALTH_CHECK_THRESHOLD": "15",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__SM_PREFER__CLOCK_SPEED": str(SPEED),
}


def scripted_sandbox(port: int) -> Sequence[str]:
    """Return what starts a sandbox whose jobs take the time that their names say."""
    return [sys.executable, "-m", "tests.e2e.reruns.sandbox_process", str(port)]


class World:
    """An Airflow, and the sandbox that it takes for AWS.

    Args:
        folder: Where it lives.
        database: What Airflow keeps its metadata in.
        deployment: What it calls itself.
        sandbox: Another world, whose sandbox this one uses too.
        dags: The folder of its DAGs, and one of them that is waited for.
        program: What starts the sandbox, given its port; it says "ready" when it is.
    """

    def __init__(
        self,
        folder: Path,
        database: Database,
        *,
        deployment: str = DEPLOYMENT,
        sandbox: World | None = None,
        dags: tuple[Path, str] = (DAGS, "mapped"),
        program: Callable[[int], Sequence[str]] = scripted_sandbox,
    ) -> None:
        self.database, self.deployment, self._neighbour = database, deployment, sandbox
        self._dags, self._program = dags, program
        self.home = Home(folder)
        self.gates = folder / "gates"
        for needed in (self.home.airflow, self.home.logs, self.gates):
            needed.mkdir(parents=True, exist_ok=True)
        aws = sandbox.addresses.sandbox_port if sandbox else ports.pick(0)
        self.addresses = Addresses(ports.pick(0), aws)
        self.clicks = Clicks(self.addresses.ui)
        self.control = SandboxControl(self.addresses.sandbox)
        self.service_jobs = ServiceJobs(self.addresses.sandbox)
        self._services: dict[str, Service] = {}

    def __enter__(self) -> World:
        try:
            self.database.start()
            self.environment = self._environment()
            if self._neighbour is None:
                self._start_sandbox()
            self.migrate()
            for name in COMPONENTS:
                self.start(name)
            self.until_up()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything."""
        self._signal(self._services.values(), signal.SIGCONT)
        processes.stop(self._services.values(), grace=3)
        self.database.stop()

    # -- what is done to it

    def migrate(self) -> None:
        """Make the database's tables."""
        with (self.home.logs / "migrate.log").open("wb") as log:
            subprocess.run(
                [*AIRFLOW, "db", "migrate"], env=self.environment, check=True, stdout=log, stderr=subprocess.STDOUT
            )

    def forget(self) -> None:
        """Make the metadata database anew, as after it was lost."""
        for name in COMPONENTS:
            self.end(name, signal.SIGKILL)
        with (self.home.logs / "reset.log").open("wb") as log:
            subprocess.run([*AIRFLOW, "db", "reset", "--yes"], env=self.environment, check=True, stdout=log, stderr=log)
        for name in COMPONENTS:
            self.start(name)
        self.until_up()

    def start(self, name: str) -> None:
        """Start a component, under a name that begins with what it is: ``triggerer``, ``triggerer-2``."""
        component = next(known for known in COMPONENTS if name.startswith(known))
        self._start(name, [*AIRFLOW, *COMPONENTS[component]], self.environment, self.home.path)

    def revive(self) -> None:
        """Start again what has ended by itself."""
        for name, service in list(self._services.items()):
            if not service.is_running() and name != "sandbox":
                processes.stop([service], grace=0)
                self.start(name)

    def end(self, name: str, number: signal.Signals) -> None:
        """End a component: with SIGTERM in its own time, with SIGKILL together with all that it has started."""
        service = self._services.pop(name)
        if number is signal.SIGTERM:
            os.kill(service.pid, number)
            with suppress(AssertionError):
                until(lambda: not service.is_running(), 60)
        processes.stop([service], grace=0)

    def kill_alone(self, name: str) -> Service:
        """End a component with SIGKILL, and leave what it has started to itself."""
        service = self._services.pop(name)
        os.kill(service.pid, signal.SIGKILL)
        until(lambda: not service.is_running(), 10)
        return service

    def clean_up(self, service: Service) -> None:
        """End what a component left that was ended alone."""
        processes.stop([service], grace=0)

    def freeze(self, name: str, seconds: float) -> None:
        """Stop a component, and all that it has started, for a while."""
        service = self._services[name]
        self._signal([service], signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            self._signal([service], signal.SIGCONT)

    def reconcile(self) -> set[str]:
        """Run ``sm-prefer reconcile --stop``, and return the jobs that it stopped."""
        program = [sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()", "reconcile"]
        options = ["--stop", "--json", "--conn-id", "aws_default", "--airflow-url", self.addresses.ui]
        done = subprocess.run(
            [*program, *options], env=self.environment, cwd=self.home.path, stdout=subprocess.PIPE, check=False
        )
        assert done.returncode in {0, LEFT}, done.returncode
        return {job["job"] for job in json.loads(done.stdout)["jobs"] if job["done"] == Done.STOPPED}

    def triggerers(self) -> list[str]:
        """Return the triggerers that Airflow has as running."""
        return self.clicks.running_jobs("TriggererJob")

    def until_up(self) -> None:
        """Wait until everything is healthy and the DAGs are read."""
        until(lambda: not self.clicks.unhealthy(), 180)
        until(lambda: self.clicks.has_dag(self._dags[1]) or self._unreadable(), 180)

    # -- how it is made

    def _environment(self) -> dict[str, str]:
        environment = airflow_environment(os.environ, self.home, self.addresses, self._dags[0], Secrets())
        path = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
        ours = {
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self.database.url,
            "AIRFLOW__SM_PREFER__DEPLOYMENT": self.deployment,
            gates.FOLDER: str(self.gates),
            "PYTHONPATH": os.pathsep.join(path),
        }
        return {**environment, **SETTINGS, **ours}

    def _start_sandbox(self) -> None:
        program = self._program(self.addresses.sandbox_port)
        self._start("sandbox", program, base_environment(os.environ) | {"PYTHONPATH": str(ROOT)}, ROOT)
        until(lambda: "ready" in processes.tail(self.home.logs / "sandbox.log"), 60)

    def _start(self, name: str, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> None:
        log = self.home.logs / f"{name}.log"
        self._services[name] = processes.start(name, command, environment, folder, log)

    def _signal(self, services: Iterable[Service], number: signal.Signals) -> None:
        sessions = {service.pid for service in services}
        for process in psutil.process_iter():
            with suppress(psutil.NoSuchProcess, ProcessLookupError, PermissionError):
                if os.getsid(process.pid) in sessions:
                    os.kill(process.pid, number)

    def _unreadable(self) -> bool:
        errors = self.clicks.import_errors()
        assert not errors, errors[0]
        return False
