"""Many runs at once of a training job beside an empty deferrable task, and what came of them."""

from __future__ import annotations

import math
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.cli.demo.report import worker_seconds
from airflow_sm_prefer.cli.demo.rest import ANSWERS
from tests.e2e.compose.stack import Stack
from tests.e2e.conftest import until

DAG_ID, OURS, EMPTY = "load", "train", "empty"
TASK_TAG = "sm-prefer:task"
OVER = {"success", "failed"}
LOOK_SECONDS = 2.0


@dataclass(frozen=True)
class Outcome:
    """What came of all runs.

    Attributes:
        states: How each run ended, by its id; None for one that hasn't.
        jobs: The statuses of each task's jobs, by the task's tag.
        live: The names of jobs that still run.
        held: How long each run's training task held worker slots, and its empty one, in seconds.
    """

    states: Mapping[str, str | None]
    jobs: Mapping[str, Sequence[str]]
    live: Sequence[str]
    held: Mapping[str, tuple[float, float]]

    @property
    def unsuccessful(self) -> dict[str, str | None]:
        """The runs that aren't a success."""
        return {run: state for run, state in self.states.items() if state != "success"}

    @property
    def doubled(self) -> dict[str, Sequence[str]]:
        """The tasks with more than one job."""
        return {task: statuses for task, statuses in self.jobs.items() if len(statuses) > 1}

    @property
    def excess(self) -> dict[str, float]:
        """By how many seconds each run's training task held slots for longer than its empty one."""
        return {run: ours - empty for run, (ours, empty) in self.held.items()}

    @property
    def usual_excess(self) -> float:
        """The excess that nine of ten runs keep within, in seconds."""
        ordered = sorted(self.excess.values())
        return ordered[math.ceil(0.9 * len(ordered)) - 1]

    def __str__(self) -> str:
        states, excess = Counter(self.states.values()), self.excess.values()
        jobs = f"{sum(map(len, self.jobs.values()))} jobs of {len(self.jobs)} tasks"
        held = [statistics.median(seconds) for seconds in zip(*self.held.values(), strict=True)]
        return (
            f"runs {dict(states)}; {jobs}, {len(self.doubled)} doubled, {len(self.live)} left;"
            f" in slots, median: train {held[0]:.1f} s, empty {held[1]:.1f} s;"
            f" train more than empty: median {statistics.median(excess):.1f} s,"
            f" of nine in ten at most {self.usual_excess:.1f} s, of all {max(excess):.1f} s"
        )


class Load:
    """Runs of the DAG ``load``.

    Args:
        stack: Where.
        count: How many.
    """

    def __init__(self, stack: Stack, count: int) -> None:
        self._stack = stack
        self._runs = [f"run-{number}" for number in range(count)]

    def begin(self) -> None:
        """Begin all runs."""
        for run in self._runs:
            self._stack.airflow.begin(DAG_ID, run)

    def busy_triggerer(self, jobs: int, seconds: float) -> str:
        """Wait until so many jobs have been made, and return the service that most of the sleeping tasks are with."""
        self._until(lambda: len(self._stack.sandbox.jobs()) >= jobs, f"{jobs} jobs", seconds)
        return str(until(self._most_used_triggerer))

    def _most_used_triggerer(self) -> str | None:
        sleeping = self._stack.airflow.all_instances(DAG_ID, state="deferred")
        hosts = Counter(one["triggerer_job"]["hostname"] for one in sleeping if one.get("triggerer_job"))
        return hosts.most_common(1)[0][0] if hosts else None

    def until_over(self, seconds: float) -> None:
        """Wait until every run has ended."""
        self._until(self._is_over, "the runs' end", seconds)

    def _is_over(self) -> bool:
        try:
            return all(state in OVER for state in self._states().values())
        except ANSWERS:
            # The api-server may have been killed.
            return False

    def outcome(self) -> Outcome:
        """Count."""
        jobs: dict[str, list[str]] = defaultdict(list)
        mine = [job for job in self._stack.sandbox.jobs() if job["name"].startswith(DAG_ID)]
        for job in mine:
            jobs[job["tags"][TASK_TAG]].append(job["status"])
        return Outcome(
            self._states(),
            jobs,
            [job["name"] for job in mine if job["live"]],
            {run: self._held(run) for run in self._runs},
        )

    def _states(self) -> dict[str, str | None]:
        known = self._stack.airflow.run_states(DAG_ID)
        return {run: known.get(run) for run in self._runs}

    def _held(self, run: str) -> tuple[float, float]:
        """Return how long a run's tasks held slots, by Airflow's event log."""
        events = self._stack.airflow.events(DAG_ID, run)
        ours, empty = (_of(task, events) for task in (OURS, EMPTY))
        return ours, empty

    def _until(self, done: Callable[[], bool], what: str, seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, f"waited in vain for {what}"
            time.sleep(LOOK_SECONDS)


def _of(task: str, events: Sequence[Mapping[str, Any]]) -> float:
    return worker_seconds([event for event in events if event["task_id"] == task]) or 0.0
