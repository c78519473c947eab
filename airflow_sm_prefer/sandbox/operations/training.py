"""The operations on training jobs."""

from __future__ import annotations

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox import quotas, rules
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import in_use, invalid
from airflow_sm_prefer.sandbox.demand import training_demand
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.jobs import Jobs


class TrainingJobs(Jobs):
    """Training jobs."""

    KIND = JobKind.TRAINING
    NAMES = (
        "CreateTrainingJob",
        "DescribeTrainingJob",
        "StopTrainingJob",
        "ListTrainingJobs",
        "UpdateTrainingJob",
        "DeleteTrainingJob",
    )

    def create_training_job(self, caller: Caller, request: Request) -> Response:
        """Take in a job."""
        rules.check_training(request, self.context(caller))
        account = self.account(caller)
        demand = training_demand(request, self.engine.settings, account.plan_type)
        # Instances with storage of their own get no EBS volume, so that none of its limits concerns them.
        if not all(catalog.has_local_storage(c.instance_type) for c in demand.candidates):
            quotas.check_volume(self.KIND, request["ResourceConfig"]["VolumeSizeInGB"], self.engine.quotas)
        return self.create(caller, request, demand)

    def describe_training_job(self, caller: Caller, request: Request) -> Response:
        """Show a job."""
        return self.describe(caller, request)

    def stop_training_job(self, caller: Caller, request: Request) -> Response:
        """Stop a job."""
        return self.stop(caller, request)

    def list_training_jobs(self, caller: Caller, request: Request) -> Response:
        """List jobs."""
        return self.list(caller, request)

    def update_training_job(self, caller: Caller, request: Request) -> Response:
        """Change how a live job is profiled and debugged, or how long its instances are kept.

        Raises:
            ApiError: it has ended; there are no warm pools to keep either.
        """
        job = self.find(caller, request)
        if job.status != "InProgress":
            raise invalid(f"The request was rejected because the training job is in status {job.status}.")
        changes = {key: value for key, value in request.items() if key != "TrainingJobName"}
        kept = changes.pop("ResourceConfig", {})
        job.request |= changes | {"ResourceConfig": {**job.request["ResourceConfig"], **kept}}
        job.touch(self.engine.time.now())
        return {"TrainingJobArn": job.arn}

    def delete_training_job(self, caller: Caller, request: Request) -> Response:
        """Forget an ended job.

        Raises:
            ApiError: it is still live.
        """
        job = self.find(caller, request)
        if job.is_live:
            raise in_use(f"The training job {job.arn} is in status {job.status} and can't be deleted.")
        self.engine.delete(job)
        return {}
