"""Service jobs of AWS Batch as the sandbox lists them, in the words that the other jobs are told of in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tests.e2e.reruns.sandbox_process import QUEUES, batch_client

Span = tuple[float, float | None]
"""When a job came, and when it ended, in epoch seconds; None for one that has not."""


class ServiceJobs:
    """The jobs in all queues of a sandbox. Safe for threads."""

    def __init__(self, endpoint_url: str) -> None:
        self._client = batch_client(endpoint_url)

    def of(self, marker: str, since: float) -> list[dict[str, Any]]:
        """Return the jobs with a marker in their names that were submitted since an instant, the first one first."""
        rows = [row for queue in QUEUES for row in self._rows(queue, since) if f"{marker}-" in row["jobName"]]
        return [_seen(row) for row in sorted(rows, key=lambda row: int(row["createdAt"]))]

    def _rows(self, queue: str, since: float) -> Iterator[dict[str, Any]]:
        after = [{"name": "AFTER_CREATED_AT", "values": [str(int(since * 1000))]}]
        pages = self._client.get_paginator("list_service_jobs").paginate(jobQueue=queue, filters=after)
        for page in pages:
            yield from page["jobSummaryList"]


def _seen(row: dict[str, Any]) -> dict[str, Any]:
    status = _status(row)
    return {
        "name": row["jobName"],
        "status": status,
        "live": status == "InProgress",
        "span": (row["createdAt"] / 1000, row["stoppedAt"] / 1000 if "stoppedAt" in row else None),
    }


def _status(row: dict[str, Any]) -> str:
    if row["status"] == "FAILED":
        return "Stopped" if row["isTerminated"] else "Failed"
    return "Completed" if row["status"] == "SUCCEEDED" else "InProgress"


def spans(states: Iterable[dict[str, Any]]) -> dict[str, Span]:
    """Return when SageMaker's own jobs were live, by name, from the state entries of the sandbox's record."""
    found: dict[str, Span] = {}
    for entry in states:
        began, _ = found.get(entry["name"], (entry["at"], None))
        found[entry["name"]] = began, None if entry["live"] else entry["at"]
    return found


def most_at_once(jobs: Iterable[Span]) -> int:
    """Return how many jobs were ever live at one instant; one that comes as another ends was not."""
    changes = [(at, change) for began, ended in jobs for at, change in ((began, 1), (ended, -1)) if at is not None]
    most = live = 0
    for _, change in sorted(changes):
        live += change
        most = max(most, live)
    return most
