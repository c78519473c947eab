"""What SubmitServiceJob takes and refuses, and what a repeated token gets."""

from __future__ import annotations

import json
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.batch.bench import BatchBench, submission
from tests.unit.sandbox.builders import CPU, G5, P5, prefer, training

RULE = {"action": "EXIT", "onStatusReason": "*"}


def refusal(bench: BatchBench, request: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as refused:
        bench.call("SubmitServiceJob", request)
    assert refused.value.code == "ClientException"
    return refused.value.message


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"name": "a b"}, "jobName 'a b' is not valid"),
        ({"name": "a" * 129}, "is not valid"),
        ({"queue": "other"}, "JobQueue other does not exist"),
        ({"schedulingPriority": 10_000}, "schedulingPriority must be between 0 and 9999, not 10000"),
        ({"schedulingPriority": -1}, "schedulingPriority must be between"),
        ({"retryStrategy": {"attempts": 11}}, "attempts must be between 1 and 10"),
        ({"retryStrategy": {"attempts": 2, "evaluateOnExit": [RULE] * 6}}, "at most 5 entries"),
        ({"retryStrategy": {"attempts": 2, "evaluateOnExit": [RULE | {"onStatusReason": "a" * 513}]}}, "512"),
        ({"retryStrategy": {}}, "'retryStrategy.attempts' failed to satisfy constraint: Member must not be null"),
        ({"timeoutConfig": {"attemptDurationSeconds": 0}}, "attemptDurationSeconds must be 1 or more"),
        ({"preemptionConfiguration": {"preemptionRetriesBeforeTermination": -1}}, "0 or more"),
        ({"tags": {"aws:x": "1"}}, "reserved"),
        ({"tags": {str(i): "" for i in range(51)}}, "Member must have length less than or equal to 50"),
        ({"clientToken": "a" * 65}, "Member must have length less than or equal to 64"),
        ({"shareIdentifier": "red"}, "shareIdentifier can't be specified for a job queue without a fair-share"),
        ({"quotaShareName": "red"}, "quotaShareName can't be specified"),
        ({"serviceJobType": "OTHER"}, "enum value set"),
        ({"payload": {"TrainingJobName": "a" * 10_240}}, "at most 10 KiB"),
        ({"payload": ["no", "object"]}, "not a JSON object"),
        ({"payload": training(resources=prefer(G5))}, "InstancePreferences are not supported"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_batch_refuses_what_is_wrong_with_its_own_parameters(more, message):
    bench = BatchBench()
    bench.fifo()
    assert message in refusal(bench, submission(**more))


def test_a_request_is_at_most_thirty_kibibytes():
    bench = BatchBench()
    bench.fifo()
    tags = {f"{i:0128}": "ä" * 256 for i in range(50)}
    payload = {"TrainingJobName": "a" * 5000}
    assert "at most 30 KiB" in refusal(bench, submission(payload=payload, tags=tags))


def test_what_is_wrong_with_the_payload_is_taken():
    bench = BatchBench()
    bench.fifo()
    payload = {"ResourceConfig": {"InstanceType": 5, "InstanceCount": "two"}, "Unknown": None}
    job = bench.submit(payload=payload)
    assert json.loads(bench.describe(job)["serviceRequestPayload"]) == payload
    assert bench.status(job) == "FAILED"


def test_a_fair_share_queue_needs_a_share_and_a_managed_queue_one_of_its_quota_shares():
    bench = BatchBench()
    bench.fair()
    assert "shareIdentifier must be specified" in refusal(bench, submission(queue="fair"))
    assert "not valid" in refusal(bench, submission(queue="fair", shareIdentifier="a-b"))
    assert "quotaShareName can't" in refusal(bench, submission(queue="fair", shareIdentifier="a", quotaShareName="b"))
    bench.submit(queue="fair", shareIdentifier="red")
    bench = BatchBench()
    bench.managed()
    arn = bench.share("red")
    assert "quotaShareName must be specified" in refusal(bench, submission(queue="managed"))
    assert "QuotaShare blue does not exist" in refusal(bench, submission(queue="managed", quotaShareName="blue"))
    bench.call("UpdateQuotaShare", {"quotaShareArn": arn, "state": "DISABLED"})
    assert "doesn't accept jobs" in refusal(bench, submission(queue="managed", quotaShareName="red"))


def test_a_queue_has_five_hundred_active_shares_at_most():
    bench = BatchBench(capacity={G5: 0})
    bench.environment(NUM_INSTANCES=0)
    policy = bench.call("CreateSchedulingPolicy", {"name": "fair", "fairsharePolicy": {}})["arn"]
    bench.queue("fair", schedulingPolicyArn=policy)
    for number in range(500):
        bench.submit(queue="fair", shareIdentifier=f"share{number}")
    assert "500 active share identifiers" in refusal(bench, submission(queue="fair", shareIdentifier="more"))
    bench.submit(queue="fair", shareIdentifier="share1")


def test_a_disabled_queue_takes_no_jobs():
    bench = BatchBench()
    bench.fifo(state="DISABLED")
    assert "is DISABLED" in refusal(bench, submission())


def test_a_repeated_token_is_refused():
    bench = BatchBench()
    bench.fifo()
    bench.submit(clientToken="once")
    assert "clientToken once was already submitted" in refusal(bench, submission(clientToken="once"))
    assert "already submitted" in refusal(bench, submission("other", clientToken="once"))
    bench.submit(clientToken="twice")


def test_a_repeated_token_may_return_the_first_job():
    bench = BatchBench(settings={"batch_token_repeat": "first_job"})
    bench.fifo()
    first = bench.submit(clientToken="once")
    bench.advance(1000)
    assert bench.submit(clientToken="once") == first
    assert len(bench.call("ListTrainingJobs")["TrainingJobSummaries"]) == 1


def test_a_token_is_the_accounts_own():
    bench = BatchBench()
    bench.fifo()
    first = bench.submit(clientToken="once")
    other = Caller("111122223333", "us-east-1")
    environment = {
        "serviceEnvironmentName": "environment",
        "serviceEnvironmentType": "SAGEMAKER_TRAINING",
        "capacityLimits": [{"maxCapacity": 1, "capacityUnit": "NUM_INSTANCES"}],
    }
    order = [{"order": 1, "serviceEnvironment": "environment"}]
    bench.call("CreateServiceEnvironment", environment, other)
    bench.call("CreateJobQueue", {"jobQueueName": "fifo", "priority": 1, "serviceEnvironmentOrder": order}, other)
    assert bench.call("SubmitServiceJob", submission(clientToken="once"), other)["jobId"] != first


def test_groups_of_instances_count_together():
    bench = BatchBench()
    bench.fifo(3)
    groups = [{"InstanceType": G5, "InstanceCount": count, "InstanceGroupName": str(count)} for count in (1, 3)]
    job = bench.submit(payload=training(resources={"InstanceGroups": groups, "VolumeSizeInGB": 30}))
    assert bench.describe(job)["capacityUsage"] == [{"capacityUnit": G5, "quantity": 4.0}]
    assert bench.describe(job)["statusReason"].startswith("MISCONFIGURATION:")


def test_a_payload_is_json():
    bench = BatchBench()
    bench.fifo()
    assert "not a JSON object" in refusal(bench, submission() | {"serviceRequestPayload": "{"})


class TestPreferences:
    def test_a_list_may_be_passed_on_and_counts_its_largest_entry(self):
        bench = BatchBench(settings={"batch_preferences": "pass"}, capacity={P5: 0})
        bench.fifo(3)
        job = bench.submit(payload=training(resources=prefer((P5, 1), (G5, 3))))
        behind = bench.submit()
        assert bench.statuses(job, behind) == ["RUNNING", "RUNNABLE"]
        assert bench.behind(job)["ResourceConfig"]["SelectedInstanceType"] == G5

    def test_a_list_may_be_a_misconfiguration(self):
        bench = BatchBench(settings={"batch_preferences": "misconfig"})
        bench.fifo(3)
        job = bench.submit(payload=training(resources=prefer(G5)))
        assert bench.describe(job)["statusReason"].startswith("MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE")


def test_a_count_of_instances_is_what_the_payload_says():
    bench = BatchBench()
    bench.fifo(3)
    two, one, other = bench.submit(count=2), bench.submit(), bench.submit()
    assert bench.statuses(two, one, other) == ["RUNNING", "RUNNING", "RUNNABLE"]
    assert bench.describe(two)["capacityUsage"] == [{"capacityUnit": G5, "quantity": 2.0}]
    assert CPU not in json.dumps(bench.describe(two))


def test_calls_about_a_job_are_recorded_and_go_wrong_by_its_name_however_it_is_called():
    fault = {"operation": "TerminateServiceJob", "job": "train-*", "error": "ThrottlingException", "times": 2}
    bench = BatchBench(call_faults=[fault])
    bench.fifo(2)
    train, other = (bench.describe(bench.submit(name)) for name in ("train-1", "other"))
    for one in (train["jobId"], train["jobArn"], "unknown"):
        with pytest.raises(ApiError):
            bench.call("TerminateServiceJob", {"jobId": one, "reason": "no use"})
    bench.call("TerminateServiceJob", {"jobId": other["jobArn"], "reason": "no use"})
    calls = [call["name"] for call in bench.sandbox.engine.record.entries("call")]
    assert calls[-4:] == ["train-1", "train-1", "", "other"]
