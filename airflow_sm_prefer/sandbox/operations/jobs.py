"""What training and processing jobs have in common."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_sm_prefer.sandbox import quotas
from airflow_sm_prefer.sandbox.accounts import Account, Caller
from airflow_sm_prefer.sandbox.api_errors import in_use, invalid, limit_exceeded
from airflow_sm_prefer.sandbox.demand import Demand
from airflow_sm_prefer.sandbox.describe import describe, summary
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.job import Job, StopCause
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.listing import list_jobs
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.sandbox.rules import Context
from airflow_sm_prefer.sandbox.scenario import Scenario


class Jobs(Operations):
    """Create, describe, stop and list jobs of one kind."""

    KIND: JobKind

    def __init__(self, engine: Engine, scenario: Scenario) -> None:
        super().__init__(engine)
        self._scenario = scenario

    def create(self, caller: Caller, request: Request, demand: Demand, now: Moment) -> Response:
        """Take in a job whose request is valid.

        Raises:
            ApiError: the name is used, a type isn't here, or a quota is short.
        """
        account, kind = self.account(caller), self.KIND
        name = request[f"{kind.word}JobName"]
        arn = account.job_arn(kind, name)
        self._refuse_used_name(account, name, arn)
        self._refuse_missing_types(demand)
        runtime = request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 0)
        quotas.check_limit(quotas.runtime_quota(kind), runtime, self.engine.quotas)
        quotas.check(quotas.uses(kind, demand), account.usage, self.engine.quotas)
        job = Job(
            kind=kind,
            account=caller.account,
            region=caller.region,
            name=name,
            arn=arn,
            request=request,
            demand=demand,
            created=now.instant,
            arrived=now.elapsed,
            number=self.engine.next_number(),
            tags={tag["Key"]: tag["Value"] for tag in request.get("Tags", [])},
        )
        self.engine.accept(job)
        return {f"{kind.word}JobArn": arn}

    def describe(self, caller: Caller, request: Request) -> Response:
        """Return a job's present state."""
        return describe(self.find(caller, request), self.engine.clock.time())

    def stop(self, caller: Caller, request: Request) -> Response:
        """Begin to stop a live job; one that stops already goes on stopping.

        Raises:
            ApiError: it has ended.
        """
        job = self.find(caller, request)
        if not job.is_live:
            raise invalid(f"The request was rejected because the {self.KIND.value} job is in status {job.status}.")
        if job.status != "Stopping":
            self.engine.stop(job, StopCause.USER, self.engine.time.now())
        return {}

    def delete(self, caller: Caller, request: Request) -> Response:
        """Forget an ended job; its name can be used again (DeleteTrainingJob, DeleteProcessingJob).

        Raises:
            ApiError: it is still live, or retains an Available warm pool.
        """
        job = self.find(caller, request)
        if job.pool is not None and job.pool.is_kept:
            raise in_use(f"The training job {job.arn} retains an Available warm pool and can't be deleted.")
        if job.is_live:
            raise in_use(f"The {self.KIND.value} job {job.arn} is in status {job.status} and can't be deleted.")
        self.engine.delete(job)
        return {}

    def list(self, caller: Caller, request: Request) -> Response:
        """Return one page of jobs."""
        rows = self._visible(self.account(caller).jobs_of(self.KIND))
        now = self.engine.clock.time()
        page, token = list_jobs(rows, request, self.engine.settings.modified_filter)
        response: Response = {f"{self.KIND.word}JobSummaries": [summary(job, now) for job in page]}
        if token is not None:
            response["NextToken"] = token
        return response

    def context(self, caller: Caller) -> Context:
        """Return what the rules have to know."""
        elapsed = self.engine.time.now().elapsed
        return Context(self.account(caller).plans, elapsed, self._scenario.algorithms)

    def find(self, caller: Caller, request: Mapping[str, Any]) -> Job:
        """Return the job that a request names.

        Raises:
            ApiError: there is none.
        """
        return self.account(caller).job(self.KIND, request[f"{self.KIND.word}JobName"])

    def _visible(self, jobs: Iterable[Job]) -> Iterable[Job]:
        """Return what a List knows of jobs: it may lag behind Describe."""
        lag = self.engine.settings.list_delay_seconds
        if not lag:
            return jobs
        elapsed = self.engine.time.now().elapsed - lag
        return [state for job in jobs if (state := job.as_of(elapsed)) is not None]

    def _refuse_used_name(self, account: Account, name: str, arn: str) -> None:
        """AWS's text: https://github.com/aws/amazon-sagemaker-examples/pull/3108, for training jobs."""
        if (self.KIND, name) in account.jobs:
            kind = self.KIND.value
            raise in_use(
                f"{self.KIND.word} job names must be unique within an AWS account and region, and a {kind} job with "
                f"this name already exists ({arn})"
            )

    def _refuse_missing_types(self, demand: Demand) -> None:
        for candidate in demand.candidates:
            if candidate.instance_type in self._scenario.missing_types:
                resource = f"{self.KIND.value}-job/{candidate.instance_type}"
                raise limit_exceeded(f"The requested resource {resource} is not available in this region")
