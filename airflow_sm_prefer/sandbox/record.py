"""The append-only account of every call and every change of a job's state."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.sandbox.job import Job


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the record.

    Attributes:
        at: When, in epoch seconds.
        what: ``call``, ``state`` or ``control``.
        data: What there is to say about it, JSON-clean.
    """

    at: float
    what: str
    data: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        """Return it as one flat object."""
        return {"at": self.at, "what": self.what, **self.data}


class Record:
    """Every call and state change, in order; nothing in it is ever changed."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def add(self, at: float, what: str, data: dict[str, Any]) -> None:
        """Append a line."""
        with self._lock:
            self._entries.append(Entry(at, what, data))

    def entries(self, what: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        """Return the lines, all or of one sort, from a position on."""
        with self._lock:
            chosen = self._entries[since:]
        return [entry.as_dict() for entry in chosen if what in (None, entry.what)]


def state_entry(job: Job) -> dict[str, Any]:
    """Return what the record says of a job's present state."""
    selected = job.selected
    return {
        "kind": job.kind.value,
        "name": job.name,
        "account": job.account,
        "region": job.region,
        "status": job.status,
        "secondary": job.secondary,
        "live": job.is_live,
        "tags": dict(job.tags),
        "instance_type": selected.instance_type if selected else None,
        "instance_count": selected.count if selected else None,
        "capacity": selected.kind.value if selected else None,
    }


def most_live(entries: Iterable[dict[str, Any]], wanted: Callable[[dict[str, Any]], bool]) -> int:
    """Return the highest number of wanted jobs that were live at one instant, by the record's state entries."""
    live: set[tuple[str, str, str, str]] = set()
    most = 0
    for entry in entries:
        key = (entry["account"], entry["region"], entry["kind"], entry["name"])
        if entry["live"] and wanted(entry):
            live.add(key)
        elif not entry["live"]:
            live.discard(key)
        most = max(most, len(live))
    return most


def carries(tags: dict[str, str], name_prefix: str = "") -> Callable[[dict[str, Any]], bool]:
    """Return a test for jobs that carry all these tags and whose name begins like that."""

    def wanted(entry: dict[str, Any]) -> bool:
        has_tags = all(entry["tags"].get(key) == value for key, value in tags.items())
        return has_tags and str(entry["name"]).startswith(name_prefix)

    return wanted
