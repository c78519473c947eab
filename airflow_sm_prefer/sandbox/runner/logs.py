"""A container's output, line by line, to CloudWatch Logs."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Iterable
from typing import Any

from airflow_sm_prefer.clock import Clock

#: PutLogEvents takes 10,000 events and 1 MB
#: (https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html).
_MOST_EVENTS = 1000
_LONGEST_LINE = 32_000

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
        self._thread = threading.Thread(target=self._send_all, name=f"log-{stream}", daemon=True)
        self._thread.start()

    def write(self, line: str) -> None:
        """Add a line; a blank one becomes a space, since CloudWatch takes no empty messages."""
        self._lines.put((int(self._clock.time() * 1000), line.rstrip("\n")[:_LONGEST_LINE] or " "))

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
        first = self._lines.get()
        if first is None:
            return None
        batch = [first]
        while len(batch) < _MOST_EVENTS:
            try:
                following = self._lines.get(timeout=_GATHER)
            except queue.Empty:
                break
            if following is None:
                self._lines.put(None)
                break
            batch.append(following)
        return batch

    def _send(self, batch: list[tuple[int, str]]) -> None:
        events = [{"timestamp": at, "message": line} for at, line in batch]
        with contextlib.suppress(Exception):
            self._client.put_log_events(logGroupName=self._group, logStreamName=self._stream, logEvents=events)
