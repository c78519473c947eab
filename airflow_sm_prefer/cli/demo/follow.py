"""The account of a run as it happens: what changed since the last look, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from airflow_sm_prefer.cli.demo.rest import AirflowApi

ENDED = frozenset({"success", "failed"})
OURS = ("airflow_sm_prefer", "task.stdout")
"""Parts of the loggers' names that are told: the operators, the trigger, and what a DAG's own code prints."""

WORDS = {
    "running": "runs on a worker",
    "deferred": "sleeps in the triggerer, its worker slot is free",
    "up_for_retry": "failed, and will be tried again",
    "upstream_failed": "can't run: a task before it failed",
}

Say = Callable[[str, str], None]


class Follower:
    """Looks at a run again and again and says what is new."""

    def __init__(self, api: AirflowApi, dag_id: str, run_id: str, say: Say) -> None:
        self._api = api
        self._dag_id = dag_id
        self._run_id = run_id
        self._say = say
        self._states: dict[str, str | None] = {}
        self._told: set[tuple[str, int, int]] = set()

    def look(self) -> str:
        """Say what is new and return the run's state."""
        # The state first: whatever happened before the end is seen by the looks that follow.
        state = str(self._api.run(self._dag_id, self._run_id).get("state"))
        instances = self._api.task_instances(self._dag_id, self._run_id)
        for instance in sorted(instances, key=lambda found: found["start_date"] or "~"):
            self._tell_log(instance)
            self._tell_state(instance)
        return state

    def _tell_state(self, instance: Mapping[str, Any]) -> None:
        task_id, state = instance["task_id"], instance["state"]
        if state != self._states.get(task_id) and state not in (None, "scheduled", "queued"):
            style = {"success": "good", "failed": "bad"}.get(state, "plain")
            self._say(f"{task_id}: {WORDS.get(state, state)}", style)
        self._states[task_id] = state

    def _tell_log(self, instance: Mapping[str, Any]) -> None:
        task_id, try_number = instance["task_id"], instance["try_number"]
        if instance["start_date"] is None or self._states.get(task_id) in ENDED:
            return
        entries = self._api.log(self._dag_id, self._run_id, task_id, try_number)
        for number, line in enumerate(our_lines(entries)):
            if (task_id, try_number, number) not in self._told:
                self._told.add((task_id, try_number, number))
                self._say(f"{task_id}: {line}", "quiet")


def our_lines(entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Return what tells of the run, without Airflow's own lines and without what takes several, as a whole request."""
    for entry in entries:
        text = str(entry.get("event", ""))
        if any(name in str(entry.get("logger", "")) for name in OURS) and "\n" not in text:
            yield text


def last_words(entries: Sequence[Mapping[str, Any]], lines: int = 15) -> list[str]:
    """Return the end of a task's log as a person reads it: each event, and the error that it tells of."""
    told: list[str] = []
    for entry in entries:
        told.extend(str(entry.get("event", "")).splitlines())
        errors = entry.get("error_detail") or []
        told.extend(f"{error.get('exc_type')}: {error.get('exc_value')}" for error in errors)
    return told[-lines:]
