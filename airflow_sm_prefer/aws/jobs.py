"""Training and processing jobs at AWS: the calls that we make, the same for both kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from airflow_sm_prefer.aws.dates import date_of
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.paced import Calls
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock, utc
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import PAGE, Page, Question

_NOTHING_TO_STOP = frozenset({FailureKind.BENIGN_STOP, FailureKind.NOT_FOUND})


class JobsApi:
    """The calls about jobs of one kind, paced, with one exception for whatever goes wrong.

    Safe for threads, as boto3 clients are. Every method blocks, sleeping first for its turn: call it from a
    thread where there is an event loop. Every method may raise
    :class:`~airflow_sm_prefer.aws.failures.CallFailed`.
    """

    def __init__(self, client: Any, kind: JobKind, pacing: Pacing, clock: Clock) -> None:
        """Take a SageMaker client, whose retry mode the caller has set.

        Args:
            client: A boto3 ``sagemaker`` client.
            kind: The kind of job.
            pacing: The buckets of the client's account and Region.
            clock: What a turn is waited for with.
        """
        self.kind = kind
        self.pacing = pacing
        self._call = Calls(client, pacing, clock)

    def create(self, request: Mapping[str, Any]) -> str:
        """Create a job and return its ARN.

        The SDK may repeat a create that had no answer. If the first attempt did reach AWS, the second is
        refused (``IN_USE``, or ``LIMIT_EXCEEDED`` by our own job's doing) and the failure says ``no_answer``:
        whose the job of that name is, its tags tell.
        """
        arn: str = self._call(f"Create{self.kind.word}Job", **request)[self.kind.arn_key]
        return arn

    def describe(self, name: str) -> dict[str, Any]:
        """Return AWS's Describe response; a job that AWS doesn't know is a ``NOT_FOUND`` failure."""
        return self._call(f"Describe{self.kind.word}Job", **{self.kind.name_key: name})

    def find(self, name: str, queue: str | None = None) -> dict[str, Any] | None:
        """Return what AWS says of the job of a name; None if it knows none. These jobs are in no queue."""
        if queue is not None:
            return None
        try:
            return self.describe(name)
        except CallFailed as failed:
            if failed.failure.kind is FailureKind.NOT_FOUND:
                return None
            raise

    def queues(self) -> list[str]:
        """Return the names of all job queues: these jobs are in none."""
        return []

    def stop(self, name: str, why: str = "") -> bool:
        """Ask for a job's end; it may take minutes to come.

        Args:
            name: The job.
            why: Nothing that SageMaker would show anywhere.

        Returns:
            True where AWS took it; False where there is nothing to stop: the job is over, or AWS doesn't know
            it.
        """
        del why
        try:
            self._call(f"Stop{self.kind.word}Job", **{self.kind.name_key: name})
        except CallFailed as failed:
            if failed.failure.kind in _NOTHING_TO_STOP:
                return False
            raise
        return True

    def tags(self, arn: str) -> dict[str, str]:
        """Return a job's tags, which Describe doesn't show."""
        pages = self._pages("ListTags", ResourceArn=arn)
        return {tag["Key"]: tag["Value"] for page in pages for tag in page.get("Tags", ())}

    def add_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a job, or change them."""
        self._call("AddTags", ResourceArn=arn, Tags=[{"Key": key, "Value": value} for key, value in tags.items()])

    def summaries(
        self, *, created_after: datetime, name_contains: str | None = None, status: str | None = None
    ) -> Iterator[dict[str, Any]]:
        """List jobs, newest first, a page at a time as they are asked for.

        Args:
            created_after: The bound that keeps AWS from paging through the account's whole history; there is
                no listing without it.
            name_contains: What the names contain.
            status: The status that they have, such as ``InProgress``.
        """
        wanted = {"NameContains": name_contains, "StatusEquals": status}
        pages = self._pages(
            f"List{self.kind.word}Jobs",
            CreationTimeAfter=created_after,
            SortBy="CreationTime",
            SortOrder="Descending",
            **{key: value for key, value in wanted.items() if value},
        )
        for page in pages:
            yield from page.get(f"{self.kind.word}JobSummaries", ())

    def listed(self, *, created_after: datetime, name_contains: str, status: str | None = None) -> Iterator[Listed]:
        """List jobs whose names contain something; see :meth:`summaries`."""
        found = self.summaries(created_after=created_after, name_contains=name_contains, status=status)
        return (Listed.from_summary(self.kind, row) for row in found)

    def page(self, question: Question, queue: str | None = None) -> Page:
        """Return one page of a listing, newest first. These jobs are in no queue."""
        assert queue is None
        times = {
            "CreationTimeAfter": question.created_after,
            "CreationTimeBefore": question.created_before,
            "LastModifiedTimeAfter": question.modified_after,
        }
        words = {"NameContains": question.name_contains, "NextToken": question.token}
        answer = self._call(
            f"List{self.kind.word}Jobs",
            MaxResults=PAGE,
            SortBy="CreationTime",
            SortOrder="Descending",
            **{key: utc(instant) for key, instant in times.items() if instant is not None},
            **{key: word for key, word in words.items() if word},
        )
        rows = answer.get(f"{self.kind.word}JobSummaries") or ()
        listed = tuple(Listed.from_summary(self.kind, row) for row in rows)
        return Page(listed, answer.get("NextToken") or None, date_of(answer))

    def list_names(
        self, *, created_after: datetime, name_contains: str | None = None, status: str | None = None
    ) -> Iterator[str]:
        """List jobs' names; see :meth:`summaries`."""
        found = self.summaries(created_after=created_after, name_contains=name_contains, status=status)
        return (row[self.kind.name_key] for row in found)

    def _pages(self, operation: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        token: str | None = None
        while True:
            more = {"NextToken": token} if token else {}
            page = self._call(operation, MaxResults=PAGE, **parameters, **more)
            yield page
            token = page.get("NextToken")
            if not token:
                return
