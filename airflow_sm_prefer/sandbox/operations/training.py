"""The operations on training jobs."""

from __future__ import annotations

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox import quotas, rules
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import in_use, invalid
from airflow_sm_prefer.sandbox.demand import training_demand
from airflow_sm_prefer.sandbox.job import Job
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
        """Change how a live job is profiled and debugged, or how long the warm pool of an ended one is kept.

        Raises:
            ApiError: it has ended, or for its instances: it has no Available warm pool.
        """
        job = self.find(caller, request)
        changes = {key: value for key, value in request.items() if key != "TrainingJobName"}
        keep_alive = changes.pop("ResourceConfig", {}).get("KeepAlivePeriodInSeconds")
        if job.status != "InProgress" and (changes or keep_alive is None):
            raise invalid(f"The request was rejected because the training job is in status {job.status}.")
        if keep_alive is not None:
            self._refuse_without_pool(job)
            self.engine.retain(job, keep_alive, self.engine.time.now())
        else:
            job.request |= changes
            job.touch(self.engine.time.now())
        return {"TrainingJobArn": job.arn}

    def delete_training_job(self, caller: Caller, request: Request) -> Response:
        """Forget an ended job.

        Raises:
            ApiError: it is still live, or retains an Available warm pool.
        """
        job = self.find(caller, request)
        if job.pool is not None and job.pool.is_kept:
            raise in_use(f"The training job {job.arn} retains an Available warm pool and can't be deleted.")
        if job.is_live:
            raise in_use(f"The training job {job.arn} is in status {job.status} and can't be deleted.")
        self.engine.delete(job)
        return {}

    def _refuse_without_pool(self, job: Job) -> None:
        # KeepAlivePeriodInSeconds can be updated when the job is complete and its pool Available (train-warm-pools).
        if job.pool is None or not job.pool.is_kept:
            raise invalid(
                "KeepAlivePeriodInSeconds can only be updated while the warm pool of the training job is Available."
            )
