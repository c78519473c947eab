"""How job queues stand, from Batch's own answers."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from botocore.stub import Stubber

from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.aws.queues import QueuesApi
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.queues import Policy, QueueStatus, QuotaShare

P5 = "ml.p5.48xlarge"
POLICY = "arn:aws:batch:us-west-2:123456789012:scheduling-policy/fair"


@pytest.fixture
def api(stub: Stubber) -> QueuesApi:
    clock = FakeClock()
    return QueuesApi(stub.client, Pacing(clock), clock)


def arn(name: str) -> str:
    return f"arn:aws:batch:us-west-2:123456789012:job-queue/{name}"


def queue(name: str = "p5", **more: Any) -> dict[str, Any]:
    values = {
        "jobQueueName": name,
        "jobQueueArn": arn(name),
        "jobQueueType": "SAGEMAKER_TRAINING",
        "state": "ENABLED",
        "status": "VALID",
        "priority": 1,
        "computeEnvironmentOrder": [],
        "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": f"{name}-env"}],
    }
    return {**values, **more}


def answers(stub: Stubber, *queues: dict[str, Any], asked: list[str] | None = None) -> None:
    names = asked or [found["jobQueueName"] for found in queues]
    stub.add_response("describe_job_queues", {"jobQueues": list(queues)}, {"jobQueues": names})


def has_limits(stub: Stubber, name: str = "p5", state: str = "ENABLED", **limits: int) -> None:
    environment = {
        "serviceEnvironmentName": f"{name}-env",
        "serviceEnvironmentArn": f"arn:{name}-env",
        "serviceEnvironmentType": "SAGEMAKER_TRAINING",
        "state": state,
        "capacityLimits": [{"capacityUnit": unit, "maxCapacity": most} for unit, most in limits.items()],
    }
    stub.add_response(
        "describe_service_environments",
        {"serviceEnvironments": [environment]},
        {"serviceEnvironments": [f"{name}-env"]},
    )


def has_policy(stub: Stubber, **kind: Any) -> None:
    stub.add_response(
        "describe_scheduling_policies",
        {"schedulingPolicies": [{"name": "policy", "arn": POLICY, **kind}]},
        {"arns": [POLICY]},
    )


def share(name: str, state: str = "ENABLED", **sharing: Any) -> dict[str, Any]:
    written = {"resourceSharingConfiguration": sharing} if sharing else {}
    return {
        "quotaShareName": name,
        "state": state,
        "capacityLimits": [{"capacityUnit": P5, "maxCapacity": 4}],
        **written,
    }


def test_a_queue_without_a_policy_goes_by_arrival(api: QueuesApi, stub: Stubber) -> None:
    answers(stub, queue())
    has_limits(stub, NUM_INSTANCES=3)
    assert api.read(["p5"]) == {"p5": QueueStatus("p5", policy=Policy.FIFO, limits={"NUM_INSTANCES": 3})}


def test_a_fair_share_queue_has_no_quota_shares(api: QueuesApi, stub: Stubber) -> None:
    answers(stub, queue(schedulingPolicyArn=POLICY))
    has_policy(stub, fairsharePolicy={"shareDistribution": []})
    has_limits(stub, NUM_INSTANCES=3)
    status = api.read(["p5"])["p5"]
    assert status is not None
    assert (status.policy, status.shares) == (Policy.FAIR_SHARE, None)


def test_quota_shares_have_what_they_may_borrow(api: QueuesApi, stub: Stubber) -> None:
    answers(stub, queue(schedulingPolicyArn=POLICY))
    has_policy(stub, quotaSharePolicy={"idleResourceAssignmentStrategy": "FIFO"})
    has_limits(stub, **{P5: 10})
    rows = [
        share("all", strategy="LEND_AND_BORROW", borrowLimit=-1),
        share("unsaid", strategy="LEND_AND_BORROW"),
        share("half", strategy="LEND_AND_BORROW", borrowLimit=50),
        share("part", strategy="LEND_AND_BORROW", borrowLimit=49),
        share("lends", strategy="LEND"),
    ]
    stub.add_response("list_quota_shares", {"quotaShares": rows, "nextToken": "t"}, {"jobQueue": "p5"})
    more = [share("keeps", strategy="RESERVE", borrowLimit=-1), share("bare"), share("off", "DISABLED")]
    stub.add_response("list_quota_shares", {"quotaShares": more}, {"jobQueue": "p5", "nextToken": "t"})
    status = api.read(["p5"])["p5"]
    assert status is not None
    limits = {P5: 4}
    assert status.shares == {
        "all": QuotaShare("all", limits, {}),
        "unsaid": QuotaShare("unsaid", limits, {}),
        "half": QuotaShare("half", limits, {P5: 6}),
        "part": QuotaShare("part", limits, {P5: 5}),
        "lends": QuotaShare("lends", limits, {P5: 4}),
        "keeps": QuotaShare("keeps", limits, {P5: 4}),
        "bare": QuotaShare("bare", limits, {P5: 4}),
        "off": QuotaShare("off", limits, {P5: 4}, is_open=False),
    }


def test_a_queue_is_found_by_the_name_or_the_arn_that_it_was_asked_for_by(api: QueuesApi, stub: Stubber) -> None:
    answers(stub, queue("a"), queue("b"), asked=["a", arn("b"), "c"])
    has_limits(stub, "a", NUM_INSTANCES=1)
    has_limits(stub, "b", NUM_INSTANCES=2)
    found = api.read(["a", arn("b"), "c"])
    assert list(found) == ["a", arn("b"), "c"]
    assert found["c"] is None
    assert found[arn("b")] == QueueStatus("b", policy=Policy.FIFO, limits={"NUM_INSTANCES": 2})


@pytest.mark.parametrize(
    ("more", "closed"),
    [
        ({"state": "DISABLED"}, "it is disabled. Enable it"),
        ({"status": "INVALID", "statusReason": "no environment"}, "it is INVALID. no environment"),
        ({"status": "DELETING"}, "it is DELETING."),
        ({"status": "UPDATING"}, ""),
        ({"status": "CREATING"}, ""),
    ],
)
def test_a_queue_that_takes_no_jobs_says_why(api: QueuesApi, stub: Stubber, more: dict[str, Any], closed: str) -> None:
    answers(stub, queue(**more))
    has_limits(stub, NUM_INSTANCES=3)
    status = api.read(["p5"])["p5"]
    assert status is not None
    assert status.closed == closed


@pytest.mark.parametrize(
    ("state", "paused"), [("DISABLED", "its service environment 'p5-env' is disabled. Enable it"), ("ENABLED", "")]
)
def test_a_queue_whose_environment_is_disabled_takes_jobs_and_begins_none(
    api: QueuesApi, stub: Stubber, state: str, paused: str
) -> None:
    answers(stub, queue())
    has_limits(stub, state=state, NUM_INSTANCES=3)
    status = api.read(["p5"])["p5"]
    assert status is not None
    assert (status.closed, status.paused) == ("", paused)


@pytest.mark.parametrize("kind", ["ECS", None])
def test_a_queue_for_containers_is_none_for_training(api: QueuesApi, stub: Stubber, kind: str | None) -> None:
    row = queue()
    row.pop("jobQueueType")
    answers(stub, {**row, **({"jobQueueType": kind} if kind else {})})
    assert api.read(["p5"]) == {"p5": QueueStatus("p5", is_for_training=False)}


def test_where_the_role_may_not_ask_batchs_answer_to_the_job_tells(
    api: QueuesApi, stub: Stubber, caplog: pytest.LogCaptureFixture
) -> None:
    stub.add_client_error("describe_job_queues", "AccessDeniedException", "not allowed")
    with caplog.at_level(logging.WARNING):
        assert api.read(["p5"]) == {}
    assert "doesn't say how it stands with job queues" in caplog.text
    assert "not allowed" in caplog.text


def test_each_read_that_is_refused_leaves_only_its_own_part_unknown(
    api: QueuesApi, stub: Stubber, caplog: pytest.LogCaptureFixture
) -> None:
    answers(stub, queue("a", schedulingPolicyArn=POLICY), queue("b", schedulingPolicyArn=POLICY))
    stub.add_client_error("describe_scheduling_policies", "AccessDeniedException", "no policies")
    stub.add_client_error("describe_service_environments", "AccessDeniedException", "no environments")
    has_policy(stub, quotaSharePolicy={"idleResourceAssignmentStrategy": "FIFO"})
    has_limits(stub, "b", **{P5: 1})
    stub.add_client_error("list_quota_shares", "AccessDeniedException", "no shares")
    with caplog.at_level(logging.WARNING):
        found = api.read(["a", "b"])
    assert found["a"] == QueueStatus("a")
    assert found["b"] == QueueStatus("b", policy=Policy.QUOTA_SHARES, limits={P5: 1})
    for words in ("no policies", "the service environment of a", "the quota shares of b"):
        assert words in caplog.text


def test_a_policy_that_batch_does_not_describe_is_unknown(api: QueuesApi, stub: Stubber) -> None:
    answers(stub, queue(schedulingPolicyArn=POLICY))
    stub.add_response("describe_scheduling_policies", {"schedulingPolicies": []}, {"arns": [POLICY]})
    has_limits(stub, NUM_INSTANCES=3)
    status = api.read(["p5"])["p5"]
    assert status is not None
    assert status.policy is None
