"""How far a job's log was handed out, as it is told to whoever reads on: exact for each stream, and small.

A job's streams are read together where they can be; those of a large job are read in parts, and one that is found late
has to catch up. So many streams share few instants, and those that share one were made one after another. The account
goes through the streams in the order in which they were made, and notes where the instant becomes another one.

It is kept in a task's state, in Airflow's database, and has :data:`MOST` marks at most: one for about every hundred
streams and one for each part that catches up. Where there would be more, neighbours share the earlier instant, and what
was handed out of them since then comes twice. Nothing is ever lost by it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

#: The most marks of one account; about 60 bytes each.
MOST: Final = 20

#: After every instant, in milliseconds since 1970.
_NEVER: Final = 1 << 53


class Mark(NamedTuple):
    """Some streams that were made one after another, and how far they were handed out.

    Attributes:
        until: Until when their lines were handed out, that instant excluded, in milliseconds since 1970; 0 for none.
        created: When the last of them was made, in milliseconds since 1970.
        name: That one's name after the job's: of those that were made in one millisecond, the names say the order.
    """

    until: int
    created: int
    name: str


@dataclass(frozen=True, slots=True)
class Handed:
    """What was handed out of a job's log.

    Attributes:
        marks: The streams in the order in which they were made; a mark holds for those after the mark before it, its
            own included. Nothing was handed out of streams that were made after the last.
    """

    marks: tuple[Mark, ...] = ()

    @classmethod
    def of(cls, streams: Iterable[Mark]) -> Handed:
        """Return the account of streams, from a mark for each."""
        ordered = sorted(streams, key=_place)
        while ordered and not ordered[-1].until:
            ordered.pop()
        return cls(tuple(_joined(ordered))).within(MOST)

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Handed:
        """Read what a state has of it: its marks as lists."""
        return cls(tuple(Mark(*mark) for mark in wire["marks"]))

    @property
    def earliest(self) -> int | None:
        """Before when nothing is left of any stream that was read, in milliseconds since 1970; None if none was."""
        return min((mark.until for mark in self.marks if mark.until), default=None)

    def until(self, stream: str, created: int) -> int | None:
        """Return until when a stream was handed out, that instant excluded; None where nothing was.

        Args:
            stream: Its whole name.
            created: When it was made, in milliseconds since 1970.
        """
        return self._until(created, after_job(stream)) or None

    def _until(self, created: int, name: str) -> int:
        n = bisect_left(self.marks, (created, name), key=_place)
        return self.marks[n].until if n < len(self.marks) else 0

    def towards(self, later: Handed, instant: int) -> Handed:
        """Return what holds between two accounts, when of the lines in between those before an instant were written."""
        places = {_place(mark) for mark in (*self.marks, *later.marks)}
        return Handed.of(Mark(max(self._until(*at), min(later._until(*at), instant)), *at) for at in places)

    def within(self, most: int) -> Handed:
        """Return an account of so many marks at most, which says no more than this one."""
        marks = list(self.marks)
        while len(marks) > most:
            n = min(range(1, len(marks)), key=lambda n: abs(marks[n].until - marks[n - 1].until))
            marks[n - 1 : n + 1] = [marks[n]._replace(until=min(marks[n].until, marks[n - 1].until))]
        return Handed(tuple(marks))


#: Of a log that nobody has read.
NOTHING: Final = Handed()


def after_job(stream: str) -> str:
    """Return what a stream's name has after its job's: ``algo-2-1700000000`` of ``job/algo-2-1700000000``."""
    return stream.partition("/")[2]


def with_account(wire: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a state's wire form with the account in it that an earlier version wrote as two instants."""
    until, newest = wire.get("logged_until"), wire.get("logged_streams")
    if until is None or "logged" in wire:
        return wire
    # Of all streams that were made until the newest, that one's millisecond included.
    return {**wire, "logged": {"marks": [[until, _NEVER if newest is None else newest + 1, ""]]}}


def _place(mark: Mark) -> tuple[int, str]:
    return mark.created, mark.name


def _joined(marks: Iterable[Mark]) -> list[Mark]:
    """Have neighbours with one instant share a mark."""
    joined: list[Mark] = []
    for mark in marks:
        if joined and joined[-1].until == mark.until:
            joined.pop()
        joined.append(mark)
    return joined
