"""The operations on processing jobs."""

from __future__ import annotations

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox import quotas, rules
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.demand import processing_demand
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.jobs import Jobs


class ProcessingJobs(Jobs):
    """Processing jobs."""

    KIND = JobKind.PROCESSING
    NAMES = (
        "CreateProcessingJob",
        "DescribeProcessingJob",
        "StopProcessingJob",
        "ListProcessingJobs",
        "DeleteProcessingJob",
    )

    def create_processing_job(self, caller: Caller, request: Request) -> Response:
        """Take in a job."""
        rules.check_processing(request, self.context(caller))
        demand = processing_demand(request, self.engine.settings)
        if not all(catalog.has_local_storage(c.instance_type) for c in demand.candidates):
            volume = request["ProcessingResources"]["ClusterConfig"]["VolumeSizeInGB"]
            quotas.check_limit(quotas.volume_quota(self.KIND), volume, self.engine.quotas)
        return self.create(caller, request, demand, self.engine.time.now())

    def describe_processing_job(self, caller: Caller, request: Request) -> Response:
        """Show a job."""
        return self.describe(caller, request)

    def stop_processing_job(self, caller: Caller, request: Request) -> Response:
        """Stop a job."""
        return self.stop(caller, request)

    def list_processing_jobs(self, caller: Caller, request: Request) -> Response:
        """List jobs."""
        return self.list(caller, request)

    def delete_processing_job(self, caller: Caller, request: Request) -> Response:
        """Forget an ended job."""
        return self.delete(caller, request)
