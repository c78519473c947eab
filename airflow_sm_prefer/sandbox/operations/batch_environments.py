"""The operations on service environments."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import client_error
from airflow_sm_prefer.sandbox.batch import rules, shown
from airflow_sm_prefer.sandbox.batch.listing import paged
from airflow_sm_prefer.sandbox.batch.making import make_environment
from airflow_sm_prefer.sandbox.batch.objects import Environment
from airflow_sm_prefer.sandbox.describe import without_none
from airflow_sm_prefer.sandbox.operations.base import Request, Response
from airflow_sm_prefer.sandbox.operations.batch_base import BatchOperations


class ServiceEnvironments(BatchOperations):
    """Service environments."""

    NAMES = (
        "CreateServiceEnvironment",
        "DescribeServiceEnvironments",
        "UpdateServiceEnvironment",
        "DeleteServiceEnvironment",
    )

    def create_service_environment(self, caller: Caller, request: Request) -> Response:
        """Make an environment.

        Raises:
            ApiError: the name is used or not a name, there are too many, or a limit isn't one.
        """
        environment = make_environment(self.estate(caller), request)
        self.note_new(environment)
        return _named(environment)

    def describe_service_environments(self, caller: Caller, request: Request) -> Response:
        """Show environments: all, or those that are named; names of none are passed over."""
        estate = self.estate(caller)
        found = list(estate.environments.values())
        if request.get("serviceEnvironments"):
            wanted = set(request["serviceEnvironments"])
            found = [one for one in found if {one.name, one.arn} & wanted]
        page, token = paged(sorted(found, key=lambda one: one.arn), request, lambda one: one.arn)
        elapsed = self.elapsed
        shown_page = [shown.environment(one, elapsed) for one in page]
        return without_none({"serviceEnvironments": shown_page, "nextToken": token})

    def update_service_environment(self, caller: Caller, request: Request) -> Response:
        """Enable or disable an environment, or change its limits; whoever has instances keeps them.

        Raises:
            ApiError: there is none, it is being deleted, or a limit isn't one.
        """
        estate = self.estate(caller)
        environment = estate.environment(request["serviceEnvironment"])
        rules.refuse_going(environment, "ServiceEnvironment")
        if "capacityLimits" in request:
            limits = rules.read_limits(request["capacityLimits"])
            if estate.queues_on(environment) and (rules.NUM_INSTANCES in limits) != (
                rules.NUM_INSTANCES in environment.limits
            ):
                raise client_error(f"The capacityUnits of ServiceEnvironment {environment.arn} don't fit its job queue")
            environment.limits = limits
        environment.state = request.get("state", environment.state)
        self.note_update(environment)
        self.dispatcher.stir(estate, environment.arn)
        return _named(environment)

    def delete_service_environment(self, caller: Caller, request: Request) -> Response:
        """Delete an environment.

        Raises:
            ApiError: there is none, it is enabled, or a queue uses it.
        """
        estate = self.estate(caller)
        environment = estate.environment(request["serviceEnvironment"])
        if estate.queues_on(environment):
            raise client_error("Cannot delete, found existing JobQueue relationship")
        self.begin_deletion(environment, "ServiceEnvironment")
        return {}


def _named(environment: Environment) -> Response:
    return {"serviceEnvironmentName": environment.name, "serviceEnvironmentArn": environment.arn}
