"""What follows when a worker is killed or frozen, at each step of a task."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from concurrent.futures import Future

import pytest

from tests.e2e.reruns.cases import Cases
from tests.e2e.reruns.gates import AFTER_CREATE, BEFORE_CREATE, BEFORE_DEFER, ENDED, GATES, RESUMED
from tests.e2e.reruns.runs import PENDING, TaskRun, signal_worker

TERM, KILL = signal.SIGTERM, signal.SIGKILL
STOP, CONTINUE = signal.SIGSTOP, signal.SIGCONT

FROZEN_SECONDS = 45
"""Longer than Airflow waits for a heartbeat, so that the next try begins beside the frozen one."""

MISSED_SECONDS = 180
"""How long it may take until Airflow has missed a dead worker, begun the next try, and that is done."""

SUBMITTING = (BEFORE_CREATE, AFTER_CREATE, BEFORE_DEFER)
FINISHING = (RESUMED, ENDED)
WORKERS_GATES = (BEFORE_CREATE, AFTER_CREATE)

cases = Cases()


def held_at(run: TaskRun, gate: str, **how: str) -> int:
    """Begin a run, and return the task's process when it stands at a gate."""
    return run.close_gate(gate).begin(**how).at_gate(gate)


def ends_well(run: TaskRun) -> None:
    """The next try makes a success of it, with one job for both."""
    run.until_state("success", seconds=MISSED_SECONDS)
    assert run.statuses() == ["Completed"]
    run.check()


@cases.on("deferred_retried", "queued_retried", at=GATES)
@cases.on("worker_retried", "queued_worker_retried", at=WORKERS_GATES)
def task_killed(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, job="brief")
    os.kill(process, KILL)
    run.open_gate(gate)
    ends_well(run)


@cases.on("deferred_retried", "queued_retried", at=GATES)
@cases.on("worker_retried", "queued_worker_retried", at=WORKERS_GATES)
def worker_killed_with_its_task(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, job="brief")
    signal_worker(process, KILL)
    run.open_gate(gate)
    ends_well(run)


@cases.on("deferred_retried", "queued_retried", at=GATES)
@cases.on("worker_retried", "queued_worker_retried", at=WORKERS_GATES)
def task_told_to_end(run: TaskRun, gate: str) -> None:
    """What it has submitted is stopped, or ends well in the next try; nothing is left of it."""
    process = held_at(run, gate, job="brief")
    os.kill(process, TERM)
    time.sleep(1)
    run.open_gate(gate)
    run.until_state("success", "failed", seconds=MISSED_SECONDS)
    run.eventually(lambda: not run.live(), "no job", 60)
    run.check()


@cases.on("worker_retried", "queued_worker_retried")
def task_killed_while_it_waits(run: TaskRun) -> None:
    process = held_at(run, AFTER_CREATE, on=PENDING)
    run.open_gate(AFTER_CREATE)
    run.until_waiting()
    os.kill(process, KILL)
    run.until_try(2)
    run.until_waiting()
    assert run.statuses() == ["InProgress"]
    run.mark("failed")
    run.until_jobs("Stopped")
    run.check()


@cases.on("deferred_retried", "queued_retried", at=SUBMITTING)
def worker_frozen_until_the_next_try_sleeps(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, on=PENDING)
    frozen_beside_the_next_try(run, gate, process)
    assert [job["live"] for job in run.jobs()] == [True]
    assert run.state() == "deferred"
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)
    run.check()


@cases.on("mixed_retried", at=SUBMITTING)
def worker_frozen_while_the_next_try_goes_from_place_to_place(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, on=PENDING)
    frozen_beside_the_next_try(run, gate, process)
    run.eventually(lambda: len(run.jobs()) > 2, "three jobs", 120)
    run.until_waiting()
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)
    run.check()


@cases.on("worker_retried", "queued_worker_retried", at=WORKERS_GATES)
def worker_frozen_until_the_next_try_waits_in_another(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, on=PENDING)
    frozen_beside_the_next_try(run, gate, process)
    assert [job["live"] for job in run.jobs()] == [True]
    assert run.state() == "running"
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)
    run.check()


@cases.on("deferred_retried", "queued_retried", at=FINISHING)
def worker_frozen_when_the_job_is_over(run: TaskRun, gate: str) -> None:
    process = held_at(run, gate, job="brief")
    signal_worker(process, STOP)
    run.open_gate(gate)
    time.sleep(FROZEN_SECONDS)
    signal_worker(process, CONTINUE)
    ends_well(run)


def frozen_beside_the_next_try(run: TaskRun, gate: str, process: int) -> None:
    """Freeze a task and its worker at a gate until the next try waits, let it go on, and give it time to do harm."""
    signal_worker(process, STOP)
    run.open_gate(gate)
    try:
        time.sleep(FROZEN_SECONDS)
        run.until_try(2, seconds=MISSED_SECONDS)
        run.until_waiting(MISSED_SECONDS)
    finally:
        signal_worker(process, CONTINUE)
    time.sleep(15)
    run.check()


@pytest.mark.parametrize("name", cases.names)
@pytest.mark.timeout(1800)
def test_worker(outcomes: Mapping[str, Future[None]], name: str) -> None:
    outcomes[name].result()
