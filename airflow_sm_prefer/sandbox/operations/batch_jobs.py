"""The operations on service jobs."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch import job_rules, shown
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.listing import paged, wanted
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations
from airflow_sm_prefer.sandbox.settings import TokenRepeat

MOST_TERMINATED = 50
"""How many jobs one TerminateServiceJobs may name."""


class ServiceJobs(BatchOperations):
    """Service jobs."""

    NAMES = (
        "SubmitServiceJob",
        "DescribeServiceJob",
        "ListServiceJobs",
        "TerminateServiceJob",
        "TerminateServiceJobs",
        "UpdateServiceJob",
    )

    def submit_service_job(self, caller: Caller, request: Request) -> Response:
        """Take in a job; its payload is kept as it is, and not looked at before it is dispatched.

        Raises:
            ApiError: a parameter of Batch's own is wrong, the queue doesn't take the job, or the token was used.
        """
        estate = self.estate(caller)
        job_rules.check_request(request)
        known = self._known(estate, request)
        if known is not None:
            return _submitted(known)
        queue = estate.queue(request["jobQueue"])
        job_rules.check_queue(estate, queue, request, self.elapsed)
        instance_type, instances = job_rules.needs(request, self.engine.settings.batch_preferences)
        now = self.engine.time.now()
        job_id = str(self.dispatcher.new_id())
        job = ServiceJob(
            account=caller.account,
            region=caller.region,
            number=self.dispatcher.next_number(),
            job_id=job_id,
            arn=estate.arn("service-job", job_id),
            request=request,
            queue=queue.arn,
            instance_type=instance_type,
            instances=instances,
            created=now.instant,
            arrived=now.elapsed,
            priority=request.get("schedulingPriority"),
            tags=dict(request.get("tags", {})),
        )
        if "clientToken" in request:
            estate.tokens[request["clientToken"]] = job_id
        self.dispatcher.accept(estate, job)
        return _submitted(job)

    def describe_service_job(self, caller: Caller, request: Request) -> Response:
        """Show a job, by its id or ARN."""
        return shown.describe(self.estate(caller).job(request["jobId"]))

    def list_service_jobs(self, caller: Caller, request: Request) -> Response:
        """List jobs of a queue, the latest first.

        Raises:
            ApiError: there is no such queue, or a filter isn't one.
        """
        estate = self.estate(caller)
        if "jobQueue" not in request:
            raise client_error("jobQueue must be specified")
        queue = estate.queue(request["jobQueue"])
        found = wanted((job for job in estate.jobs.values() if job.queue == queue.arn), request)
        page, token = paged(found, request, lambda job: job.number)
        return without_none({"jobSummaryList": [shown.summary(job) for job in page], "nextToken": token})

    def terminate_service_job(self, caller: Caller, request: Request) -> Response:
        """Terminate a job; one that has ended stays as it is.

        Raises:
            ApiError: there is none.
        """
        job = self.estate(caller).job(request["jobId"])
        self.dispatcher.lives.terminate(job, request["reason"], self.engine.time.now())
        return {}

    def terminate_service_jobs(self, caller: Caller, request: Request) -> Response:
        """Terminate jobs; those that can't be found count as done (TerminateServiceJobs).

        Raises:
            ApiError: there are too many.
        """
        if not 1 <= len(request["jobs"]) <= MOST_TERMINATED:
            raise client_error(f"jobs must have between 1 and {MOST_TERMINATED} entries")
        estate, now = self.estate(caller), self.engine.time.now()
        for named in request["jobs"]:
            job = estate.jobs.get(named.removeprefix(estate.arn("service-job", "")))
            if job is not None:
                self.dispatcher.lives.terminate(job, request["reason"], now)
        return {"successful": list(request["jobs"]), "errors": []}

    def update_service_job(self, caller: Caller, request: Request) -> Response:
        """Change a job's scheduling priority.

        Raises:
            ApiError: there is none, it has ended, or the priority is out of range.
        """
        estate = self.estate(caller)
        job = estate.job(request["jobId"])
        job_rules.check_priority(request["schedulingPriority"])
        if not job.is_live:
            raise client_error(f"Service job {job.job_id} has ended: it is {job.status}")
        job.priority = request["schedulingPriority"]
        self.engine.keeper.service_job_changed(job)
        if job.queue in estate.queues:
            self.dispatcher.stir(estate, estate.queues[job.queue].environment)
        return _submitted(job)

    def _known(self, estate: Estate, request: Request) -> ServiceJob | None:
        """Return the job that a request's token was for, None for a new one.

        "The second request is rejected" is all that AWS says, of identical payloads; nothing is said of other ones.

        Raises:
            ApiError: the token was used, and the setting refuses it.
        """
        job_id = estate.tokens.get(request.get("clientToken", ""))
        if job_id is None:
            return None
        if self.engine.settings.batch_token_repeat is TokenRepeat.REFUSED:
            raise client_error(f"A service job with the clientToken {request['clientToken']} was already submitted")
        return estate.jobs[job_id]


def _submitted(job: ServiceJob) -> Response:
    return {"jobArn": job.arn, "jobName": job.name, "jobId": job.job_id}
