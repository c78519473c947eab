"""Service jobs of AWS Batch: the calls that we make.

Batch has one exception for all that a caller does wrong, ClientException, and says in words what it was. Names of
service jobs aren't unique; what keeps a job from being submitted twice is its client token
(https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from airflow_sm_prefer.aws.dates import date_of
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.paced import Calls
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import PAGE, Page, Question

#: The statuses of a job that isn't over.
LIVE_STATUSES: Final = ("SUBMITTED", "PENDING", "RUNNABLE", "SCHEDULED", "STARTING", "RUNNING")

#: How long the reason of a termination may be for people to read it.
_WHY_LENGTH = 500

_DEFAULT_WHY = "airflow_sm_prefer: the task has no use for it any more."


class ServiceJobsApi:
    """The calls about service jobs, paced; every method may raise :class:`CallFailed`."""

    def __init__(self, client: Any, pacing: Pacing, clock: Clock) -> None:
        """Take a boto3 ``batch`` client; see :class:`Calls`."""
        self._call = Calls(client, pacing, clock)

    def submit(self, request: Mapping[str, Any]) -> str:
        """Submit a job and return its ARN. AWS takes a client token once, and rejects the next that comes with it."""
        answer = self._call("SubmitServiceJob", **request)
        try:
            arn: str = answer.get("jobArn") or self.describe(answer["jobId"])["jobArn"]
        except CallFailed as failed:
            # The job is there, whatever keeps us from seeing it.
            raise CallFailed(replace(failed.failure, kind=FailureKind.SERVER, no_answer=True)) from failed
        return arn

    def describe(self, job: str) -> dict[str, Any]:
        """Return AWS's Describe response of a job, by its ARN or id."""
        return self._call("DescribeServiceJob", jobId=job)

    def named(self, name: str, queue: str) -> dict[str, Any] | None:
        """Return AWS's Describe response of the newest job of a name in a queue; None if there is none."""
        filters = [{"name": "JOB_NAME", "values": [name]}]
        try:
            rows = [
                row for row in self._rows(jobQueue=queue, filters=filters) if row["jobName"].lower() == name.lower()
            ]
        except CallFailed as failed:
            if failed.failure.kind is FailureKind.NOT_FOUND:
                return None  # the queue is gone
            raise
        newest = max(rows, key=lambda row: row.get("createdAt") or 0, default=None)
        return self.describe(newest["jobId"]) if newest else None

    def live(self, queue: str) -> Iterator[dict[str, Any]]:
        """Give a row for each job in a queue that isn't over, status by status."""
        for status in LIVE_STATUSES:
            yield from self._rows(jobQueue=queue, jobStatus=status)

    def created(self, queue: str, after: float) -> Iterator[dict[str, Any]]:
        """Give a row for each job in a queue that was created after an instant, whatever its status; newest first."""
        filters = [{"name": "AFTER_CREATED_AT", "values": [str(int(after * 1000))]}]
        return self._rows(jobQueue=queue, filters=filters)

    def page(self, queue: str, question: Question) -> Page:
        """Return one page of a queue's jobs, whatever their status; newest first."""
        after = [{"name": "AFTER_CREATED_AT", "values": [str(int(question.created_after * 1000))]}]
        more = {"nextToken": question.token} if question.token else {}
        answer = self._call("ListServiceJobs", jobQueue=queue, filters=after, maxResults=PAGE, **more)
        rows = tuple(Listed.from_service_job(row) for row in answer.get("jobSummaryList") or ())
        return Page(rows, answer.get("nextToken") or None, date_of(answer))

    def queues(self) -> list[str]:
        """Return the names of all job queues for training jobs."""
        rows = self._call.rows("DescribeJobQueues", "jobQueues")
        return [row["jobQueueName"] for row in rows if row.get("jobQueueType") == "SAGEMAKER_TRAINING"]

    def front(self, queue: str) -> list[list[str]]:
        """Return the ARNs of those who are next in a queue: a list for the queue, or one for each quota share.

        Batch shows the first hundred of a queue, in the order in which they are to be dispatched, and the first of each
        quota share.
        """
        shown = self._call("GetJobQueueSnapshot", jobQueue=queue)
        shares = (shown.get("frontOfQuotaShares") or {}).get("quotaShares") or {}
        rows = [(shown.get("frontOfQueue") or {}).get("jobs") or [], *shares.values()]
        return [[row["jobArn"] for row in jobs] for jobs in rows]

    def terminate(self, job: str, why: str = "") -> bool:
        """Ask for a job's end, whatever its status.

        Args:
            job: Its ARN or id.
            why: The reason that Batch is to show.

        Returns:
            True where AWS took it; False where there is no such job.
        """
        try:
            self._call("TerminateServiceJob", jobId=job, reason=(why or _DEFAULT_WHY)[:_WHY_LENGTH])
        except CallFailed as failed:
            if failed.failure.kind in {FailureKind.BENIGN_STOP, FailureKind.NOT_FOUND}:
                return False
            raise
        return True

    def tags(self, arn: str) -> dict[str, str]:
        """Return a job's tags."""
        tags: dict[str, str] = self._call("ListTagsForResource", resourceArn=arn).get("tags", {})
        return tags

    def add_tags(self, arn: str, tags: Mapping[str, str]) -> None:
        """Add tags to a job, or change them."""
        self._call("TagResource", resourceArn=arn, tags=dict(tags))

    def _rows(self, **parameters: Any) -> Iterator[dict[str, Any]]:
        return self._call.rows("ListServiceJobs", "jobSummaryList", maxResults=PAGE, **parameters)
