"""The operations on tags of jobs."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import bad_token, invalid, not_found
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.rules import check_tags

MOST_TAGS = 50


class Tags(Operations):
    """Tags of training and processing jobs."""

    NAMES = ("ListTags", "AddTags", "DeleteTags")

    def list_tags(self, caller: Caller, request: Request) -> Response:
        """List a job's tags.

        Raises:
            ApiError: there is a token.
        """
        if "NextToken" in request:
            # A page holds 50 at least, and a job has no more: there are no tokens.
            raise bad_token()
        return {"Tags": _as_list(self._find(caller, request).tags)}

    def add_tags(self, caller: Caller, request: Request) -> Response:
        """Add tags to a job, or replace their values.

        Raises:
            ApiError: a key is reserved or comes twice, or it would have more than 50.
        """
        job = self._find(caller, request)
        check_tags(request["Tags"])
        tags = job.tags | {tag["Key"]: tag["Value"] for tag in request["Tags"]}
        if len(tags) > MOST_TAGS:
            raise invalid(f"A resource may have at most {MOST_TAGS} tags.")
        job.tags = tags
        self.engine.keeper.job_changed(job)
        return {"Tags": _as_list(tags)}

    def delete_tags(self, caller: Caller, request: Request) -> Response:
        """Take tags from a job; those it doesn't have are no error."""
        job = self._find(caller, request)
        job.tags = {key: value for key, value in job.tags.items() if key not in request["TagKeys"]}
        self.engine.keeper.job_changed(job)
        return {}

    def _find(self, caller: Caller, request: Request) -> Job:
        job = self.account(caller).job_by_arn(request["ResourceArn"])
        if job is None or job.arn != request["ResourceArn"]:
            raise not_found()
        return job


def _as_list(tags: dict[str, str]) -> list[dict[str, str]]:
    return [{"Key": key, "Value": value} for key, value in tags.items()]
