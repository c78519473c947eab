"""A container's output, line by line, to CloudWatch Logs."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable
from typing import Any

from airflow_sm_prefer.clock import Clock

#: What PutLogEvents takes at once: so many events, and so many bytes, where each event counts for more than its text
#: (https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html).
MOST_EVENTS, MOST_BYTES, EVENT_BYTES = 10_000, 1_048_576, 26

#: How many bytes of text an event has at most, an event's own bytes left off 256 KB.
LONGEST_EVENT = 256 * 1024 - EVENT_BYTES

#: How long lines are gathered before they are sent, in seconds.
_GATHER = 0.2

GROUPS = {"training": "/aws/sagemaker/TrainingJobs", "processing": "/aws/sagemaker/ProcessingJobs"}


class LogStream:
    """One host's stream. Lines go out in batches from a thread; that a log can't be written never fails a job.

    Args:
        client: A boto3 logs client.
        group: The log group, made if it isn't there.
        stream: The stream's name, ``<job>/algo-1-<seconds>``.
        clock: What lines are stamped with.
    """

    def __init__(self, client: Any, group: str, stream: str, clock: Clock) -> None:
        self._client, self._group, self._stream, self._clock = client, group, stream, clock
        self._lines: queue.Queue[tuple[int, str] | None] = queue.Queue()
        #: A line that didn't fit into the last batch.
        self._held: tuple[int, str] | None = None
        self._thread = threading.Thread(target=self._send_all, name=f"log-{stream}", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Add a line; a blank one becomes a space, since CloudWatch takes no empty messages, a long one several."""
        now = int(self._clock.time() * 1000)
        for part in in_parts(line.rstrip("\n") or " "):
            self._lines.put((now, part))

    def copy(self, lines: Iterable[str]) -> None:
        """Add lines as they come, until there are no more."""
        for line in lines:
            self.write(line)

    def close(self) -> None:
        """Send what is left."""
        self._lines.put(None)
        self._thread.join()

    def _send_all(self) -> None:
        with contextlib.suppress(Exception):
            self._client.create_log_group(logGroupName=self._group)
        with contextlib.suppress(Exception):
            self._client.create_log_stream(logGroupName=self._group, logStreamName=self._stream)
        while (batch := self._gather()) is not None:
            self._send(batch)

    def _gather(self) -> list[tuple[int, str]] | None:
        """Wait for a line, and take those that follow closely; None when there will be no more."""
        first = self._held or self._lines.get()
        self._held = None
        if first is None:
            return None
        batch, room = [first], MOST_BYTES - _size(first)
        while len(batch) < MOST_EVENTS:
            try:
                following = self._lines.get(timeout=_GATHER)
            except queue.Empty:
                break
            if following is None:
                self._lines.put(None)
                break
            room -= _size(following)
            if room < 0:
                self._held = following
                break
            batch.append(following)
        return batch

    def _send(self, batch: list[tuple[int, str]]) -> None:
        events = [{"timestamp": at, "message": line} for at, line in batch]
        with contextlib.suppress(Exception):
            self._client.put_log_events(logGroupName=self._group, logStreamName=self._stream, logEvents=events)


def in_parts(line: str) -> list[str]:
    """Cut a line into parts that are events' size, between characters."""
    encoded = line.encode()
    parts, start = [], 0
    while len(encoded) - start > LONGEST_EVENT:
        part = encoded[start : start + LONGEST_EVENT].decode(errors="ignore")
        parts.append(part)
        start += len(part.encode())
    return [*parts, encoded[start:].decode()]


def _size(event: tuple[int, str]) -> int:
    return EVENT_BYTES + len(event[1].encode())
