"""A job's own output, from CloudWatch."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_sm_prefer.aws.calls import call
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.log_groups import stream_prefix
from airflow_sm_prefer.placement.handed import NOTHING, Handed
from airflow_sm_prefer.placement.log_cursors import HOLD, host_of

log = logging.getLogger(__name__)

#: Lines that one call of :meth:`LogReader.read` returns at most; those after them come with the next.
LINES_PER_READ: Final = 10_000

#: How far before the instant that it is to begin at a reader looks for lines that came late, in milliseconds.
_LATE: Final = 300_000

#: A job without capacity has no log yet, and what passes by itself isn't worth a word.
_UNREMARKABLE: Final = frozenset({FailureKind.NOT_FOUND, FailureKind.THROTTLED})


@dataclass(slots=True)
class _Stream:
    """One host's stream, how far it was read, and from when on its lines are wanted; None for all."""

    name: str
    since: int | None = None
    token: str | None = None

    def wants(self, event: dict[str, Any]) -> bool:
        """Whether a line has not been handed out by who read before: it is younger, or came too late for that."""
        since = self.since
        return since is None or event["timestamp"] >= since or event.get("ingestionTime", 0) > since + HOLD


@dataclass(slots=True)
class _Batch:
    """What one read has gathered: instants, hosts and lines."""

    room: int
    events: list[tuple[int, str, str]] = field(default_factory=list)

    def take(self, stream: _Stream, page: dict[str, Any]) -> None:
        wanted = [event for event in page.get("events", ()) if stream.wants(event)]
        self.room -= len(wanted)
        self.events += [(event["timestamp"], host_of(stream.name), event["message"]) for event in wanted]

    def lines(self, *, with_hosts: bool) -> list[str]:
        ordered = sorted(self.events, key=lambda event: event[0])
        return [f"[{host}] {line}" if with_hosts else line for _, host, line in ordered]


class LogReader:
    """Reads what a job has logged since it was last asked.

    A log is worth having and never worth a failure: a log group that isn't there yet, a role that may not read it or
    a network that is down give no lines, and what a person should know is said once, in the module's log.
    """

    def __init__(self, client: Any, group: str, job_name: str, since: Handed = NOTHING) -> None:
        """Take a client, and what to read.

        Args:
            client: A boto3 ``logs`` client.
            group: The log group.
            job_name: The job.
            since: What was handed out while the task was deferred, and isn't read again.
        """
        self._client = client
        self._group = group
        self._job_name = job_name
        self._since = since
        self._streams: dict[str, _Stream] = {}
        self._given_up = False
        self._is_behind = False
        #: Why there may be lines missing, in words; None while all goes well.
        self.problem: str | None = None

    def read(self, *, limit: int = LINES_PER_READ) -> list[str]:
        """Return the lines since the last call, in the order of their time.

        A job on several hosts has each line begin with its host: ``[algo-2] …``.

        Args:
            limit: About how many lines at most; a page of a stream is never split.
        """
        batch = _Batch(limit)
        if not self._given_up:
            try:
                self._gather(batch)
                self.problem = None
            except CallFailed as failed:
                self._note(failed)
        self._is_behind = batch.room <= 0 or (self.problem is not None and bool(batch.events))
        return batch.lines(with_hosts=len(self._streams) > 1)

    def rest(self) -> Iterator[str]:
        """Give all lines since the last call; a read that came to the end of every stream is the last one."""
        yield from self.read()
        while self._is_behind:
            yield from self.read()

    def _gather(self, batch: _Batch) -> None:
        for shown in self._shown_streams():
            name, created = shown["logStreamName"], shown.get("creationTime", 0)
            self._streams.setdefault(name, _Stream(name, self._since.until(name, created)))
        for stream in self._streams.values():
            while batch.room > 0 and self._read_page(stream, batch):
                pass

    def _read_page(self, stream: _Stream, batch: _Batch) -> bool:
        """Read the next page of a stream; False when it is read to its present end."""
        where: dict[str, Any] = {"nextToken": stream.token} if stream.token else {}
        if stream.since is not None:
            where["startTime"] = max(0, stream.since - _LATE)
        page = call(
            self._client.get_log_events,
            logGroupName=self._group,
            logStreamName=stream.name,
            startFromHead=True,
            limit=min(batch.room, 10_000),
            **where,
        )
        batch.take(stream, page)
        # At its end a stream gives back the token that it was given.
        before, stream.token = stream.token, page.get("nextForwardToken")
        return stream.token is not None and stream.token != before

    def _shown_streams(self) -> Iterator[dict[str, Any]]:
        token: str | None = None
        while True:
            more = {"nextToken": token} if token else {}
            page = call(
                self._client.describe_log_streams,
                logGroupName=self._group,
                logStreamNamePrefix=stream_prefix(self._job_name),
                **more,
            )
            yield from page.get("logStreams", ())
            token = page.get("nextToken")
            if not token:
                return

    def _note(self, failed: CallFailed) -> None:
        """Say once what keeps the log away; where asking again is of no use, don't."""
        known, self.problem = self.problem, str(failed)
        self._given_up = failed.failure.kind is FailureKind.DENIED
        if known is None and failed.failure.kind not in _UNREMARKABLE:
            log.warning("The log of %s in %s can't be read: %s", self._job_name, self._group, failed)
