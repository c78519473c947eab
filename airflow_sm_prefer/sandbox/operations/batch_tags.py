"""The operations on tags of what AWS Batch has."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.objects import Managed, SchedulingPolicy
from airflow_sm_prefer.sandbox.batch.rules import check_tags
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations

Tagged = ServiceJob | SchedulingPolicy | Managed


class BatchTags(BatchOperations):
    """Tags of service environments, job queues, scheduling policies, quota shares and service jobs."""

    NAMES = ("TagResource", "UntagResource", "ListTagsForResource")

    def tag_resource(self, caller: Caller, request: Request) -> Response:
        """Add tags, or replace their values.

        Raises:
            ApiError: there is no such resource, a key is reserved, or it would have too many.
        """
        tagged = self._find(caller, request)
        check_tags(request["tags"])
        tags = tagged.tags | request["tags"]
        check_tags(tags)
        self._give(tagged, tags)
        return {}

    def untag_resource(self, caller: Caller, request: Request) -> Response:
        """Take tags away; those that it doesn't have are no error."""
        tagged = self._find(caller, request)
        self._give(tagged, {key: value for key, value in tagged.tags.items() if key not in request["tagKeys"]})
        return {}

    def list_tags_for_resource(self, caller: Caller, request: Request) -> Response:
        """List tags."""
        return {"tags": dict(self._find(caller, request).tags)}

    def _find(self, caller: Caller, request: Request) -> Tagged:
        arn, estate = request["resourceArn"], self.estate(caller)
        job = estate.jobs.get(arn.removeprefix(estate.arn("service-job", "")))
        found: Tagged | None = (
            job
            or estate.environments.get(arn)
            or estate.queues.get(arn)
            or estate.policies.get(arn)
            or estate.shares.get(arn)
        )
        if found is None:
            raise client_error(f"Resource {arn} does not exist")
        return found

    def _give(self, tagged: Tagged, tags: dict[str, str]) -> None:
        """Replace tags: what was kept of the old ones is not to change with them."""
        tagged.tags = tags
        if isinstance(tagged, ServiceJob):
            self.engine.keeper.service_job_changed(tagged)
        else:
            self.engine.keeper.world_changed()
