"""The append-only account of every call and every change of a job's state."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.sandbox.job import Job

KINDS = ("call", "state", "control")
"""The sorts of lines that a record has."""

JOB_KEY = ("account", "region", "kind", "name")
"""What tells one job from another in a state entry."""

JobKey = tuple[str, ...]
JobTest = Callable[[dict[str, Any]], bool]
"""Tells whether a state entry's job is wanted."""


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


@dataclass(frozen=True, slots=True)
class Live:
    """The jobs that were live at one instant.

    Attributes:
        at: When, in epoch seconds; None if none ever was.
        jobs: Each by its account, Region, kind and name.
    """

    at: float | None
    jobs: list[dict[str, str]]


class Record:
    """Every call and state change, in order; nothing in it is ever changed.

    Calls repeat each other, so what is said of one is kept once: another of the same takes 16 bytes.
    """

    def __init__(self) -> None:
        self._instants = array("d")
        self._places = array("Q")  # by line, where in what was said
        self._said: list[tuple[str, dict[str, Any]]] = []
        self._first_lines = array("Q")  # on which line each of that was said first
        self._calls: dict[tuple[Any, ...], int] = {}  # where in it each call is
        self._lock = threading.Lock()

    def __len__(self) -> int:
        """Return how many lines there are."""
        return len(self._places)

    def add(self, at: float, what: str, data: dict[str, Any]) -> None:
        """Append a line."""
        with self._lock:
            self._places.append(self._place_of_call(data) if what == "call" else self._say(what, data))
            self._instants.append(at)

    def since(self, position: int) -> list[Entry]:
        """Return the lines from a position on."""
        with self._lock:
            chosen = zip(self._instants[position:], self._places[position:], strict=True)
            return [Entry(at, *self._said[place]) for at, place in chosen]

    def kept_form(self, position: int) -> list[list[Any]]:
        """Return the lines from a position on as they are kept: what was said before is named by where that is.

        Calls repeat each other, and a client that waits makes the same one for days.
        """
        with self._lock:
            lines = zip(self._instants[position:], self._places[position:], strict=True)
            return [
                [at, *self._said[place]] if self._first_lines[place] == line else [at, place]
                for line, (at, place) in enumerate(lines, start=position)
            ]

    def add_kept(self, at: float, *said: Any) -> None:
        """Append a line that :meth:`kept_form` has returned; all before it have been appended already.

        Raises:
            ValueError: it names what wasn't said.
        """
        if len(said) > 1:
            self.add(at, *said)
            return
        (place,) = said
        if not 0 <= place < len(self._said):
            raise ValueError(f"the record has a line that repeats number {place} of {len(self._said)}")
        with self._lock:
            self._places.append(place)
            self._instants.append(at)

    def entries(self, what: str | None = None, since: int = 0) -> list[dict[str, Any]]:
        """Return the lines, all or of one sort, from a position on; each has its own as ``line``."""
        numbered = enumerate(self.since(since), start=since)
        return [{"line": line, **entry.as_dict()} for line, entry in numbered if what in (None, entry.what)]

    def _place_of_call(self, data: dict[str, Any]) -> int:
        key = tuple(data.values())
        if key not in self._calls:
            self._calls[key] = self._say("call", data)
        return self._calls[key]

    def _say(self, what: str, data: dict[str, Any]) -> int:
        self._said.append((what, data))
        self._first_lines.append(len(self._instants))
        return len(self._said) - 1


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


def most_live(entries: Iterable[dict[str, Any]], wanted: JobTest) -> int:
    """Return the highest number of wanted jobs that were live at one instant, by the record's state entries."""
    return len(busiest(entries, wanted).jobs)


def busiest(entries: Iterable[dict[str, Any]], wanted: JobTest) -> Live:
    """Return the first instant at which most wanted jobs were live, by the record's state entries, and which."""
    known = list(entries)
    most = position = 0
    for number, live in enumerate(_replay(known, wanted), start=1):
        if len(live) > most:
            most, position = len(live), number
    return _last(known[:position], wanted)


def live_at(entries: Iterable[dict[str, Any]], wanted: JobTest, instant: float) -> list[dict[str, str]]:
    """Return the wanted jobs that were live at an instant, by the record's state entries."""
    return _last([entry for entry in entries if entry["at"] <= instant], wanted).jobs


def _last(entries: list[dict[str, Any]], wanted: JobTest) -> Live:
    states = list(_replay(entries, wanted))
    live = sorted(states[-1]) if states else []
    return Live(entries[-1]["at"] if entries else None, [dict(zip(JOB_KEY, key, strict=True)) for key in live])


def _replay(entries: Iterable[dict[str, Any]], wanted: JobTest) -> Iterator[set[JobKey]]:
    """Give the wanted jobs that are live after each entry; it is the same set every time."""
    live: set[JobKey] = set()
    for entry in entries:
        key = tuple(entry[part] for part in JOB_KEY)
        if entry["live"] and wanted(entry):
            live.add(key)
        elif not entry["live"]:
            live.discard(key)
        yield live


def carries(tags: dict[str, str], name_prefix: str = "") -> JobTest:
    """Return a test for jobs that carry all these tags and whose name begins like that."""

    def wanted(entry: dict[str, Any]) -> bool:
        has_tags = all(entry["tags"].get(key) == value for key, value in tags.items())
        return has_tags and str(entry["name"]).startswith(name_prefix)

    return wanted
