"""Rows of AWS Batch's become pieces, with AWS's defaults filled in."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.aws.queues_there import (
    QueuesReader,
    Standing,
    environment_of,
    name_in,
    policy_of,
    queue_of,
    share_of,
)
from airflow_sm_prefer.model.queues import FairShare, JobQueue, QuotaShare, SchedulingPolicy, ServiceEnvironment

ARN = "arn:aws:batch:us-east-1:123456789012:"
SHARE = {
    "quotaShareName": "search",
    "quotaShareArn": f"{ARN}job-queue/g5/quota-share/search",
    "jobQueueArn": f"{ARN}job-queue/g5",
    "capacityLimits": [{"capacityUnit": "ml.g5.xlarge", "maxCapacity": 4}],
    "resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW"},
    "preemptionConfiguration": {"inSharePreemption": "ENABLED"},
}


def test_an_environment_without_a_state_is_enabled():
    row = {"serviceEnvironmentName": "p5", "capacityLimits": [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 8}]}
    assert environment_of(row) == ServiceEnvironment("p5", {"NUM_INSTANCES": 8})
    assert environment_of(row | {"state": "DISABLED"}).enabled is False


@pytest.mark.parametrize(
    ("policy", "share"),
    [
        ({"fairsharePolicy": {}}, FairShare({})),
        ({"fairsharePolicy": {"shareDecaySeconds": 0}}, FairShare({}, decay=600)),
        ({"fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "a"}]}}, FairShare({"a": 1.0})),
        (
            {
                "fairsharePolicy": {
                    "shareDecaySeconds": 60,
                    "computeReservation": 5,
                    "shareDistribution": [{"shareIdentifier": "a*", "weightFactor": 0.5}],
                }
            },
            FairShare({"a*": 0.5}, 60, 5),
        ),
        ({"quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}, None),
    ],
)
def test_a_policy_has_aws_s_defaults(policy, share):
    assert policy_of({"name": "teams", **policy}) == SchedulingPolicy("teams", share)


def test_a_queue_names_its_environment_and_its_policy():
    row = {
        "jobQueueName": "p5",
        "state": "ENABLED",
        "priority": 3,
        "schedulingPolicyArn": f"{ARN}scheduling-policy/teams",
        "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": f"{ARN}service-environment/p5"}],
        "jobStateTimeLimitActions": [
            {"reason": "X", "state": "RUNNABLE", "maxTimeSeconds": 600, "action": "TERMINATE"}
        ],
    }
    assert queue_of(row) == JobQueue("p5", "p5", 3, "teams", {"X": 600})


def test_a_queue_of_containers_has_no_environment():
    row = {"jobQueueName": "c", "state": "ENABLED", "priority": 1, "computeEnvironmentOrder": [{"order": 1}]}
    assert queue_of(row).environment == ""


def test_a_share_that_borrows_without_a_limit_has_none():
    assert share_of(SHARE) == QuotaShare("g5", "search", {"ml.g5.xlarge": 4}, in_share_preemption=True)


def test_a_borrow_limit_of_a_share_that_does_not_borrow_is_nothing():
    sharing = {"strategy": "LEND", "borrowLimit": 50}
    assert share_of(SHARE | {"resourceSharingConfiguration": sharing}).borrow_limit == -1


def test_a_name_and_an_arn_say_the_same():
    assert name_in(f"{ARN}job-queue/p5") == name_in("p5") == "p5"


class Client:
    """Batch with an environment that is gone, and 250 policies."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def describe_service_environments(self, **request: Any) -> dict[str, Any]:
        if request.get("serviceEnvironments"):
            return {"serviceEnvironments": []}
        gone = {
            "serviceEnvironmentName": "old",
            "serviceEnvironmentArn": "a",
            "status": "DELETED",
            "capacityLimits": [],
        }
        return {"serviceEnvironments": [gone, {**gone, "serviceEnvironmentName": "new", "status": "VALID"}]}

    def describe_job_queues(self, **_: Any) -> dict[str, Any]:
        return {"jobQueues": []}

    def list_scheduling_policies(self, **_: Any) -> dict[str, Any]:
        return {"schedulingPolicies": [{"arn": f"{ARN}scheduling-policy/{n}"} for n in range(250)]}

    def describe_scheduling_policies(self, arns: list[str]) -> dict[str, Any]:
        self.asked.append(len(arns))
        return {"schedulingPolicies": [{"name": name_in(arn), "arn": arn, "fairsharePolicy": {}} for arn in arns]}


def test_what_is_deleted_is_not_there_and_policies_are_asked_for_a_hundred_at_once():
    client = Client()
    there = QueuesReader(client).read()
    assert [environment.name for environment in there.fleet.environments] == ["new"]
    assert client.asked == [100, 100, 50]
    assert there.arn(there.fleet.policies[-1]) == f"{ARN}scheduling-policy/249"


@pytest.mark.parametrize("piece", [ServiceEnvironment("p5", {}), JobQueue("p5", "p5", 1)])
def test_what_was_just_made_and_is_not_shown_yet_is_being_created(piece):
    assert QueuesReader(Client()).standing(piece, "arn") == Standing("arn", "CREATING")
