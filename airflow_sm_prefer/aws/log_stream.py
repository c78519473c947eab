"""A job's own output, from CloudWatch."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, FailureKind, classify
from airflow_sm_prefer.aws.log_groups import stream_prefix

log = logging.getLogger(__name__)

#: Lines that one call of :meth:`LogReader.read` returns at most; those after them come with the next.
LINES_PER_READ: Final = 10_000

_HOST: Final = re.compile(r"algo-\d+")

#: A job without capacity has no log yet, and what passes by itself isn't worth a word.
_UNREMARKABLE: Final = frozenset({FailureKind.NOT_FOUND, FailureKind.THROTTLED})


@dataclass(slots=True)
class _Stream:
    """One host's stream, and how far it was read."""

    name: str
    token: str | None = None

    @property
    def host(self) -> str:
        found = _HOST.search(self.name.rpartition("/")[2])
        return found.group(0) if found else self.name.rpartition("/")[2]


@dataclass(slots=True)
class _Batch:
    """What one read has gathered: instants, hosts and lines."""

    room: int
    events: list[tuple[int, str, str]] = field(default_factory=list)

    def take(self, stream: _Stream, page: dict[str, Any]) -> None:
        events = page.get("events", ())
        self.room -= len(events)
        self.events += [(event["timestamp"], stream.host, event["message"]) for event in events]

    def lines(self, *, with_hosts: bool) -> list[str]:
        ordered = sorted(self.events, key=lambda event: event[0])
        return [f"[{host}] {line}" if with_hosts else line for _, host, line in ordered]


class LogReader:
    """Reads what a job has logged since it was last asked.

    A log is worth having and never worth a failure: a log group that isn't there yet, a role that may not read it or
    a network that is down give no lines, and what a person should know is said once, in the module's log.
    """

    def __init__(self, client: Any, group: str, job_name: str) -> None:
        """Take a boto3 ``logs`` client, and which job's streams to read in which group."""
        self._client = client
        self._group = group
        self._job_name = job_name
        self._streams: dict[str, _Stream] = {}
        self._given_up = False
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
        return batch.lines(with_hosts=len(self._streams) > 1)

    def _gather(self, batch: _Batch) -> None:
        for name in self._stream_names():
            self._streams.setdefault(name, _Stream(name))
        for stream in self._streams.values():
            while batch.room > 0 and self._read_page(stream, batch):
                pass

    def _read_page(self, stream: _Stream, batch: _Batch) -> bool:
        """Read the next page of a stream; False when it is read to its present end."""
        since = {"nextToken": stream.token} if stream.token else {}
        page = self._call(
            "GetLogEvents",
            logGroupName=self._group,
            logStreamName=stream.name,
            startFromHead=True,
            limit=min(batch.room, 10_000),
            **since,
        )
        batch.take(stream, page)
        # At its end a stream gives back the token that it was given.
        before, stream.token = stream.token, page.get("nextForwardToken")
        return stream.token is not None and stream.token != before

    def _stream_names(self) -> Iterator[str]:
        token: str | None = None
        while True:
            more = {"nextToken": token} if token else {}
            page = self._call(
                "DescribeLogStreams",
                logGroupName=self._group,
                logStreamNamePrefix=stream_prefix(self._job_name),
                **more,
            )
            yield from (stream["logStreamName"] for stream in page.get("logStreams", ()))
            token = page.get("nextToken")
            if not token:
                return

    def _call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        call = self._client.get_log_events if operation == "GetLogEvents" else self._client.describe_log_streams
        try:
            response: dict[str, Any] = call(**parameters)
        except CALL_ERRORS as error:
            raise CallFailed(classify(error, operation)) from error
        return response

    def _note(self, failed: CallFailed) -> None:
        """Say once what keeps the log away; where asking again is of no use, don't."""
        known, self.problem = self.problem, str(failed)
        self._given_up = failed.failure.kind is FailureKind.DENIED
        if known is None and failed.failure.kind not in _UNREMARKABLE:
            log.warning("The log of %s in %s can't be read: %s", self._job_name, self._group, failed)
