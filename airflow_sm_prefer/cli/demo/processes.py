"""Processes of the demo's own: each in a session of its own, so that ending it ends all it has started.

A session is what belongs together: Airflow moves its tasks into process groups of their own, but they stay in the
session of the service that started them. Nothing outside those sessions is ever signalled.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

GRACE_SECONDS = 5.0
CLOCK_SLACK_SECONDS = 2.0
LOOK_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Service:
    """A started process that leads a session.

    Attributes:
        name: What it is, and the name of its log.
        pid: Its process id, which is its session's id too.
        born: When it started, so that a later process with the same id isn't taken for it.
        log: What it prints.
    """

    name: str
    pid: int
    born: float
    log: str

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return asdict(self)

    def is_running(self) -> bool:
        """Return whether this very process is there and is no zombie."""
        try:
            process = psutil.Process(self.pid)
            return _same(process, self.born) and process.status() != psutil.STATUS_ZOMBIE
        except psutil.NoSuchProcess:
            return False

    def is_replaced(self) -> bool:
        """Return whether its id has gone to a process that is none of ours."""
        try:
            return not _same(psutil.Process(self.pid), self.born)
        except psutil.NoSuchProcess:
            return False


def _same(process: psutil.Process, born: float) -> bool:
    """The system derives the instant from its clock, which may have been set a little since."""
    return abs(float(process.create_time()) - born) < CLOCK_SLACK_SECONDS


def start(name: str, command: Sequence[str], env: Mapping[str, str], folder: Path, log: Path) -> Service:
    """Start a command in a session of its own; what it prints goes to its log."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            env=dict(env),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Service(name, process.pid, psutil.Process(process.pid).create_time(), str(log))


def stop(services: Iterable[Service], grace: float = GRACE_SECONDS) -> None:
    """End the services and all they have started: SIGTERM, and SIGKILL to what is left after the grace.

    A service is asked first, so that it can end its own in order; what it leaves behind is asked when it has gone.

    Args:
        services: Ended together; one that is gone is passed over, its children are not.
        grace: Seconds.
    """
    services = list(services)
    members = _alive(_members(services))
    asked: set[psutil.Process] = set()
    deadline = time.monotonic() + grace
    while members and time.monotonic() < deadline:
        leaders = {service.pid for service in services if service.is_running()}
        to_ask = {process for process in members if process.pid in leaders} if leaders else members
        for process in to_ask - asked:
            _signal(process.pid, signal.SIGTERM)
        asked |= to_ask
        time.sleep(LOOK_SECONDS)
        members = _alive(members | _members(services))
    while members:
        for process in members:
            _signal(process.pid, signal.SIGKILL)
        time.sleep(LOOK_SECONDS)
        members = _alive(members | _members(services))


def _signal(pid: int, number: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)


def _members(services: Iterable[Service]) -> set[psutil.Process]:
    """Return every process in the services' sessions, and every descendant that has left them."""
    sessions = {service.pid for service in services if not service.is_replaced()}
    found: set[psutil.Process] = set()
    for process in psutil.process_iter():
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied, ProcessLookupError, PermissionError):
            if os.getsid(process.pid) in sessions:
                found |= {process, *process.children(recursive=True)}
    return found


def _alive(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    alive = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if process.status() == psutil.STATUS_ZOMBIE:
                _reap(process.pid)
            elif process.is_running():
                alive.add(process)
    return alive


def _reap(pid: int) -> None:
    """Take note of a child's end; a zombie that isn't our child is its parent's business."""
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def tail(log: Path, lines: int = 15) -> str:
    """Return the end of a log; empty if there is none."""
    try:
        return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
    except OSError:
        return ""
