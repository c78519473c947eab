"""Whose log is read next, when one process may make few calls for many jobs.

Two kinds of calls. A *find* lists the streams of one job: often while it has none, seldom afterwards, for those that
come later. A *read* asks for the new lines of up to a hundred streams, and so of many jobs, a page at a time. They take
turns; among each kind the one goes first that has waited longest. So a job that logs more than can be read is behind
with its own lines only: as soon as it fills a page, it is read by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from airflow_sm_prefer.placement.log_cursors import HOLD, Event, JobLog, Line

#: Streams in one call at most: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
STREAMS_A_CALL: Final = 100

#: Seconds between two reads of a job's log.
READ_EVERY: Final = 10.0

#: Seconds between two looks for the streams of a job that has none: from, to.
_NO_STREAM: Final = (5.0, 60.0)

#: The same of one that has some, and may get more.
_SOME_STREAM: Final = (15.0, 600.0)

#: Streams are read together whose cursors are this close, in milliseconds: a call has one beginning for all.
_TOGETHER: Final = 300_000


@dataclass(slots=True, eq=False)
class Followed:
    """One job whose log is read, and its appointments, in seconds since 1970."""

    log: JobLog
    find_at: float
    read_at: float
    pause: float = _NO_STREAM[0]
    is_read_alone: bool = False
    found: list[tuple[str, int]] = field(default_factory=list)
    token: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Find:
    """List the streams of a job, or the next page of them."""

    job: Followed

    @property
    def token(self) -> str | None:
        """Where the listing goes on."""
        return self.job.token


@dataclass(slots=True, eq=False)
class Read:
    """Ask for the lines of some streams of one group, from one instant to before another, or the next page of them."""

    jobs: dict[Followed, list[str]]
    start: int
    end: int
    at: float
    token: str | None = None
    held: list[Event] = field(default_factory=list)
    pages: int = 0

    @property
    def group(self) -> str:
        """The log group of them all."""
        return next(iter(self.jobs)).log.group

    @property
    def streams(self) -> list[str]:
        """The streams, a hundred at most."""
        return [name for names in self.jobs.values() for name in names]


class LogTurns:
    """The turns over all jobs whose logs are read. Instants are seconds since 1970, as AWS's clock has them."""

    def __init__(self) -> None:
        self._jobs: dict[Followed, None] = {}
        self._begun: list[Read] = []
        self._found_last = False

    def __len__(self) -> int:
        return len(self._jobs)

    def follow(self, log: JobLog, now: float) -> Followed:
        """Begin with a job."""
        job = Followed(log, find_at=now, read_at=now)
        self._jobs[job] = None
        return job

    def leave(self, job: Followed) -> None:
        """Have done with a job; one that was left before is no error."""
        self._jobs.pop(job, None)
        for read in self._begun:
            read.jobs.pop(job, None)
        self._begun = [read for read in self._begun if read.jobs]

    def turn(self, now: float) -> Find | Read | None:
        """Return what to ask now; None where there is nothing to ask yet."""
        find, read = self._next_find(now), self._next_read()
        read = read if read and _since(read) <= now else None
        self._found_last = find is not None and (read is None or not self._found_last)
        if find is not None and self._found_last:
            return Find(find)
        return self._begin(read, now) if isinstance(read, Followed) else read

    def wait(self, now: float) -> float:
        """Return the seconds until there is something to ask, some minutes if there is no job."""
        read = self._next_read()
        at = [job.find_at for job in self._jobs] + ([_since(read)] if read else [])
        return max(0.0, min(at, default=now + _SOME_STREAM[1]) - now)

    def found(self, find: Find, streams: Iterable[tuple[str, int]], token: str | None, now: float) -> None:
        """Take a page of a job's streams, by name and the millisecond each was made in."""
        job = find.job
        job.found += streams
        job.token = token
        if token is not None:
            job.find_at = now
            return
        had = bool(job.log.streams)
        is_more = job.log.found(job.found)
        job.found = []
        first, most = _SOME_STREAM if job.log.streams else _NO_STREAM
        job.pause = first if is_more or (job.log.streams and not had) else min(most, job.pause * 2)
        job.find_at = now + job.pause
        if is_more:
            job.read_at = now

    def lines(self, read: Read, events: Sequence[Event], token: str | None, now: float) -> dict[Followed, list[Line]]:
        """Take a page of lines, and return what is new by job; the lines of each are in the order of their time."""
        events = sorted([*read.held, *events], key=lambda event: event.at)
        given, read.held = _split(events) if token is not None else (events, [])
        read.token, read.at, read.pages = token, now, read.pages + 1
        lines = {job: job.log.lines(given) for job in read.jobs}
        for job, names in read.jobs.items():
            if token is None:
                job.log.move(names, read.end)
            elif read.held:
                job.log.move(names, read.held[0].at)
        self._go_on(read, Counter({job: len(each) for job, each in lines.items()}), now)
        return {job: each for job, each in lines.items() if each}

    def failed(self, turn: Find | Read, now: float, *, is_gone: bool = False) -> None:
        """Have what failed asked again later.

        Args:
            turn: What was asked.
            now: The instant.
            is_gone: Whether CloudWatch doesn't know the group, or one of the streams.
        """
        if isinstance(turn, Find):
            turn.job.token, turn.job.found = None, []
            turn.job.pause = min(_NO_STREAM[1], turn.job.pause * 2)
            turn.job.find_at = now + turn.job.pause
            return
        self._end(turn)
        for job in turn.jobs:
            job.read_at = now + READ_EVERY
            if is_gone and len(turn.jobs) > 1:
                job.is_read_alone = True
            elif is_gone:
                job.log.forget()
                job.find_at = now

    # -- reads -----------------------------------------------------------------------------------------------

    def _next_find(self, now: float) -> Followed | None:
        due = (job for job in self._jobs if job.find_at <= now)
        return min(due, key=lambda job: (bool(job.log.streams), job.find_at), default=None)

    def _next_read(self) -> Followed | Read | None:
        waiting: list[Followed | Read] = [*self._begun, *self._idle()]
        return min(waiting, key=_since, default=None)

    def _idle(self) -> list[Followed]:
        """Return the jobs that have streams, and that no read is under way for."""
        busy = {job for read in self._begun for job in read.jobs}
        return [job for job in self._jobs if job.log.streams and job not in busy]

    def _begin(self, first: Followed, now: float) -> Read:
        jobs = {first: _furthest_behind(first, _cursor(first))}
        room = STREAMS_A_CALL - len(jobs[first])
        for job in [] if first.is_read_alone else sorted(self._idle(), key=_since):
            names = _furthest_behind(job, _cursor(first))
            is_with_it = job is not first and not job.is_read_alone and job.log.group == first.log.group
            if is_with_it and names and _since(job) <= now and len(names) <= room:
                jobs[job] = names
                room -= len(names)
        start = min(job.log.streams[name].known_from for job, names in jobs.items() for name in names)
        read = Read(jobs, start, int(now * 1000) - HOLD, now)
        self._begun.append(read)
        return read

    def _go_on(self, read: Read, lines: Counter[Followed], now: float) -> None:
        if read.token is not None:
            for job, most in lines.most_common(1):
                job.is_read_alone = job.is_read_alone or most * 2 > lines.total()
            return
        self._end(read)
        for job, names in read.jobs.items():
            job.read_at = now if len(names) < len(job.log.streams) else now + READ_EVERY
            job.is_read_alone = job.is_read_alone and read.pages > 1

    def _end(self, read: Read) -> None:
        self._begun = [other for other in self._begun if other is not read]


def _since(turn: Followed | Read) -> float:
    if isinstance(turn, Read):
        return turn.at
    # A second's lines at least: those that are too young are left for later.
    return max(turn.read_at, (_cursor(turn) + HOLD) / 1000 + 1)


def _cursor(job: Followed) -> int:
    return min(stream.cursor for stream in job.log.streams.values())


def _furthest_behind(job: Followed, cursor: int) -> list[str]:
    """Return the streams of a job that may be read together with one whose cursor that is."""
    near = [s.name for s in job.log.streams.values() if abs(s.cursor - cursor) <= _TOGETHER]
    return near[:STREAMS_A_CALL]


def _split(events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Cut the last millisecond off a page that others follow: it may go on there."""
    last = events[-1].at if events else 0
    given = [event for event in events if event.at < last]
    # All of one millisecond: kept back, they would be more with each page.
    return (given, events[len(given) :]) if given else (events, [])
