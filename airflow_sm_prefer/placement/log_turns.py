"""Whose log is read next, when one process may make few calls for many jobs.

Two kinds of calls. A *find* lists the streams of one job: often while it has none, seldom afterwards, for those that
come later. A *read* asks for the new lines of up to a hundred streams, and so of many jobs, a page at a time. They take
turns; among each kind the one goes first that has waited longest, but a job without streams before one with some. So a
job that logs more than can be read is behind with its own lines only: as soon as it fills a page, it is read by itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from airflow_sm_prefer.placement.appointments import Appointments
from airflow_sm_prefer.placement.log_cursors import HOLD, Event, JobLog, Line

T = TypeVar("T")

#: Streams in one call at most: https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilterLogEvents.html
STREAMS_A_CALL: Final = 100

#: Seconds between two reads of a job's log; sooner where another's is read and there is room.
READ_EVERY: Final = 10.0

#: Seconds from a stream that is found to its first read, so that several are read together.
_GATHER: Final = 3.0

#: Jobs that are looked at for one read, at most.
_LOOKED_AT: Final = 300

#: Seconds between two looks for the streams of a job that has none: from, to.
_NO_STREAM: Final = (5.0, 60.0)

#: The same of one that has some, and may get more.
_SOME_STREAM: Final = (15.0, 600.0)

#: Lines of one millisecond that are kept back until all of it is there; of more, where the reading ends in its middle,
#: what was handed out comes twice.
HELD: Final = 1_000

#: Streams are read together whose cursors are this close, in milliseconds: a call has one beginning for all.
_TOGETHER: Final = 300_000


@dataclass(slots=True, eq=False)
class Followed:
    """One job whose log is read.

    Attributes:
        log: Its streams, and how far they are read.
        pause: Seconds until its streams are listed again.
        is_read_alone: Whether it logs too much to be read with others.
        found: Its streams by the pages of a listing so far.
        token: Where that listing goes on.
        whole_until: Until when streams were made of which none is missing in a listing of several pages, in
            milliseconds since 1970.
        read: The read that it is in.
    """

    log: JobLog
    pause: float = _NO_STREAM[0]
    is_read_alone: bool = False
    found: list[tuple[str, int]] = field(default_factory=list)
    token: str | None = None
    whole_until: int | None = None
    read: Read | None = None


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
        self._first_finds: Appointments[Followed] = Appointments()
        self._more_finds: Appointments[Followed] = Appointments()
        self._reads: Appointments[Followed | Read] = Appointments()
        self._found_last = False

    def __len__(self) -> int:
        return len(self._jobs)

    def follow(self, log: JobLog, now: float) -> Followed:
        """Begin with a job."""
        job = Followed(log)
        self._jobs[job] = None
        self._first_finds.set(job, now)
        return job

    def leave(self, job: Followed) -> None:
        """Have done with a job; one that was left before is no error."""
        self._jobs.pop(job, None)
        self._first_finds.drop(job)
        self._more_finds.drop(job)
        self._reads.drop(job)
        if job.read:
            job.read.jobs.pop(job)
            if not job.read.jobs:
                self._reads.drop(job.read)
            job.read = None

    def turn(self, now: float) -> Find | Read | None:
        """Return what to ask now; None where there is nothing to ask yet."""
        find = _due(self._first_finds, now) or _due(self._more_finds, now)
        read = _due(self._reads, now)
        self._found_last = find is not None and (read is None or not self._found_last)
        if find is not None and self._found_last:
            return Find(find)
        return self._begin(read, now) if isinstance(read, Followed) else read

    def wait(self, now: float) -> float:
        """Return the seconds until there is something to ask, some minutes if there is no job."""
        firsts = self._first_finds.first(), self._more_finds.first(), self._reads.first()
        return max(0.0, min((first[0] for first in firsts if first), default=now + _SOME_STREAM[1]) - now)

    def found(self, find: Find, streams: Iterable[tuple[str, int]], token: str | None, now: float) -> None:
        """Take a page of a job's streams, by name and the millisecond each was made in."""
        job = find.job
        if job not in self._jobs:
            return
        if job.token is None:
            job.whole_until = None if token is None else int(now * 1000) - HOLD
        job.found += streams
        job.token = token
        if token is not None:
            self._find_at(job, now)
            return
        made = _without_gaps(job)
        is_more = job.log.found(made)
        is_all, job.found = len(made) == len(job.found), []
        first, most = _SOME_STREAM if job.log.streams else _NO_STREAM
        job.pause = first if is_more or not is_all else min(most, job.pause * 2)
        self._find_at(job, now + job.pause)
        if is_more and not job.read:
            self._read_at(job, now + _GATHER)

    def lines(self, read: Read, events: Sequence[Event], token: str | None, now: float) -> dict[Followed, list[Line]]:
        """Take a page of lines, and return what is new by job; the lines of each are in the order of their time."""
        events = sorted([*read.held, *events], key=lambda event: event.at)
        given, read.held = _split(events) if token is not None else (events, [])
        read.token, read.pages = token, read.pages + 1
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
        if isinstance(turn, Read):
            self._read_failed(turn, now, is_gone=is_gone)
        elif turn.job in self._jobs:
            turn.job.token, turn.job.found = None, []
            turn.job.pause = min(_NO_STREAM[1], turn.job.pause * 2)
            self._find_at(turn.job, now + turn.job.pause)

    def _read_failed(self, read: Read, now: float, *, is_gone: bool) -> None:
        for job in self._ended(read):
            job.is_read_alone = job.is_read_alone or is_gone
            if is_gone and len(read.jobs) == 1:
                job.log.forget()
                self._find_at(job, now + _NO_STREAM[0])
            else:
                self._read_at(job, now + READ_EVERY)

    # -- appointments ----------------------------------------------------------------------------------------

    def _find_at(self, job: Followed, at: float) -> None:
        self._first_finds.drop(job)
        self._more_finds.drop(job)
        (self._more_finds if job.log.streams else self._first_finds).set(job, at)

    def _read_at(self, job: Followed, at: float) -> None:
        # A second's lines at least: those that are too young are left for later.
        self._reads.set(job, max(at, (job.log.cursor + HOLD) / 1000 + 1))

    def _begin(self, first: Followed, now: float) -> Read:
        cursor, end = first.log.cursor, int(now * 1000) - HOLD
        self._reads.drop(first)
        jobs = {first: _near(first, cursor)}
        if not first.is_read_alone:
            jobs |= self._others(first, cursor, end, now)
        start = min(job.log.streams[name].known_from for job, names in jobs.items() for name in names)
        read = Read(jobs, start, end)
        for job in jobs:
            job.read = read
        self._reads.set(read, now)
        return read

    def _others(self, first: Followed, cursor: int, end: int, now: float) -> dict[Followed, list[str]]:
        """Return who is read with a job that is due: whoever is near, due or nearly so, as long as there is room."""
        jobs: dict[Followed, list[str]] = {}
        room = STREAMS_A_CALL - len(_near(first, cursor))
        left: list[tuple[Followed | Read, float]] = []
        for at, other in self._reads.taken(now + READ_EVERY):
            names = _near(other, cursor) if isinstance(other, Followed) and _may_join(other, first, end) else []
            if isinstance(other, Followed) and names and len(names) <= room:
                jobs[other] = names
                room -= len(names)
            else:
                left.append((other, at))
            if not room or len(left) == _LOOKED_AT:
                break
        for other, at in left:
            self._reads.set(other, at)
        return jobs

    def _go_on(self, read: Read, lines: Counter[Followed], now: float) -> None:
        if not read.jobs:
            return
        if read.token is not None:
            for job, most in lines.most_common(1):
                job.is_read_alone = job.is_read_alone or most * 2 > lines.total()
            self._reads.set(read, now)
            return
        for job in self._ended(read):
            job.is_read_alone = job.is_read_alone and read.pages > 1
            is_whole = len(read.jobs[job]) == len(job.log.streams)
            self._read_at(job, now + READ_EVERY if is_whole else now)

    def _ended(self, read: Read) -> Iterator[Followed]:
        self._reads.drop(read)
        for job in read.jobs:
            job.read = None
            yield job


def _due(appointments: Appointments[T], now: float) -> T | None:
    first = appointments.first()
    return first[1] if first and first[0] <= now else None


def _may_join(job: Followed, first: Followed, end: int) -> bool:
    return not job.is_read_alone and job.log.group == first.log.group and job.log.cursor < end


def _near(job: Followed, cursor: int) -> list[str]:
    """Return the streams of a job that may be read together with one whose cursor that is."""
    near = [stream for stream in job.log.streams.values() if abs(stream.cursor - cursor) <= _TOGETHER]
    # Of more than one call takes, those that have waited longest; made one after another, they share a mark.
    near.sort(key=lambda stream: (stream.cursor, stream.created, stream.name))
    return [stream.name for stream in near[:STREAMS_A_CALL]]


def _without_gaps(job: Followed) -> list[tuple[str, int]]:
    """Return what a listing has found, without streams so young that an older one may have come behind its back.

    Whoever reads on takes all streams that were made before a known one for known. The next listing has the rest.
    """
    last, given = job.whole_until, job.log.given
    return [(name, made) for name, made in job.found if last is None or made <= last or given.until(name, made)]


def _split(events: list[Event]) -> tuple[list[Event], list[Event]]:
    """Cut the last millisecond off a page that others follow: it may go on there."""
    last = events[-1].at if events else 0
    given = [event for event in events if event.at < last]
    held = events[len(given) :]
    return (given, held) if given or len(held) <= HELD else (events, [])
