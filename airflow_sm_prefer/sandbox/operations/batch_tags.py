"""The operations on tags of what AWS Batch has."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.rules import check_tags
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations


class BatchTags(BatchOperations):
    """Tags of service environments, job queues, scheduling policies, quota shares and service jobs."""

    NAMES = ("TagResource", "UntagResource", "ListTagsForResource")

    def tag_resource(self, caller: Caller, request: Request) -> Response:
        """Add tags, or replace their values.

        Raises:
            ApiError: there is no such resource, a key is reserved, or it would have too many.
        """
        tags = self._tags(caller, request)
        check_tags(request["tags"])
        check_tags(tags | request["tags"])
        tags.update(request["tags"])
        self._note(caller, request)
        return {}

    def untag_resource(self, caller: Caller, request: Request) -> Response:
        """Take tags away; those that it doesn't have are no error."""
        tags = self._tags(caller, request)
        for key in request["tagKeys"]:
            tags.pop(key, None)
        self._note(caller, request)
        return {}

    def list_tags_for_resource(self, caller: Caller, request: Request) -> Response:
        """List tags."""
        return {"tags": dict(self._tags(caller, request))}

    def _tags(self, caller: Caller, request: Request) -> dict[str, str]:
        arn, estate = request["resourceArn"], self.estate(caller)
        job = self._job(caller, arn)
        if job is not None:
            return job.tags
        for held in (estate.environments, estate.queues, estate.policies, estate.shares):
            if arn in held:
                tags: dict[str, str] = held[arn].tags
                return tags
        raise client_error(f"Resource {arn} does not exist")

    def _note(self, caller: Caller, request: Request) -> None:
        job = self._job(caller, request["resourceArn"])
        if job is None:
            self.engine.keeper.world_changed()
        else:
            self.engine.keeper.service_job_changed(job)

    def _job(self, caller: Caller, arn: str) -> ServiceJob | None:
        estate = self.estate(caller)
        return estate.jobs.get(arn.removeprefix(estate.arn("service-job", "")))
