"""The operations on job queues."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch import rules, shown
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.listing import paged
from airflow_sm_prefer.sandbox.batch.making import make_queue
from airflow_sm_prefer.sandbox.batch.objects import Queue
from airflow_sm_prefer.sandbox.batch.utilization import front_of_shares, utilization
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations

DELETED = "Terminated: the job queue was deleted"


class JobQueues(BatchOperations):
    """Job queues of the type SAGEMAKER_TRAINING."""

    NAMES = ("CreateJobQueue", "DescribeJobQueues", "UpdateJobQueue", "DeleteJobQueue", "GetJobQueueSnapshot")

    def create_job_queue(self, caller: Caller, request: Request) -> Response:
        """Make a queue.

        Raises:
            ApiError: the name is used or not a name, there are too many, or its environment and policy don't fit.
        """
        queue = make_queue(self.estate(caller), request, self.elapsed)
        self.note_new(queue)
        return {"jobQueueName": queue.name, "jobQueueArn": queue.arn}

    def describe_job_queues(self, caller: Caller, request: Request) -> Response:
        """Show queues: all, or those that are named; names of none are passed over."""
        found = list(self.estate(caller).queues.values())
        if request.get("jobQueues"):
            wanted = set(request["jobQueues"])
            found = [one for one in found if {one.name, one.arn} & wanted]
        page, token = paged(sorted(found, key=lambda one: one.arn), request, lambda one: one.arn)
        elapsed = self.elapsed
        return without_none({"jobQueues": [shown.queue(one, elapsed) for one in page], "nextToken": token})

    def update_job_queue(self, caller: Caller, request: Request) -> Response:
        """Enable or disable a queue, or change its priority, its environment, its time limits, or replace its policy.

        Raises:
            ApiError: there is none, it is being deleted, or what it is to have doesn't fit.
        """
        estate = self.estate(caller)
        queue = estate.queue(request["jobQueue"])
        rules.refuse_going(queue, "JobQueue")
        changed = self._changes(estate, queue, request)
        before = queue.environment
        for name, value in changed.items():
            setattr(queue, name, value)
        self.note_update(queue)
        for environment in {before, queue.environment}:
            self.dispatcher.stir(estate, environment)
        now = self.engine.time.now()
        for job in estate.live_in(queue):
            self.dispatcher.lives.watch_time_limit(job, now)
        return {"jobQueueName": queue.name, "jobQueueArn": queue.arn}

    def delete_job_queue(self, caller: Caller, request: Request) -> Response:
        """Delete a queue; its jobs are terminated, and it is there until they have ended.

        Raises:
            ApiError: there is none, it is enabled, or has quota shares.
        """
        estate = self.estate(caller)
        queue = estate.queue(request["jobQueue"])
        if any(not share.is_going for share in estate.shares_of(queue)):
            raise client_error("Cannot delete, found existing QuotaShare relationship")
        self.begin_deletion(queue, "JobQueue")
        now = self.engine.time.now()
        for job in estate.live_in(queue):
            self.dispatcher.lives.terminate(job, DELETED, now)
        return {}

    def get_job_queue_snapshot(self, caller: Caller, request: Request) -> Response:
        """Show the first 100 RUNNABLE jobs of a queue in order of dispatch, and what its jobs hold.

        Raises:
            ApiError: there is no such queue.
        """
        estate = self.estate(caller)
        queue = estate.queue(request["jobQueue"])
        now = self.engine.time.now()
        at = shown.milliseconds(now.instant)
        order = self.dispatcher.order(estate, queue, now)
        jobs = [(estate.jobs[job_id], shown.milliseconds(since)) for job_id, since in order.items()]
        front = [{"jobArn": job.arn, "earliestTimeAtPosition": instant} for job, instant in jobs[:100]]
        return without_none(
            {
                "frontOfQueue": {"jobs": front, "lastUpdatedAt": at},
                "frontOfQuotaShares": front_of_shares(estate, queue, jobs, at),
                "queueUtilization": utilization(estate, queue, at),
            }
        )

    def _changes(self, estate: Estate, queue: Queue, request: Request) -> dict[str, Any]:
        """Return the attributes that an update sets, once all of it is allowed."""
        changes: dict[str, Any] = {name: request[name] for name in ("state", "priority") if name in request}
        rules.check_queue_priority(request.get("priority", queue.priority))
        if request.get("computeEnvironmentOrder"):
            raise client_error("A job queue with a serviceEnvironmentOrder can't have a computeEnvironmentOrder")
        policy = estate.policy_of(queue)
        if "schedulingPolicyArn" in request:
            after = estate.policy(request["schedulingPolicyArn"])
            rules.check_replacement(queue, policy, after)
            policy, changes["policy"] = after, after.arn
        if "serviceEnvironmentOrder" in request:
            environment, order = rules.environment_of(estate, request["serviceEnvironmentOrder"])
            rules.check_units(environment, policy)
            rules.check_alone(estate, environment, policy, but=queue.arn)
            changes |= {"environment": environment.arn, "order": order}
        if "jobStateTimeLimitActions" in request:
            rules.check_time_limits(request["jobStateTimeLimitActions"])
            changes["time_limits"] = list(request["jobStateTimeLimitActions"])
        return changes
