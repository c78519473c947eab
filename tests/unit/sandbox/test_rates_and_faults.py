"""Rate limits and injected faults."""

import contextlib

import pytest

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from tests.unit.sandbox.builders import Bench, processing, training

DESCRIBE = ("DescribeTrainingJob", {"TrainingJobName": "job"})


def throttled(bench: Bench, *call) -> bool:
    with contextlib.suppress(ApiError):
        bench.call(*call)
    return bench.sandbox.engine.record.entries("call")[-1]["error"] == "ThrottlingException"


@pytest.mark.parametrize("speed", [1, 600])
def test_rates_are_aws_s_own_and_never_scaled(speed):
    bench = Bench(rates={}, speed=speed)
    assert [throttled(bench, *DESCRIBE) for _ in range(6)] == [False] * 5 + [True]
    bench.advance(0.2)
    assert [throttled(bench, *DESCRIBE) for _ in range(2)] == [False, True]
    bench.advance(60)
    assert [throttled(bench, *DESCRIBE) for _ in range(6)] == [False] * 5 + [True]


def test_one_create_a_second():
    bench = Bench(rates={})
    bench.train("a")
    with pytest.raises(ApiError, match="Rate exceeded") as caught:
        bench.train("b")
    assert (caught.value.code, caught.value.status) == ("ThrottlingException", 400)
    bench.advance(1)
    bench.train("b")


DOCUMENTED = {
    "CreateTrainingJob": 1,
    "CreateProcessingJob": 1,
    "DescribeTrainingJob": 5,
    "ListTrainingJobs": 2,
    "StopTrainingJob": 1,
    "UpdateTrainingJob": 1,
    "DeleteTrainingJob": 1,
}


@pytest.mark.parametrize(("operation", "rate"), DOCUMENTED.items())
def test_each_operation_has_its_documented_rate(operation, rate):
    bench = Bench(rates={})
    request = {} if operation == "ListTrainingJobs" else {"TrainingJobName": "job"}
    if operation.startswith("Create"):
        request = processing() if "Processing" in operation else training()
    for _ in range(3):
        assert [throttled(bench, operation, request) for _ in range(rate + 1)] == [False] * rate + [True]
        bench.advance(1)


def test_a_steady_caller_at_the_rate_is_never_throttled():
    bench = Bench(rates={})
    for _ in range(50):
        assert not throttled(bench, *DESCRIBE)
        bench.advance(0.2)


def test_a_throttled_call_has_no_effect():
    bench = Bench(rates={})
    bench.train("a")
    assert throttled(bench, "CreateTrainingJob", training("b"))
    bench.advance(1)
    with pytest.raises(ApiError, match="not found"):
        bench.training("b")
    bench.call("StopTrainingJob", {"TrainingJobName": "a"})
    bench.train("c")
    assert throttled(bench, "StopTrainingJob", {"TrainingJobName": "c"})
    assert bench.state("c") == ("InProgress", "Training")


def test_a_refused_call_counts_too():
    bench = Bench(rates={})
    with pytest.raises(ApiError, match="ValidationException"):
        bench.train("not a name")
    assert throttled(bench, "CreateTrainingJob", training())


def test_every_account_region_and_operation_has_its_own_bucket():
    bench = Bench(rates={"DescribeTrainingJob": 0.5})
    assert not throttled(bench, *DESCRIBE)
    assert throttled(bench, *DESCRIBE)
    assert not throttled(bench, *DESCRIBE, Caller("123456789012", "eu-west-1"))
    assert not throttled(bench, *DESCRIBE, Caller("210987654321", "us-east-1"))
    assert not throttled(bench, "DescribeProcessingJob", {"ProcessingJobName": "job"})


def test_accounts_and_regions_do_not_see_each_others_jobs():
    bench = Bench()
    bench.train()
    for caller in (Caller("123456789012", "eu-west-1"), Caller("210987654321", "us-east-1")):
        assert bench.call("ListTrainingJobs", {}, caller) == {"TrainingJobSummaries": []}
        arn = bench.call("CreateTrainingJob", training(), caller)["TrainingJobArn"]
        assert f":{caller.region}:{caller.account}:" in arn


def test_a_fault_hits_the_calls_that_it_counts():
    fault = {"operation": "DescribeTrainingJob", "error": "InternalFailure", "after": 1, "times": 2}
    bench = Bench(call_faults=[fault])
    bench.train()
    bench.training()
    for _ in range(2):
        with pytest.raises(ApiError) as caught:
            bench.training()
        assert (caught.value.status, caught.value.code) == (500, "InternalFailure")
    bench.training()


def test_a_fault_may_concern_some_jobs_only():
    bench = Bench(call_faults=[{"operation": "*TrainingJob", "error": "drop", "job": "a-*", "times": 9}])
    bench.train("b-1")
    with pytest.raises(DroppedConnection):
        bench.train("a-1")
    with pytest.raises(ApiError, match="not found"):
        bench.training("none")


def test_a_lost_answer_leaves_the_job_behind():
    fault = {"operation": "CreateTrainingJob", "error": "drop", "takes_effect": True}
    bench = Bench(call_faults=[fault])
    with pytest.raises(DroppedConnection):
        bench.train()
    assert bench.state() == ("InProgress", "Training")


def test_the_record_has_every_call_and_how_it_was_answered():
    bench = Bench(call_faults=[{"operation": "CreateTrainingJob", "error": "drop"}])
    with pytest.raises(DroppedConnection):
        bench.train()
    with pytest.raises(ApiError):
        bench.training()
    bench.train()
    calls = bench.sandbox.engine.record.entries("call")
    assert [(call["operation"], call["error"]) for call in calls] == [
        ("CreateTrainingJob", "Dropped"),
        ("DescribeTrainingJob", "ValidationException"),
        ("CreateTrainingJob", ""),
    ]


class TestMostLive:
    def most(self, bench: Bench, tags: dict[str, str], prefix: str = "") -> int:
        from airflow_sm_prefer.sandbox.record import carries, most_live

        return most_live(bench.sandbox.engine.record.entries("state"), carries(tags, prefix))

    def test_jobs_after_each_other_are_never_two(self):
        bench = Bench(seconds=10)
        for name in ("a", "b"):
            bench.train(name, Tags=[{"Key": "k", "Value": "v"}])
            bench.advance(11)
        assert self.most(bench, {"k": "v"}) == 1

    def test_jobs_beside_each_other_are(self):
        bench = Bench(seconds=10)
        for name in ("a", "b"):
            bench.train(name, Tags=[{"Key": "k", "Value": "v"}])
        bench.train("c", Tags=[{"Key": "k", "Value": "w"}])
        assert self.most(bench, {"k": "v"}) == 2
        assert self.most(bench, {}) == 3
        assert self.most(bench, {}, prefix="c") == 1
        assert self.most(bench, {"k": "none"}) == 0
