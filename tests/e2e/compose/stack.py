"""The services of docker-compose.yaml as processes of this machine, each in a session of its own.

Databases come from wheels, and what is a host, a port or a folder of a container becomes one of this machine's. All
else, commands, environments, health checks and what waits for what, is the file's.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from pathlib import Path

import psutil

from airflow_sm_prefer.cli.demo import ports, processes
from airflow_sm_prefer.cli.demo.environment import without_foreign
from airflow_sm_prefer.sandbox.client import SandboxControl
from tests.e2e.compose import file
from tests.e2e.compose.broker import Broker
from tests.e2e.compose.file import COMPLETED, HEALTHY, Service
from tests.e2e.conftest import until
from tests.e2e.reruns.clicks import Clicks
from tests.e2e.reruns.databases import PostgreSQL

ROOT = file.FILE.parent
DAGS = Path(__file__).parent / "dags"

HOME = "/opt/airflow"
HOSTS = re.compile(r"\b(?:postgres|redis|api-server)(?=:\d)|\b0\.0\.0\.0\b")
PORTS = ("5432", "6379", "8080", "8974", "4580")

GIVEN = {"postgres", "redis", "loopback"}
"""What runs otherwise here, or is there: databases, and this machine's loopback."""

UP_SECONDS = 180.0
LOOK_SECONDS = 0.5
CHECK_SECONDS = 60.0


class Stack:
    """All that `docker compose up` starts.

    Args:
        folder: Where it lives; stands for the image's home of Airflow.
        only: The services to start, if not all.
        sandbox: What starts a sandbox, given its port, instead of the file's.
    """

    def __init__(
        self,
        folder: Path,
        *,
        only: Collection[str] | None = None,
        sandbox: Callable[[int], Sequence[str]] | None = None,
    ) -> None:
        self.home, self.logs = folder / "airflow", folder / "logs"
        self._ports = dict(zip(PORTS, _free_ports(len(PORTS)), strict=True))
        self._database = PostgreSQL(int(self._ports["5432"]))
        told = file.services()
        self._broker = Broker(folder / "redis", int(self._ports["6379"]), told["redis"].command[1:])
        self.services: dict[str, Service] = {
            name: service.rewritten(self._here)
            for name, service in told.items()
            if name not in GIVEN and (only is None or name in only)
        }
        if sandbox:
            program = sandbox(int(self._ports["4580"]))
            self.services["sandbox"] = replace(self.services["sandbox"], command=program)
        self._running: dict[str, processes.Service] = {}
        self._done: set[str] = set(GIVEN)
        self.airflow = Clicks(self._address("8080"))
        self.sandbox = SandboxControl(self._address("4580"))

    def __enter__(self) -> Stack:
        try:
            self._lay_out()
            self._database.start()
            self._broker.start()
            self._start_all()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything, at once."""
        processes.stop(self._running.values(), grace=3)
        self._broker.stop()
        self._database.stop()

    def kill(self, name: str) -> None:
        """End a service with SIGKILL, together with all that it has started, as its container ends."""
        processes.stop([self._running.pop(name)], grace=0)

    def start(self, name: str) -> None:
        """Start a service."""
        service, log = self.services[name], self.logs / f"{name}.log"
        command = [self._program(service.command[0]), *service.command[1:]]
        if not service.check:
            # In the shell's words, since only a parent hears how a process has ended.
            command = ["/bin/sh", "-c", '"$@"; echo $? > "$0"', str(self._ending(name)), *command]
        self._running[name] = processes.start(name, command, self.environment(name), self.home, log)
        if service.open_files:
            # As many as the file says, or this machine lets us.
            limit = min(service.open_files, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
            resource.prlimit(self._running[name].pid, resource.RLIMIT_NOFILE, (limit, limit))

    def processes(self, name: str) -> list[psutil.Process]:
        """Return the processes of a service."""
        leader = psutil.Process(self._running[name].pid)
        return [leader, *leader.children(recursive=True)]

    def restart_ended(self) -> None:
        """Start again what has ended by itself, as ``restart: unless-stopped`` does."""
        for name, running in list(self._running.items()):
            if self.services[name].check and not running.is_running():
                self.kill(name)
                self.start(name)

    def is_healthy(self, name: str) -> bool:
        """Return what a service's own check says."""
        service = self.services[name]
        command = [self._program(service.check[0]), *service.check[1:]]
        with (self.logs / f"{name}.health.log").open("ab") as log:
            done = subprocess.run(
                command,
                env=self.environment(name),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                timeout=CHECK_SECONDS,
                check=False,
            )
        return done.returncode == 0

    def until_healthy(self) -> None:
        """Wait until every service's check says that it is well."""
        for name, service in self.services.items():
            if service.check:
                until(lambda name=name: self._is_there(name, HEALTHY), UP_SECONDS)

    # -- how it comes up

    def _start_all(self) -> None:
        waiting, deadline = dict(self.services), time.monotonic() + UP_SECONDS
        while waiting:
            for name, service in list(waiting.items()):
                if all(self._is_there(needed, how) for needed, how in service.needs.items()):
                    self.start(name)
                    del waiting[name]
            assert time.monotonic() < deadline, f"{sorted(waiting)} still wait; the logs are in {self.logs}"
            time.sleep(LOOK_SECONDS)

    def _is_there(self, name: str, how: str) -> bool:
        if name in self._done or name not in self._running:
            return name in self._done
        ends = how == COMPLETED
        is_there = self._has_ended_well(name) if ends else self.is_healthy(name)
        if is_there:
            self._done.add(name)
        assert is_there or self._running[name].is_running(), self._said(name)
        return is_there

    def _has_ended_well(self, name: str) -> bool:
        if not self._ending(name).exists() or not (code := self._ending(name).read_text().strip()):
            return False
        assert code == "0", self._said(name)
        return True

    def _ending(self, name: str) -> Path:
        """Return the file that has the exit code of a service that ends."""
        return self.logs / f"{name}.exit-code"

    def _said(self, name: str) -> str:
        return f"{name} has failed:\n{processes.tail(self.logs / f'{name}.log', 40)}"

    # -- what stands for the containers

    def _lay_out(self) -> None:
        """Make what Airflow's home has in the image, with the tests' DAG and the nightly one."""
        self.logs.mkdir(parents=True)
        shutil.copytree(ROOT / "deploy" / "compose", self.home / "config")
        dags = shutil.copytree(DAGS, self.home / "dags", ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copytree(ROOT / "dags" / "scripts", dags / "scripts")
        for name in (".airflowignore", "nightly_training.py"):
            shutil.copy(ROOT / "dags" / name, dags)

    def environment(self, name: str) -> dict[str, str]:
        """Return what a service sees."""
        return {
            **without_foreign(os.environ),
            "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "NO_PROXY": "127.0.0.1,localhost",
            "AIRFLOW_HOME": str(self.home),
            "PYTHONUNBUFFERED": "1",
            **self.services[name].environment,
        }

    def _program(self, name: str) -> str:
        """Return the installed program of this interpreter's environment, where it has it."""
        own = Path(sys.executable).parent / name
        return str(own) if own.exists() else name

    def _here(self, text: str) -> str:
        text = HOSTS.sub("127.0.0.1", text).replace(HOME, str(self.home))
        return re.sub(rf"\b(?:{'|'.join(PORTS)})\b", lambda found: self._ports[found[0]], text)

    def _address(self, port: str) -> str:
        return f"http://127.0.0.1:{self._ports[port]}"


def _free_ports(count: int) -> list[str]:
    found: set[int] = set()
    while len(found) < count:
        found.add(ports.pick(0))
    return [str(port) for port in found]
