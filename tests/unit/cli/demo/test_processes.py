"""Real processes, since what is tested is the system's doing; none lives longer than its test."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from airflow_sm_prefer.cli.demo import processes
from airflow_sm_prefer.cli.demo.processes import Service

CHILD_IN_ITS_OWN_GROUP = """
import os, subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)
print("up", flush=True)
time.sleep(60)
"""
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
PARENT_THAT_GOES = """
import subprocess, sys
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], process_group=0)
print("up", flush=True)
"""

Start = Callable[[str], Service]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[Service] = []

    def run(code: str) -> Service:
        log = tmp_path / f"{len(started)}.log"
        service = processes.start("service", [sys.executable, "-c", code], os.environ, tmp_path, log)
        started.append(service)
        deadline = time.monotonic() + 30
        while "up" not in processes.tail(log) and time.monotonic() < deadline:
            time.sleep(0.02)
        return service

    yield run
    processes.stop(started, grace=0)


def session_of(service: Service) -> list[int]:
    found = []
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == service.pid and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def test_what_a_service_started_ends_with_it(start: Start) -> None:
    service = start(CHILD_IN_ITS_OWN_GROUP)
    assert service.is_running()
    assert len(session_of(service)) == 2
    processes.stop([service])
    assert session_of(service) == []
    assert not service.is_running()


def test_a_service_that_is_deaf_to_sigterm_is_killed(start: Start) -> None:
    service = start(DEAF)
    processes.stop([service], grace=0.1)
    assert not service.is_running()


def test_the_children_of_a_service_that_has_ended_are_ended_too(start: Start) -> None:
    service = start(PARENT_THAT_GOES)
    while service.is_running():
        time.sleep(0.02)
    assert len(session_of(service)) == 1
    processes.stop([service])
    assert session_of(service) == []


def test_a_process_that_has_got_a_services_id_is_left_alone(start: Start) -> None:
    bystander = start("import time; print('up', flush=True); time.sleep(60)")
    service = replace(bystander, born=bystander.born - 1000)
    assert not service.is_running()
    processes.stop([service], grace=0)
    assert bystander.is_running()


def test_stopping_twice_does_no_harm(start: Start) -> None:
    service = start("print('up', flush=True)")
    processes.stop([service])
    processes.stop([service])


def test_the_tail_is_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("\n".join(str(number) for number in range(100)))
    assert processes.tail(log, 2) == "98\n99"
    assert processes.tail(tmp_path / "none") == ""
