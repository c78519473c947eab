"""What one account has in one Region."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from airflow_sm_prefer.sandbox.api_errors import not_found
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.plans import Plan, PlanSpec, plan_arn
from airflow_sm_prefer.sandbox.quotas import Use


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose request it is, and where it goes."""

    account: str
    region: str


@dataclass(slots=True)
class Account:
    """The jobs and plans of one account in one Region.

    Attributes:
        caller: Whose it is and where.
        jobs: By kind and name, ended ones included.
        plans: By ARN.
        usage: Instances that live jobs count against quotas with, by quota key.
    """

    caller: Caller
    jobs: dict[tuple[JobKind, str], Job] = field(default_factory=dict)
    plans: dict[str, Plan] = field(default_factory=dict)
    usage: Counter[str] = field(default_factory=Counter)

    def job(self, kind: JobKind, name: str) -> Job:
        """Return a job by its name.

        Raises:
            ApiError: there is none.
        """
        try:
            return self.jobs[kind, name]
        except KeyError:
            raise not_found() from None

    def jobs_of(self, kind: JobKind) -> Iterable[Job]:
        """Return every job of a kind, in order of arrival."""
        return (job for job in self.jobs.values() if job.kind is kind)

    def job_by_arn(self, arn: str) -> Job | None:
        """Return the job with that ARN, if it is one of ours."""
        resource = arn.rpartition(":")[2]
        kind, _, name = resource.partition("/")
        kinds = {"training-job": JobKind.TRAINING, "processing-job": JobKind.PROCESSING}
        return self.jobs.get((kinds[kind], name)) if kind in kinds else None

    def plan_type(self, arn: str) -> str | None:
        """Return the instance type of a plan, None for an unknown one."""
        plan = self.plans.get(arn)
        return None if plan is None else plan.spec.instance_type

    def add_plan(self, spec: PlanSpec) -> Plan:
        """Own one more plan; one of the same name is replaced."""
        arn = plan_arn(self.caller.region, self.caller.account, spec.name)
        self.plans[arn] = Plan(spec, arn)
        return self.plans[arn]

    def count(self, job: Job, uses: tuple[Use, ...]) -> None:
        """Replace what a job of the account counts against quotas."""
        for use in job.counted:
            self.usage[use.quota] -= use.count
        for use in uses:
            self.usage[use.quota] += use.count
        job.counted = uses

    def job_arn(self, kind: JobKind, name: str) -> str:
        """Return the ARN that a job of that name has."""
        return f"arn:aws:sagemaker:{self.caller.region}:{self.caller.account}:{kind.value}-job/{name}"
