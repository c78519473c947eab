"""The operations on quota shares."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.batch import rules, shown
from airflow_sm_prefer.sandbox.batch.listing import paged
from airflow_sm_prefer.sandbox.batch.making import make_share
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations

DELETED = "Terminated: the quota share was deleted"


class QuotaShares(BatchOperations):
    """Quota shares."""

    NAMES = ("CreateQuotaShare", "DescribeQuotaShare", "ListQuotaShares", "UpdateQuotaShare", "DeleteQuotaShare")

    def create_quota_share(self, caller: Caller, request: Request) -> Response:
        """Make a quota share of a queue.

        Raises:
            ApiError: the queue isn't there, isn't VALID or has no quota management; the name is used or not a name; or
                there are too many.
        """
        estate = self.estate(caller)
        share = make_share(estate, request, self.elapsed)
        self.note_new(share)
        self.dispatcher.stir(estate, estate.queues[share.queue].environment)
        return {"quotaShareName": share.name, "quotaShareArn": share.arn}

    def describe_quota_share(self, caller: Caller, request: Request) -> Response:
        """Show a quota share."""
        share = self.estate(caller).share(request["quotaShareArn"])
        return shown.share(share, self.elapsed) | {"tags": dict(share.tags)}

    def list_quota_shares(self, caller: Caller, request: Request) -> Response:
        """List the quota shares of a queue."""
        estate = self.estate(caller)
        found = sorted(estate.shares_of(estate.queue(request["jobQueue"])), key=lambda one: one.arn)
        page, token = paged(found, request, lambda one: one.arn)
        elapsed = self.elapsed
        return without_none({"quotaShares": [shown.share(one, elapsed) for one in page], "nextToken": token})

    def update_quota_share(self, caller: Caller, request: Request) -> Response:
        """Change a quota share; jobs that are above a lowered limit may be preempted.

        Raises:
            ApiError: there is none, it is being deleted, or a value isn't allowed.
        """
        estate = self.estate(caller)
        share = estate.share(request["quotaShareArn"])
        rules.refuse_going(share, "QuotaShare")
        sharing = request.get("resourceSharingConfiguration")
        if sharing is not None:
            rules.check_sharing(sharing)
        if "capacityLimits" in request:
            limits = rules.read_limits(request["capacityLimits"], least=1)
            rules.check_share_limits(limits)
            share.limits = limits
        if sharing is not None:
            share.strategy = sharing["strategy"]
            share.borrow_limit = sharing.get("borrowLimit", rules.NO_BORROW_LIMIT)
        if "preemptionConfiguration" in request:
            share.in_share_preemption = request["preemptionConfiguration"]["inSharePreemption"]
        share.state = request.get("state", share.state)
        self.note_update(share)
        self.dispatcher.stir(estate, estate.queues[share.queue].environment)
        return {"quotaShareName": share.name, "quotaShareArn": share.arn}

    def delete_quota_share(self, caller: Caller, request: Request) -> Response:
        """Delete a quota share; its jobs are terminated, and it is there until they have ended.

        Raises:
            ApiError: there is none, or it is enabled.
        """
        estate = self.estate(caller)
        share = estate.share(request["quotaShareArn"])
        self.begin_deletion(share, "QuotaShare")
        now = self.engine.time.now()
        for job in estate.live_in(estate.queues[share.queue]):
            if job.share == share.name:
                self.dispatcher.lives.terminate(job, DELETED, now)
        return {}
