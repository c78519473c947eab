"""Environments, queues, policies and quota shares: what they may be, and in which order they come and go."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.batch.bench import BatchBench, submission
from tests.unit.sandbox.builders import CPU, G5, P4D, P5

QUOTA = {"idleResourceAssignmentStrategy": "FIFO"}
ORDER = [{"order": 1, "serviceEnvironment": "environment"}]
LIMIT = {"reason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", "state": "RUNNABLE", "maxTimeSeconds": 600}


def refused(bench: BatchBench, operation: str, **request: Any) -> str:
    with pytest.raises(ApiError) as caught:
        bench.call(operation, request)
    assert caught.value.code == "ClientException"
    return caught.value.message


def environment(*limits: tuple[str, int], name: str = "environment") -> dict[str, Any]:
    return {
        "serviceEnvironmentName": name,
        "serviceEnvironmentType": "SAGEMAKER_TRAINING",
        "capacityLimits": [{"capacityUnit": unit, "maxCapacity": count} for unit, count in limits],
    }


def queue(**more: Any) -> dict[str, Any]:
    return {"jobQueueName": "queue", "priority": 1, "serviceEnvironmentOrder": ORDER} | more


class TestEnvironments:
    @pytest.mark.parametrize(
        ("limits", "message"),
        [
            ([], "at least one entry"),
            ([("vCPU", 1)], "neither NUM_INSTANCES nor an instance type"),
            ([(G5, 1), (G5, 2)], "twice"),
            ([("NUM_INSTANCES", 1), (G5, 2)], "can't have instance types beside NUM_INSTANCES"),
            ([("NUM_INSTANCES", -1)], "must be 0 or more"),
        ],
    )
    def test_limits_are_of_all_instances_or_by_type(self, limits, message):
        assert message in refused(BatchBench(), "CreateServiceEnvironment", **environment(*limits))

    def test_a_name_is_used_once_and_there_are_fifty_at_most(self):
        bench = BatchBench()
        bench.environment(NUM_INSTANCES=1)
        again = environment(("NUM_INSTANCES", 1))
        assert refused(bench, "CreateServiceEnvironment", **again) == "Object already exists"
        for number in range(49):
            bench.environment(f"e{number}", NUM_INSTANCES=1)
        assert "limit of 50" in refused(bench, "CreateServiceEnvironment", **again | {"serviceEnvironmentName": "x"})

    def test_it_is_disabled_and_unused_before_it_is_deleted(self):
        bench = BatchBench()
        bench.fifo()
        delete = {"serviceEnvironment": "environment"}
        assert "found existing JobQueue relationship" in refused(bench, "DeleteServiceEnvironment", **delete)
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "state": "DISABLED"})
        bench.call("DeleteJobQueue", {"jobQueue": "fifo"})
        bench.advance(1)
        assert "must be DISABLED first" in refused(bench, "DeleteServiceEnvironment", **delete)
        bench.call("UpdateServiceEnvironment", {**delete, "state": "DISABLED"})
        bench.call("DeleteServiceEnvironment", delete)
        bench.advance(1)
        assert "does not exist" in refused(bench, "DeleteServiceEnvironment", **delete)

    def test_the_units_of_one_in_use_stay_of_their_sort(self):
        bench = BatchBench()
        bench.fifo()
        limits = environment((G5, 1))["capacityLimits"]
        message = refused(bench, "UpdateServiceEnvironment", serviceEnvironment="environment", capacityLimits=limits)
        assert "don't fit its job queue" in message


class TestQueues:
    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"priority": 1001}, "priority must be between 0 and 1000"),
            ({"serviceEnvironmentOrder": ORDER * 2}, "exactly one service environment"),
            ({"serviceEnvironmentOrder": []}, "exactly one service environment"),
            ({"serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "other"}]}, "other does not exist"),
            ({"computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ec2"}]}, "no other order"),
            ({"schedulingPolicyArn": "arn:aws:batch:nowhere"}, "does not exist"),
            ({"jobStateTimeLimitActions": [LIMIT | {"action": "CANCEL"}]}, "must be TERMINATE"),
            (
                {"jobStateTimeLimitActions": [LIMIT | {"action": "TERMINATE", "maxTimeSeconds": 599}]},
                "maxTimeSeconds must be between 600 and 86400",
            ),
            ({"jobStateTimeLimitActions": [LIMIT | {"action": "TERMINATE", "reason": "x"}]}, "not supported"),
        ],
    )
    def test_a_queue_has_one_environment_and_known_limits(self, more, message):
        bench = BatchBench()
        bench.environment(NUM_INSTANCES=1)
        assert message in refused(bench, "CreateJobQueue", **queue(**more))

    def test_units_fit_the_algorithm(self):
        bench = BatchBench()
        bench.environment(NUM_INSTANCES=1)
        bench.environment("types", G5=1)
        managed = bench.call("CreateSchedulingPolicy", {"name": "m", "quotaSharePolicy": QUOTA})["arn"]
        message = refused(bench, "CreateJobQueue", **queue(schedulingPolicyArn=managed))
        assert "whose capacityUnits are instance types" in message
        order = [{"order": 1, "serviceEnvironment": "types"}]
        assert "with NUM_INSTANCES" in refused(bench, "CreateJobQueue", **queue(serviceEnvironmentOrder=order))

    def test_an_environment_with_quota_management_serves_one_queue(self):
        bench = BatchBench()
        bench.managed()
        arn = bench.call("ListSchedulingPolicies")["schedulingPolicies"][0]["arn"]
        assert "serves one job queue" in refused(bench, "CreateJobQueue", **queue(schedulingPolicyArn=arn))

    def test_a_policy_is_replaced_by_one_of_its_sort_and_never_given_to_a_queue_without(self):
        bench = BatchBench()
        bench.fair()
        bench.queue("fifo")
        other = bench.call("CreateSchedulingPolicy", {"name": "other", "fairsharePolicy": {}})["arn"]
        managed = bench.call("CreateSchedulingPolicy", {"name": "m", "quotaSharePolicy": QUOTA})["arn"]
        bench.call("UpdateJobQueue", {"jobQueue": "fair", "schedulingPolicyArn": other})
        message = refused(bench, "UpdateJobQueue", jobQueue="fair", schedulingPolicyArn=managed)
        assert "can't be changed" in message
        message = refused(bench, "UpdateJobQueue", jobQueue="fifo", schedulingPolicyArn=other)
        assert "can't get one" in message
        assert "existing JobQueue" in refused(bench, "DeleteSchedulingPolicy", arn=other)
        bench.call("DeleteSchedulingPolicy", {"arn": managed})

    def test_it_is_disabled_and_without_quota_shares_before_it_is_deleted(self):
        bench = BatchBench()
        bench.managed()
        bench.share("red")
        assert "existing QuotaShare" in refused(bench, "DeleteJobQueue", jobQueue="managed")
        bench.environment("second", NUM_INSTANCES=1)
        bench.queue("other", "second")
        assert "must be DISABLED first" in refused(bench, "DeleteJobQueue", jobQueue="other")

    def test_there_are_fifty_at_most(self):
        bench = BatchBench()
        bench.fifo()
        for number in range(49):
            bench.queue(f"q{number}")
        assert "limit of 50" in refused(bench, "CreateJobQueue", **queue())

    def test_another_environment_takes_over(self):
        bench = BatchBench()
        bench.fifo()
        bench.environment("wide", NUM_INSTANCES=3)
        ids = [bench.submit() for _ in range(3)]
        order = [{"order": 1, "serviceEnvironment": "wide"}]
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "serviceEnvironmentOrder": order})
        assert bench.statuses(*ids) == ["RUNNING"] * 3


class TestPolicies:
    @pytest.mark.parametrize(
        ("policy", "message"),
        [
            ({}, "one of fairsharePolicy and quotaSharePolicy"),
            ({"fairsharePolicy": {}, "quotaSharePolicy": QUOTA}, "one of"),
            ({"fairsharePolicy": {"shareDecaySeconds": 604_801}}, "shareDecaySeconds"),
            ({"fairsharePolicy": {"computeReservation": 100}}, "computeReservation must be between 0 and 99"),
            ({"fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "a-b"}]}}, "not valid"),
            (
                {"fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "a", "weightFactor": 0.0}]}},
                "weightFactor",
            ),
            (
                {
                    "fairsharePolicy": {
                        "shareDistribution": [{"shareIdentifier": "User*"}, {"shareIdentifier": "User1"}]
                    }
                },
                "overlap",
            ),
            ({"quotaSharePolicy": {"idleResourceAssignmentStrategy": "LIFO"}}, "enum value set"),
        ],
    )
    def test_a_policy_is_for_one_algorithm_and_within_bounds(self, policy, message):
        assert message in refused(BatchBench(), "CreateSchedulingPolicy", name="policy", **policy)

    def test_its_algorithm_is_final(self):
        bench = BatchBench()
        arn = bench.call("CreateSchedulingPolicy", {"name": "a", "fairsharePolicy": {}})["arn"]
        message = refused(bench, "UpdateSchedulingPolicy", arn=arn, quotaSharePolicy=QUOTA)
        assert "can't be changed" in message
        bench.call("UpdateSchedulingPolicy", {"arn": arn, "fairsharePolicy": {"computeReservation": 9}})
        (shown,) = bench.call("DescribeSchedulingPolicies", {"arns": [arn, "other"]})["schedulingPolicies"]
        assert shown["fairsharePolicy"] == {"computeReservation": 9}


class TestQuotaShares:
    def request(self, **more: Any) -> dict[str, Any]:
        return {
            "quotaShareName": "red",
            "jobQueue": "managed",
            "capacityLimits": [{"maxCapacity": 1, "capacityUnit": G5}],
            "resourceSharingConfiguration": {"strategy": "LEND"},
            "preemptionConfiguration": {"inSharePreemption": "DISABLED"},
        } | more

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            ({"capacityLimits": []}, "at least one"),
            ({"capacityLimits": [{"maxCapacity": 0, "capacityUnit": G5}]}, "must be 1 or more"),
            ({"capacityLimits": [{"maxCapacity": 1, "capacityUnit": "NUM_INSTANCES"}]}, "must be an instance type"),
            (
                {
                    "capacityLimits": [
                        {"maxCapacity": 1, "capacityUnit": unit}
                        for unit in (G5, P5, P4D, CPU, "ml.g6.xlarge", "ml.c5.xlarge")
                    ]
                },
                "at most 5",
            ),
            ({"resourceSharingConfiguration": {"strategy": "LEND", "borrowLimit": 5}}, "only be specified with"),
            ({"resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW", "borrowLimit": -2}}, "must be -1"),
            ({"jobQueue": "fifo"}, "has no quota share scheduling policy"),
        ],
    )
    def test_its_limits_are_by_type_and_only_borrowers_have_a_borrow_limit(self, more, message):
        bench = BatchBench()
        bench.managed()
        bench.environment("second", NUM_INSTANCES=1)
        bench.queue("fifo", "second")
        assert message in refused(bench, "CreateQuotaShare", **self.request(**more))

    def test_a_queue_has_twenty_at_most(self):
        bench = BatchBench()
        bench.managed()
        for number in range(20):
            bench.share(f"s{number}")
        assert "limit of 20 quota shares" in refused(bench, "CreateQuotaShare", **self.request())


class TestDelay:
    def test_changes_settle_after_a_while_if_a_setting_says_so(self):
        bench = BatchBench(settings={"batch_object_seconds": 30})
        bench.environment(NUM_INSTANCES=1)
        bench.queue()

        def statuses() -> list[str]:
            environments = bench.call("DescribeServiceEnvironments")["serviceEnvironments"]
            return [one["status"] for one in [*environments, *bench.call("DescribeJobQueues")["jobQueues"]]]

        assert statuses() == ["CREATING", "CREATING"]
        bench.advance(30)
        assert statuses() == ["VALID", "VALID"]
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "state": "DISABLED"})
        assert statuses() == ["VALID", "UPDATING"]
        bench.advance(30)
        bench.call("DeleteJobQueue", {"jobQueue": "fifo"})
        assert statuses() == ["VALID", "DELETING"]
        bench.advance(30)
        assert statuses() == ["VALID"]


def test_what_is_being_deleted_can_not_be_changed_or_used():
    bench = BatchBench(settings={"batch_object_seconds": 30})
    bench.environment(NUM_INSTANCES=1)
    bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "state": "DISABLED"})
    bench.call("DeleteServiceEnvironment", {"serviceEnvironment": "environment"})
    for operation in ("UpdateServiceEnvironment", "DeleteServiceEnvironment"):
        assert "is being deleted" in refused(bench, operation, serviceEnvironment="environment")
    assert "is not VALID" in refused(bench, "CreateJobQueue", **queue())


def test_a_share_needs_a_queue_that_is_there():
    bench = BatchBench(settings={"batch_object_seconds": 30})
    bench.managed()
    request = TestQuotaShares().request()
    assert "is not VALID" in refused(bench, "CreateQuotaShare", **request)


def test_a_resource_has_fifty_tags_at_most():
    bench = BatchBench()
    bench.fifo()
    arn = bench.queue("other")
    bench.call("TagResource", {"resourceArn": arn, "tags": {str(number): "" for number in range(50)}})
    assert "at most 50 tags" in refused(bench, "TagResource", resourceArn=arn, tags={"more": ""})
    assert "reserved" in refused(bench, "TagResource", resourceArn=arn, tags={"AWS:more": ""})
    assert "does not exist" in refused(bench, "ListTagsForResource", resourceArn=f"{arn}-none")
    assert "does not exist" in refused(bench, "DescribeServiceJob", jobId="none")


def test_a_queue_and_a_share_that_are_still_being_created_take_no_jobs():
    bench = BatchBench(settings={"batch_object_seconds": 30})
    bench.managed()
    request = submission(queue="managed", quotaShareName="red")
    assert "is not VALID" in refused(bench, "SubmitServiceJob", **request)
    bench.advance(30)
    bench.share("red")
    assert "doesn't accept jobs" in refused(bench, "SubmitServiceJob", **request)
    bench.advance(30)
    assert bench.status(bench.submit(queue="managed", quotaShareName="red")) == "RUNNING"


def test_everybody_has_their_own():
    bench = BatchBench()
    bench.fifo()
    for caller in (Caller("111122223333", "us-east-1"), Caller("123456789012", "eu-west-1")):
        assert bench.call("DescribeJobQueues", {}, caller)["jobQueues"] == []
