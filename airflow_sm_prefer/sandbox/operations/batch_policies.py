"""The operations on scheduling policies."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch import rules, shown
from airflow_sm_prefer.sandbox.batch.listing import paged
from airflow_sm_prefer.sandbox.batch.making import make_policy
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations


class SchedulingPolicies(BatchOperations):
    """Scheduling policies."""

    NAMES = (
        "CreateSchedulingPolicy",
        "DescribeSchedulingPolicies",
        "ListSchedulingPolicies",
        "UpdateSchedulingPolicy",
        "DeleteSchedulingPolicy",
    )

    def create_scheduling_policy(self, caller: Caller, request: Request) -> Response:
        """Make a policy.

        Raises:
            ApiError: the name is used or not a name, or the policy isn't one.
        """
        policy = make_policy(self.estate(caller), request)
        self.engine.keeper.world_changed()
        return {"name": policy.name, "arn": policy.arn}

    def describe_scheduling_policies(self, caller: Caller, request: Request) -> Response:
        """Show the policies that are named; ARNs of none are passed over."""
        policies = self.estate(caller).policies
        return {"schedulingPolicies": [shown.policy(policies[arn]) for arn in request["arns"] if arn in policies]}

    def list_scheduling_policies(self, caller: Caller, request: Request) -> Response:
        """List the ARNs of all policies."""
        page, token = paged(sorted(self.estate(caller).policies), request, str)
        return without_none({"schedulingPolicies": [{"arn": arn} for arn in page], "nextToken": token})

    def update_scheduling_policy(self, caller: Caller, request: Request) -> Response:
        """Change a policy; it stays one for the same algorithm.

        Raises:
            ApiError: there is none, or the new content isn't one for it.
        """
        estate = self.estate(caller)
        policy = estate.policy(request["arn"])
        fairshare, quota_share = request.get("fairsharePolicy"), request.get("quotaSharePolicy")
        rules.check_policy(fairshare, quota_share)
        if (policy.fairshare is None) != (fairshare is None):
            raise client_error("A fairsharePolicy can't be changed to a quotaSharePolicy, nor the other way round")
        policy.fairshare, policy.quota_share = fairshare, quota_share
        self.engine.keeper.world_changed()
        for queue in estate.queues.values():
            if queue.policy == policy.arn:
                self.dispatcher.stir(estate, queue.environment)
        return {}

    def delete_scheduling_policy(self, caller: Caller, request: Request) -> Response:
        """Delete a policy.

        Raises:
            ApiError: there is none, or a queue uses it.
        """
        estate = self.estate(caller)
        policy = estate.policy(request["arn"])
        if any(queue.policy == policy.arn for queue in estate.queues.values()):
            raise client_error("Cannot delete, found existing JobQueue relationship")
        del estate.policies[policy.arn]
        self.engine.keeper.world_changed()
        return {}
