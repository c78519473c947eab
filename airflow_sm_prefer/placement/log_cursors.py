"""How far a job's streams in CloudWatch have been read, and which lines of an answer are new.

What is handed out is told to whoever reads on as an instant for each stream, see
:mod:`airflow_sm_prefer.placement.handed`: its lines from then on, and streams made later, are for the next reader. So
nothing is handed out that is younger than :data:`HOLD`: a line takes a while from a job to CloudWatch, and one that
came after its instant was passed would be lost to both.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark, after_job

#: Milliseconds that a line has to get into CloudWatch before its instant is passed.
HOLD: Final = 10_000

#: How far before a cursor lines are looked for that took longer, in milliseconds.
LATE: Final = 60_000

#: How many lines of a stream are known again by their ids; where it logs more, late ones are looked for less far back.
REMEMBERED: Final = 100

#: A stream's first line may be older than the stream: the agent makes it when it has something to send.
_BEFORE: Final = 3_600_000

_HOST: Final = re.compile(r"algo-\d+")


class Event(NamedTuple):
    """One line as CloudWatch gives it: its instant in milliseconds since 1970, its stream, its id and its text."""

    at: int
    stream: str
    id: str
    message: str


class Line(NamedTuple):
    """One line as it is handed out: its instant in milliseconds since 1970, and its text."""

    at: int
    text: str


@dataclass(slots=True)
class Stream:
    """One host's stream.

    Attributes:
        name: Its name in its group.
        created: When it was made, in milliseconds since 1970.
        cursor: Until when its lines were handed out, that instant excluded.
        is_begun: Whether its lines before the cursor were handed out; where not, the cursor is where to begin.
        recent: The last lines that were handed out, by id, with their instants.
        known_from: From when on a line that isn't among those is new.
    """

    name: str
    created: int
    cursor: int
    is_begun: bool
    recent: dict[str, int] = field(default_factory=dict)
    known_from: int = field(init=False)

    def __post_init__(self) -> None:
        self.known_from = self.cursor

    def is_new(self, event: Event) -> bool:
        """Whether a line has not been handed out."""
        return event.at >= self.cursor or (event.at >= self.known_from and event.id not in self.recent)

    def hand_out(self, event: Event) -> None:
        """Remember that a line was handed out."""
        self.recent[event.id] = event.at

    def move(self, cursor: int) -> None:
        """Set the cursor on, and forget lines that are too far behind it."""
        self.is_begun = self.is_begun or cursor > self.cursor
        self.cursor = max(self.cursor, cursor)
        first, excess = self.cursor - LATE, len(self.recent) - REMEMBERED
        by_age = sorted(self.recent.items(), key=lambda item: item[1])
        dropped = by_age[:excess] if excess > 0 else []
        if dropped:
            first = max(first, dropped[-1][1] + 1)
        self.known_from = max(self.known_from, min(first, self.cursor))
        self.recent = {name: at for name, at in by_age if at >= self.known_from}


@dataclass(slots=True)
class JobLog:
    """The streams of one job.

    Attributes:
        group: Their log group.
        job_name: The job.
        given: What was handed out of it before, by somebody else or of streams that were forgotten.
        streams: What was found, by name.
    """

    group: str
    job_name: str
    given: Handed = NOTHING
    streams: dict[str, Stream] = field(default_factory=dict)

    @property
    def cursor(self) -> int:
        """The cursor of the stream that is furthest behind; 0 where there is no stream."""
        return min((stream.cursor for stream in self.streams.values()), default=0)

    @property
    def handed(self) -> Handed:
        """What was handed out of it so far."""
        if not self.streams:
            return self.given
        return Handed.of(
            Mark(stream.cursor if stream.is_begun else 0, stream.created, after_job(stream.name))
            for stream in self.streams.values()
        )

    def found(self, made: Iterable[tuple[str, int]]) -> bool:
        """Take the names of all streams that there are, and when each was made; returns whether one is new."""
        fresh = [(name, created) for name, created in made if name not in self.streams]
        for name, created in fresh:
            until = self.given.until(name, created)
            cursor = max(0, created - _BEFORE) if until is None else until
            self.streams[name] = Stream(name, created, cursor, is_begun=until is not None)
        return bool(fresh)

    def forget(self) -> None:
        """Forget the streams: CloudWatch has one of them no more."""
        self.given = self.handed
        self.streams.clear()

    def lines(self, events: Iterable[Event]) -> list[Line]:
        """Return what is new of an answer, in its order; on several hosts each line begins with its host."""
        with_hosts, lines = len(self.streams) > 1, []
        for event in events:
            stream = self.streams.get(event.stream)
            if stream is not None and stream.is_new(event):
                stream.hand_out(event)
                lines.append(
                    Line(event.at, f"[{host_of(event.stream)}] {event.message}" if with_hosts else event.message)
                )
        return lines

    def move(self, names: Iterable[str], cursor: int) -> None:
        """Set the cursors of some streams on."""
        for name in names:
            if name in self.streams:
                self.streams[name].move(cursor)


def host_of(stream: str) -> str:
    """Return which of a job's hosts writes to a stream: ``algo-2`` of ``job/algo-2-1700000000``."""
    last = stream.rpartition("/")[2]
    found = _HOST.search(last)
    return found.group(0) if found else last
