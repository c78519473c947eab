"""Training and processing jobs at AWS: the calls that we make, the same for both kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any

from airflow_sm_prefer.aws.attempts import AttemptLog
from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, FailureKind, classify
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import JobKind

_PAGE = 100  # the most that ListTrainingJobs, ListProcessingJobs and ListTags give at once
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
        self._client = client
        self._pacing = pacing
        self._clock = clock
        self._attempts = AttemptLog(client)

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

    def stop(self, name: str) -> bool:
        """Ask for a job's end; it may take minutes to come.

        Returns:
            True where AWS took it; False where there is nothing to stop: the job is over, or AWS doesn't know
            it.
        """
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
            page = self._call(operation, MaxResults=_PAGE, **parameters, **more)
            yield page
            token = page.get("NextToken")
            if not token:
                return

    def _call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        self._clock.sleep(self._pacing.acquire(operation))
        self._attempts.begin()
        try:
            response: dict[str, Any] = _method(self._client, operation)(**parameters)
        except CALL_ERRORS as error:
            failure = classify(error, operation, doubtful=self._attempts.doubtful)
            if failure.kind is FailureKind.THROTTLED:
                self._pacing.throttled(operation)
            raise CallFailed(failure) from error
        return response


def _method(client: Any, operation: str) -> Callable[..., dict[str, Any]]:
    """Return the client's method for an operation: ``create_training_job`` for ``CreateTrainingJob``."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)
    method: Callable[..., dict[str, Any]] = getattr(client, snake.lstrip("_"))
    return method
