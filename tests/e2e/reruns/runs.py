"""One task instance that is clicked at, and what the sandbox's record says of its jobs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
from airflow.triggers.base import BaseTrigger

from airflow_sm_prefer.placement.naming import TaskIdentity, task_marker
from airflow_sm_prefer.placement.ownership import Ownership
from tests.e2e.reruns.gates import gate_file, visitor_file
from tests.e2e.reruns.sandbox_process import BEHIND, NONE_FREE, NONE_SOON, ONE_FREE, TAKEN, WIDE
from tests.e2e.reruns.service_jobs import most_at_once, spans
from tests.e2e.reruns.world import World

PENDING, RUNNING, SCHEDULED = NONE_FREE, ONE_FREE, NONE_SOON
"""Types: one that there is none of, so that a job waits, in a queue as RUNNABLE; one that every job gets at once; and
one for which a job in a queue is SCHEDULED now and then, with a training job behind it, and never starts."""

QUEUE_FOR = {PENDING: TAKEN, RUNNING: WIDE, SCHEDULED: WIDE}

IN_QUEUES = ("queued", "mixed")
"""What the ids of the DAGs begin with whose jobs may be in queues."""

LOOKS = frozenset({"DescribeTrainingJob", "DescribeServiceJob"})

WAITED_FOR = frozenset({"running", "deferred"})
"""States in which somebody waits for a task instance's job."""

COMING = frozenset({None, "scheduled", "queued", "up_for_retry", "restarting"})
"""States in which a try is to come that will look for a job left behind."""


TRIGGERS_ARE_TOLD = hasattr(BaseTrigger, "on_kill")
"""Whether Airflow tells a trigger that a person has ended its task: since 3.3."""

LOOK_SECONDS = 1.0

TRIGGER_STARTS_SECONDS = 3
"""From a trigger's assignment to its start, on a busy machine."""


@dataclass
class TaskRun:
    """The task ``train`` of a DAG run of its own.

    Attributes:
        world: Where it is.
        dag_id: Which DAG.
        name: The run's id.
        map_index: Its index when mapped.
        since: No job of it is older than this, in epoch seconds.
    """

    world: World
    dag_id: str
    name: str
    map_index: int = -1
    since: float = field(default_factory=time.time)

    def begin(self, job: str = "long", on: str = RUNNING) -> TaskRun:
        """Start the run."""
        self.world.clicks.begin(self.dag_id, self.name, {"job": job, "prefer": on, "queue": QUEUE_FOR[on]})
        return self

    # -- what is done to it

    def mark(self, state: str) -> None:
        self.world.clicks.mark(self.dag_id, self.name, "train", state, self.map_index)
        self.reconcile_where_triggers_are_not_told()

    def mark_run(self, state: str) -> None:
        self.world.clicks.mark_run(self.dag_id, self.name, state)
        self.reconcile_where_triggers_are_not_told()

    def reconcile_where_triggers_are_not_told(self) -> None:
        """Do what people with an older Airflow have to do after they have ended a task that sleeps."""
        if not TRIGGERS_ARE_TOLD and "worker" not in self.dag_id:
            self.world.reconcile()

    def clear(self, task_id: str = "train", **how: Any) -> None:
        self.world.clicks.clear(self.dag_id, self.name, task_id, map_index=self.map_index, **how)

    def delete(self) -> None:
        self.world.clicks.delete_run(self.dag_id, self.name)

    def close_gate(self, gate: str) -> TaskRun:
        """Have the task stop at a gate when it gets there."""
        visitor_file(self.world.gates, self.name, gate).unlink(missing_ok=True)
        gate_file(self.world.gates, self.name, gate).touch()
        return self

    def open_gate(self, gate: str) -> None:
        """Let it through; a later try too."""
        gate_file(self.world.gates, self.name, gate).unlink()

    def at_gate(self, gate: str, seconds: float = 120) -> int:
        """Wait until the task stands before a gate, and return the id of its process."""
        visitor = visitor_file(self.world.gates, self.name, gate)
        return int(self.eventually(lambda: visitor.exists() and visitor.read_text(), f"it at {gate}", seconds))

    # -- what is seen of it

    @property
    def identity(self) -> TaskIdentity:
        """The task instance, as its jobs' names and tags tell of it."""
        return TaskIdentity(self.world.deployment, self.dag_id, self.name, "train", self.map_index)

    @property
    def tag(self) -> tuple[str, str]:
        """The tag that all its jobs carry; those of the same task of another Airflow do too."""
        return "sm-prefer:task", Ownership.task_tag(self.identity)

    def state(self) -> str | None:
        """Return the state that Airflow has it in."""
        return self.world.clicks.state(self.dag_id, self.name, "train", self.map_index)

    def jobs(self) -> list[dict[str, Any]]:
        """Return its jobs as they are, in the order of their submission; a service job counts as one."""
        own = [job for job in self._training_jobs() if not job["name"].startswith(BEHIND)]
        return sorted(own + self._service_jobs(), key=lambda job: int(job["name"].rpartition("-")[2]))

    def live(self) -> list[dict[str, Any]]:
        """Return its jobs that haven't ended."""
        return [job for job in self.jobs() if job["live"]]

    def left_behind(self) -> list[str]:
        """Return the training jobs that live though their service job doesn't."""
        behind = [job["name"] for job in self._training_jobs() if job["live"] and job["name"].startswith(BEHIND)]
        return [] if any(job["live"] for job in self._service_jobs()) else behind

    def most_live(self) -> int:
        """Return how many of its jobs were ever live at one instant, the training jobs behind service jobs included."""
        at_sagemaker = self.world.control.most_live(tag=self.tag)
        if not self.dag_id.startswith(IN_QUEUES):
            return at_sagemaker
        key, value = self.tag
        states = [entry for entry in self.world.control.record("state") if entry["tags"].get(key) == value]
        own = spans(entry for entry in states if not entry["name"].startswith(BEHIND))
        queued = [job["span"] for job in self._service_jobs()]
        return max(at_sagemaker, most_at_once([*own.values(), *queued]))

    def _training_jobs(self) -> list[dict[str, Any]]:
        ours = {self.tag, ("sm-prefer:deployment", self.world.deployment)}
        return [job for job in self.world.control.jobs() if ours <= set(job["tags"].items())]

    def _service_jobs(self) -> list[dict[str, Any]]:
        if not self.dag_id.startswith(IN_QUEUES):
            return []
        return self.world.service_jobs.of(task_marker(self.identity), self.since)

    def statuses(self) -> list[str]:
        """Return what has become of its jobs, in order."""
        return [job["status"] for job in self.jobs()]

    # -- waiting for it

    def until_state(self, *states: str, seconds: float = 120) -> str:
        """Wait until Airflow has it in one of these states."""
        return str(self.eventually(lambda: self.state() in states and self.state(), f"state {states}", seconds))

    def until_try(self, number: int, seconds: float = 120) -> None:
        """Wait until Airflow is at a try."""

        def is_there() -> bool:
            found = self.world.clicks.instance(self.dag_id, self.name, "train", self.map_index)
            return found is not None and found["try_number"] >= number

        self.eventually(is_there, f"try {number}", seconds)

    def until_over(self, seconds: float = 60) -> None:
        """Wait until the whole run is over.

        SQLite locks no rows, so that a clear in the moment of a run's end ends the scheduler too.
        """
        self.eventually(self.is_over, "the run's end", seconds)

    def is_over(self) -> bool:
        """Return whether the whole run is over."""
        return self.world.clicks.run(self.dag_id, self.name).get("state") in {"success", "failed"}

    def until_waiting(self, seconds: float = 120) -> TaskRun:
        """Wait until it has a job that somebody waits for, in the triggerer or in a worker."""
        sleeps = "deferred" if "worker" not in self.dag_id else "running"
        self.eventually(lambda: self.live() and self.state() == sleeps, f"a job and state {sleeps}", seconds)
        if sleeps == "deferred":
            self.until_triggered(seconds)
        else:
            self.until_looked_at(seconds)
        return self

    def until_looked_at(self, seconds: float = 60) -> None:
        """Wait until its job is looked at more often than a try does which only looks for it."""
        before = self._looks()
        self.eventually(lambda: self._looks() >= before + 4, "looks at its job", seconds)

    def _looks(self) -> int:
        names = {job["name"] for job in self.live()}
        calls = self.world.control.record("call")
        return sum(call["operation"] in LOOKS and call.get("name") in names for call in calls)

    def until_triggered(self, seconds: float = 60) -> None:
        """Wait until a triggerer runs its trigger: of a task that is ended before that, Airflow tells no trigger."""

        def has_triggerer() -> bool:
            found = self.world.clicks.instance(self.dag_id, self.name, "train", self.map_index)
            return bool(found and (found.get("trigger") or {}).get("triggerer_id"))

        self.eventually(has_triggerer, "a triggerer", seconds)
        time.sleep(TRIGGER_STARTS_SECONDS)

    def until_jobs(self, *statuses: str, seconds: float = 120) -> None:
        """Wait until its jobs have exactly these statuses."""
        self.eventually(lambda: self.statuses() == list(statuses), f"jobs {statuses}", seconds)

    def eventually(self, done: Callable[[], Any], what: str, seconds: float) -> Any:
        """Wait until something is true of it, and return that."""
        deadline = time.monotonic() + seconds
        while not (found := done()):
            if time.monotonic() > deadline:
                msg = f"{self.dag_id}/{self.name}: state {self.state()}, jobs {self.statuses()}; wanted {what}"
                raise AssertionError(msg)
            time.sleep(LOOK_SECONDS)
        return found

    def check(self) -> None:
        """Never two at once, and none that nobody waits for."""
        assert self.most_live() <= 1, f"{self.dag_id}/{self.name} had {self.most_live()} live jobs at once"
        state, live = self.state(), self.live()
        assert not self.left_behind(), f"{self.dag_id}/{self.name} left {self.left_behind()}"
        if live:
            assert state in WAITED_FOR | COMING, f"{self.dag_id}/{self.name} is {state}, and {live[0]['name']} lives"


def stays(states: Collection[str | None], run: TaskRun, seconds: float) -> None:
    """Watch for a while that a task instance leaves none of these states."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert run.state() in states
        time.sleep(LOOK_SECONDS)


def signal_worker(process: int, number: signal.Signals) -> None:
    """Send a signal to a task's process and to the worker that runs it, the worker first."""
    worker = psutil.Process(process).parent()
    assert worker is not None
    for pid in (worker.pid, process):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
