"""EventBridge events for changes of state (automating-sagemaker-with-eventbridge).

Their detail is what Describe shows, with instants in epoch milliseconds. There is no event of its own for the
selection of an instance type.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping
from typing import Any

from airflow_sm_prefer.sandbox.describe import describe
from airflow_sm_prefer.sandbox.effects import Emit
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.settings import Settings

_INSTANTS = {
    "CreationTime",
    "LastModifiedTime",
    "TrainingStartTime",
    "TrainingEndTime",
    "ProcessingStartTime",
    "ProcessingEndTime",
    "StartTime",
    "EndTime",
}


class Announcer:
    """Sends the events of state changes, some of them late, twice or not at all, as the settings say.

    Args:
        settings: What goes wrong.
        emit: Sends an event for an account and Region.
    """

    def __init__(self, settings: Settings, emit: Emit) -> None:
        self._settings = settings
        self._emit = emit
        self._made = 0
        self._late: deque[tuple[float, str, str, dict[str, Any]]] = deque()

    def announce(self, job: Job) -> float | None:
        """Send the events of a job's change of state, or keep them for later.

        Returns:
            The elapsed seconds at which :meth:`send_due` has something to send, None if nothing was kept.
        """
        return self.send(job.account, job.region, job.changed, state_change(job))

    def send(self, account: str, region: str, changed: float, event: dict[str, Any]) -> float | None:
        """Send the events of one change, as :meth:`announce` does.

        Args:
            account: Whose.
            region: Where.
            changed: The elapsed seconds of the change.
            event: A PutEvents entry for it.
        """
        events = self._events(event)
        if not self._settings.event_delay_seconds or not _is_turn(self._made, self._settings.late_events_every):
            for one in events:
                self._emit(account, region, one)
            return None
        due = changed + self._settings.event_delay_seconds
        self._late.extend((due, account, region, one) for one in events)
        return due

    def due(self) -> list[float]:
        """Return the elapsed seconds at which :meth:`send_due` has something to send."""
        return [due for due, *_ in self._late]

    def send_due(self, elapsed: float) -> bool:
        """Send the kept events whose time has come; returns whether there were any."""
        kept = len(self._late)
        while self._late and self._late[0][0] <= elapsed:
            _, account, region, event = self._late.popleft()
            self._emit(account, region, event)
        return len(self._late) < kept

    def document(self) -> dict[str, Any]:
        """Return what has to be known to go on, as JSON can hold it."""
        return {"made": self._made, "late": [list(late) for late in self._late]}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Go on where a document says."""
        self._made = document["made"]
        self._late = deque((due, account, region, event) for due, account, region, event in document["late"])

    def _events(self, event: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the events of one change: usually one."""
        self._made += 1
        if _is_turn(self._made, self._settings.lose_events_every):
            return []
        return [event] * (2 if _is_turn(self._made, self._settings.double_events_every) else 1)


def state_change(job: Job) -> dict[str, Any]:
    """Return a PutEvents entry for a job's present state."""
    detail = _in_milliseconds(describe(job))
    detail["Tags"] = dict(job.tags)
    return {
        "Source": "aws.sagemaker",
        "DetailType": f"SageMaker {job.kind.word} Job State Change",
        "Resources": [job.arn],
        "Time": job.modified,
        "Detail": json.dumps(detail),
    }


def is_announced(kind: JobKind, before: tuple[str, str], after: tuple[str, str]) -> bool:
    """Whether a change of (primary, secondary) status is worth an event: processing has no secondary one."""
    return before != after if kind is JobKind.TRAINING else before[0] != after[0]


def _is_turn(count: int, every: int) -> bool:
    return every > 0 and count % every == 0


def _in_milliseconds(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {name: _in_milliseconds(member, name) for name, member in value.items()}
    if isinstance(value, list):
        return [_in_milliseconds(member) for member in value]
    if key in _INSTANTS:
        return int(value * 1000)
    return value
