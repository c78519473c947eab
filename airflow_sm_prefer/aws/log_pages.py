"""CloudWatch Logs, a page at a time, for many jobs in few calls.

Documented: DescribeLogStreams 25 a second, FilterLogEvents 5 a second, each for an account in a Region and everybody
in it (https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/cloudwatch_limits_cwl.html).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from airflow_sm_prefer.aws.calls import call
from airflow_sm_prefer.aws.dates import date_of
from airflow_sm_prefer.aws.log_groups import stream_prefix
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.placement.log_cursors import Event


class LogPages:
    """Asks for pages of streams and of lines. Each call blocks, and raises :class:`CallFailed` where it fails."""

    def __init__(self, client: Any, clock: Clock) -> None:
        """Take a boto3 ``logs`` client, and the clock that AWS's is compared with."""
        self._client = client
        self._clock = clock
        #: How many seconds AWS's clock is ahead of this machine's, by its last answer; hosts log by AWS's.
        self.ahead = 0.0

    def streams(self, group: str, job_name: str, token: str | None) -> tuple[list[tuple[str, int]], str | None]:
        """Return a page of a job's streams, by name and the millisecond each was made in, and the next page's token."""
        page = self._page(
            self._client.describe_log_streams,
            token,
            logGroupName=group,
            logStreamNamePrefix=stream_prefix(job_name),
        )
        found = [(stream["logStreamName"], stream.get("creationTime", 0)) for stream in page.get("logStreams", ())]
        return found, page.get("nextToken")

    def events(
        self, group: str, streams: Sequence[str], start: int, end: int, token: str | None
    ) -> tuple[list[Event], str | None]:
        """Return a page of lines, oldest first, and the next page's token.

        Args:
            group: The log group.
            streams: The streams' names, a hundred at most.
            start: From which millisecond on.
            end: Before which millisecond.
            token: The next page's, as the page before gave it.
        """
        page = self._page(
            self._client.filter_log_events,
            token,
            logGroupName=group,
            logStreamNames=list(streams),
            startTime=start,
            endTime=end - 1,
        )
        return [_event(shown) for shown in page.get("events", ())], page.get("nextToken")

    def _page(self, operation: Callable[..., dict[str, Any]], token: str | None, **parameters: Any) -> dict[str, Any]:
        more = {"nextToken": token} if token else {}
        page = call(operation, **parameters, **more)
        date = date_of(page)
        if date is not None:
            self.ahead = date - self._clock.time()
        return page


def _event(shown: dict[str, Any]) -> Event:
    return Event(shown["timestamp"], shown["logStreamName"], shown["eventId"], shown["message"])
