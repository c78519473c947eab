"""What one account has of AWS Batch in one Region."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch.objects import DELETING, Environment, Managed, Queue, QuotaShare, SchedulingPolicy
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.scheduling.snapshot import Job

M = TypeVar("M", bound=Managed)


@dataclass(slots=True)
class Estate:
    """Environments, queues, policies, quota shares and service jobs of one account in one Region.

    Attributes:
        caller: Whose it is, and where.
        environments: By ARN.
        queues: By ARN.
        policies: By ARN.
        shares: By ARN.
        jobs: By id, ended ones included.
        live: Those of them that have not ended, by queue.
        tokens: The id of the job that each clientToken was for.
        seen: How policies see the live jobs, by id; made anew when it is another.
    """

    caller: Caller
    environments: dict[str, Environment] = field(default_factory=dict)
    queues: dict[str, Queue] = field(default_factory=dict)
    policies: dict[str, SchedulingPolicy] = field(default_factory=dict)
    shares: dict[str, QuotaShare] = field(default_factory=dict)
    jobs: dict[str, ServiceJob] = field(default_factory=dict)
    live: dict[str, dict[str, ServiceJob]] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)
    seen: dict[str, Job] = field(default_factory=dict)

    def arn(self, kind: str, name: str) -> str:
        """Return the ARN of something of that kind and name."""
        return f"arn:aws:batch:{self.caller.region}:{self.caller.account}:{kind}/{name}"

    def environment(self, named: str) -> Environment:
        """Return a service environment by its name or ARN.

        Raises:
            ApiError: there is none.
        """
        return _found(self.environments, self._full("service-environment", named), f"ServiceEnvironment {named}")

    def queue(self, named: str) -> Queue:
        """Return a job queue by its name or ARN.

        Raises:
            ApiError: there is none.
        """
        return _found(self.queues, self._full("job-queue", named), f"JobQueue {named}")

    def share(self, arn: str) -> QuotaShare:
        """Return a quota share by its ARN.

        Raises:
            ApiError: there is none.
        """
        return _found(self.shares, arn, f"QuotaShare {arn}")

    def policy(self, arn: str) -> SchedulingPolicy:
        """Return a scheduling policy by its ARN.

        Raises:
            ApiError: there is none.
        """
        if arn not in self.policies:
            raise client_error(f"SchedulingPolicy {arn} does not exist")
        return self.policies[arn]

    def job(self, named: str) -> ServiceJob:
        """Return a service job by its id or ARN.

        Raises:
            ApiError: there is none.
        """
        job_id = named.removeprefix(self.arn("service-job", ""))
        if job_id not in self.jobs:
            raise client_error(f"Service job {named} does not exist")
        return self.jobs[job_id]

    def policy_of(self, queue: Queue) -> SchedulingPolicy | None:
        """Return a queue's scheduling policy, None if it is first in, first out."""
        return None if queue.policy is None else self.policies[queue.policy]

    def shares_of(self, queue: Queue) -> list[QuotaShare]:
        """Return the quota shares of a queue."""
        return [share for share in self.shares.values() if share.queue == queue.arn]

    def queues_on(self, environment: Environment) -> list[Queue]:
        """Return the queues that use an environment."""
        return [queue for queue in self.queues.values() if queue.environment == environment.arn]

    def live_in(self, queue: Queue) -> Iterable[ServiceJob]:
        """Return the jobs of a queue that have not ended."""
        return list(self.live.get(queue.arn, {}).values())

    def add_job(self, job: ServiceJob) -> None:
        """Have one more service job."""
        self.jobs[job.job_id] = job
        if job.is_live:
            self.live.setdefault(job.queue, {})[job.job_id] = job

    def note_end(self, job: ServiceJob) -> None:
        """Know a job as ended."""
        self.live.get(job.queue, {}).pop(job.job_id, None)
        self.seen.pop(job.job_id, None)

    def document(self) -> list[Any]:
        """Return all but the jobs, as JSON can hold it."""
        held = (self.environments, self.queues, self.policies, self.shares)
        return [self.caller.account, self.caller.region, *(encode(list(kind.values())) for kind in held)]

    @classmethod
    def read(cls, document: list[Any]) -> Estate:
        """Return what a document holds."""
        account, region, environments, queues, policies, shares = document
        estate = cls(Caller(account, region))
        estate.environments = {one["arn"]: decode(Environment, one) for one in environments}
        estate.queues = {one["arn"]: decode(Queue, one) for one in queues}
        estate.policies = {one["arn"]: decode(SchedulingPolicy, one) for one in policies}
        estate.shares = {one["arn"]: decode(QuotaShare, one) for one in shares}
        return estate

    def let_go(self, elapsed: float) -> bool:
        """Forget whatever has been deleted by now; tells whether anything was.

        Queues and quota shares stay until all their jobs have ended.
        """
        held = (self.environments, self.queues, self.shares)
        if not any(one.is_going for kind in held for one in kind.values()):
            return False
        gone = [self._forget_settled(self.environments, elapsed)]
        idle_queues = {arn: queue for arn, queue in self.queues.items() if not self.live.get(arn)}
        gone.append(self._forget_settled(self.queues, elapsed, idle_queues))
        busy = {(job.queue, job.share) for jobs in self.live.values() for job in jobs.values()}
        idle = {arn: share for arn, share in self.shares.items() if (share.queue, share.name) not in busy}
        gone.append(self._forget_settled(self.shares, elapsed, idle))
        return any(gone)

    def _forget_settled(self, held: dict[str, M], elapsed: float, among: dict[str, M] | None = None) -> bool:
        gone = [
            arn
            for arn, one in (held if among is None else among).items()
            if one.change == DELETING and one.settles <= elapsed
        ]
        for arn in gone:
            del held[arn]
        return bool(gone)

    def _full(self, kind: str, named: str) -> str:
        return named if named.startswith("arn:") else self.arn(kind, named)


def _found(held: dict[str, M], arn: str, what: str) -> M:
    if arn not in held:
        raise client_error(f"{what} does not exist")
    return held[arn]
