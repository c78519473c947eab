"""The operations on training jobs."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox import quotas, rules
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import invalid
from airflow_sm_prefer.sandbox.demand import training_demand
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.jobs import Jobs
from airflow_sm_prefer.sandbox.pace import Moment

DEBUGGABLE = ("Downloading", "Training")
"""The secondary statuses in which RemoteDebugConfig can be updated (UpdateTrainingJob)."""


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
        return self.take_in(caller, request, self.engine.time.now())

    def take_in(self, caller: Caller, request: Request, now: Moment) -> Response:
        """Take in a job at a moment, by the rules of CreateTrainingJob.

        Raises:
            ApiError: the request breaks a rule, or a quota is short.
        """
        rules.check_training(request, self.context(caller))
        account = self.account(caller)
        demand = training_demand(request, self.engine.settings, account.plan_type)
        # Instances with storage of their own get no EBS volume, so that none of its limits concerns them.
        if not all(catalog.has_local_storage(c.instance_type) for c in demand.candidates):
            volume = request["ResourceConfig"]["VolumeSizeInGB"]
            quotas.check_limit(quotas.volume_quota(self.KIND), volume, self.engine.quotas)
        most = max(candidate.count for candidate in demand.candidates)
        quotas.check_limit(quotas.size_quota(spot=demand.is_spot), most, self.engine.quotas)
        return self.create(caller, request, demand, now)

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
            ApiError: it has ended, or has no container for remote debugging now; or it has no Available warm pool.
        """
        job = self.find(caller, request)
        rules.check_update(request)
        members = request.keys() - {"TrainingJobName", "ResourceConfig"}
        keep_alive = request.get("ResourceConfig", {}).get("KeepAlivePeriodInSeconds")
        if job.status != "InProgress" and (members or keep_alive is None):
            raise invalid(f"The request was rejected because the training job is in status {job.status}.")
        if keep_alive is not None:
            _refuse_without_pool(job)
            self.engine.retain(job, keep_alive, self.engine.time.now())
            return {"TrainingJobArn": job.arn}
        if "RemoteDebugConfig" in request and job.secondary not in DEBUGGABLE:
            raise invalid(
                f"RemoteDebugConfig can be updated in secondary status {' or '.join(DEBUGGABLE)} only; the training "
                f"job is in {job.secondary}."
            )
        for member in members:
            job.request[member] = _updated(job.request.get(member), request[member])
        job.touch(self.engine.time.now())
        self.engine.keeper.job_changed(job)
        return {"TrainingJobArn": job.arn}

    def delete_training_job(self, caller: Caller, request: Request) -> Response:
        """Forget an ended job."""
        return self.delete(caller, request)


def _updated(before: Any, change: Any) -> Any:
    """Return a member of a job after an update: what a structure doesn't name stays, a list is replaced."""
    return {**(before or {}), **change} if isinstance(change, dict) else change


def _refuse_without_pool(job: Job) -> None:
    # KeepAlivePeriodInSeconds can be updated when the job is complete and its pool Available (train-warm-pools).
    if job.pool is None or not job.pool.is_kept:
        raise invalid(
            "KeepAlivePeriodInSeconds can only be updated while the warm pool of the training job is Available."
        )
