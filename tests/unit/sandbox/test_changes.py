"""Changing a sandbox while it runs: as a whole, at one moment, and noted."""

import pytest

from airflow_sm_prefer.errors import InvalidScenario
from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.changes import read_change
from airflow_sm_prefer.sandbox.rates import DEFAULT_RATES
from airflow_sm_prefer.sandbox.record import busiest, carries, live_at
from tests.unit.sandbox.builders import G5, P5, PLAN, Bench, single

QUOTA = f"{G5} for training job usage"


def test_everything_changes_at_one_moment():
    bench = Bench(capacity={G5: 0}, seconds=100)
    bench.train()
    bench.sandbox.change(
        capacity={G5: 1},
        spot={G5: 0},
        plans=[{"name": "december", "type": P5, "count": 1}],
        quotas={QUOTA: 1},
        rates={"ListTrainingJobs": 1},
        call_faults=[{"operation": "DescribeTrainingJob", "error": "drop"}],
        job_faults=[{"job": "job", "after": 50}],
        speed=10,
        advance="40s",
    )
    with pytest.raises(DroppedConnection):
        bench.training()
    assert bench.state() == ("InProgress", "Training")
    with pytest.raises(ApiError, match="account-level service limit"):
        bench.train("other")
    bench.advance(1)
    assert bench.state() == ("Failed", "Failed")
    bench.train("on-plan", resources=single(P5, TrainingPlanArn=PLAN))
    assert bench.state("on-plan") == ("InProgress", "Training")


@pytest.mark.parametrize(
    "bad",
    [
        {"quotas": {"ml.g5.xlarge": 1}},
        {"rates": {"NoSuchOperation": 1}},
        {"call_faults": [{"operation": "ListTrainingJobs", "error": "no"}]},
        {"job_faults": [{"after": 1}]},
        {"plans": [{"name": "a", "type": G5, "count": 1}]},
        {"speed": 0},
        {"speed": 2_000_000},
        {"advance": "soon"},
        {"advance": "4000d"},
        {"settings": {"launch_seconds": 3}},
        {"nonsense": 1},
    ],
    ids=lambda bad: next(iter(bad)),
)
def test_with_one_mistake_nothing_changes(bad):
    bench = Bench(capacity={G5: 0})
    bench.train()
    with pytest.raises(InvalidScenario, match="the change, line"):
        bench.sandbox.change(capacity={G5: 5}, **bad)
    assert bench.state() == ("InProgress", "Pending")
    assert bench.sandbox.engine.record.entries("control") == []


def test_what_is_fixed_is_named_and_what_can_change_too():
    with pytest.raises(InvalidScenario) as caught:
        read_change("speed: 1\nsettings: {launch_seconds: 3}", "file.yaml")
    assert str(caught.value).startswith("file.yaml, line 2: settings: not to be changed while the sandbox runs")
    assert "capacity, spot, plans, quotas" in str(caught.value)


@pytest.mark.parametrize("text", ["{", "a\x00b"])
def test_what_is_not_yaml_is_told(text):
    with pytest.raises(InvalidScenario, match="not YAML"):
        read_change(text, "file.yaml")


def test_values_that_no_file_can_have_are_told():
    with pytest.raises(InvalidScenario, match="expected texts, numbers, lists and mappings"):
        Bench().sandbox.change(speed=object())


def test_nothing_to_change_changes_nothing():
    bench = Bench(speed=3)
    bench.sandbox.apply(read_change("", "the request"))
    assert bench.sandbox.time.pace.speed == 3


def test_a_change_is_noted_as_it_was_written():
    bench = Bench()
    bench.sandbox.change(speed=60, capacity={G5: [0, {"after": "20m", "count": 1}]}, advance="1h")
    (entry,) = bench.sandbox.engine.record.entries("control")
    assert entry["sections"] == ["advance", "capacity", "speed"]
    assert entry["change"] == {
        "speed": 60,
        "capacity": {G5: [0, {"after": "20m", "count": 1}]},
        "advance": "1h",
    }
    bench.sandbox.clear_faults()
    assert bench.sandbox.engine.record.entries("control")[-1]["change"] == {"faults": "cleared"}


class TestRates:
    def test_those_that_are_not_named_stay_as_they_are(self):
        bench = Bench(rates={"ListTrainingJobs": 7})
        bench.sandbox.change(rates={"DescribeTrainingJob": 9, "StopTrainingJob": "off"})
        rates = bench.sandbox.rates.rates()
        assert (rates["ListTrainingJobs"], rates["DescribeTrainingJob"]) == (7, 9)
        assert "StopTrainingJob" not in rates

    def test_all_are_off_or_aws_s_again(self):
        bench = Bench(rates={"ListTrainingJobs": 7})
        bench.sandbox.change(rates="off")
        assert bench.sandbox.rates.rates() == {}
        bench.sandbox.change(rates="aws")
        assert bench.sandbox.rates.rates() == DEFAULT_RATES


class TestFaults:
    def test_those_to_come_are_shown_until_they_have_come(self):
        bench = Bench(
            call_faults=[{"operation": "DescribeTrainingJob", "error": "drop", "after": 1, "times": 1}],
            job_faults=[{"job": "job", "after": 50}],
        )
        bench.train()
        shown = bench.sandbox.engine.faults.to_come()
        assert [fault["seen"] for fault in shown["call_faults"] + shown["job_faults"]] == [0, 0]
        bench.training()
        assert bench.sandbox.engine.faults.to_come()["job_faults"] == []
        with pytest.raises(DroppedConnection):
            bench.training()
        assert bench.sandbox.engine.faults.to_come()["call_faults"] == []

    def test_cleared_ones_spare_the_runs_that_they_were_to_hit(self):
        bench = Bench(seconds=100, job_faults=[{"job": "*", "after": 50, "times": 2}])
        bench.train()
        bench.advance(49)
        bench.sandbox.clear_faults()
        bench.train("later")
        bench.advance(101)
        assert bench.state() == bench.state("later") == ("Completed", "Completed")

    def test_a_run_that_a_fault_has_hit_already_fails_all_the_same(self):
        bench = Bench({"*": Script(seconds=1000, stop_seconds=60)}, job_faults=[{"job": "*", "after": 50}])
        bench.train()
        bench.advance(51)
        bench.sandbox.clear_faults()
        bench.advance(60)
        assert bench.state() == ("Failed", "Failed")


class TestWhoWasLive:
    def test_at_an_instant_and_at_most(self):
        bench = Bench(seconds=100)
        begin = bench.clock.time()
        tag = [{"Key": "task", "Value": "train"}]
        bench.train("a", Tags=tag)
        bench.advance(50)
        bench.train("b", Tags=tag)
        bench.train("untagged")
        bench.advance(200)
        entries, wanted = bench.sandbox.engine.record.entries("state"), carries({"task": "train"})
        assert [job["name"] for job in live_at(entries, wanted, begin + 10)] == ["a"]
        assert [job["name"] for job in live_at(entries, wanted, begin + 60)] == ["a", "b"]
        assert [job["name"] for job in live_at(entries, wanted, begin + 120)] == ["b"]
        assert live_at(entries, wanted, begin + 200) == live_at(entries, wanted, begin - 1) == []
        most = busiest(entries, wanted)
        assert (most.at, [job["name"] for job in most.jobs]) == (begin + 50, ["a", "b"])
        assert most.jobs[0] == {"account": "123456789012", "region": "us-east-1", "kind": "training", "name": "a"}

    def test_nobody_ever(self):
        most = busiest([], carries({}))
        assert (most.at, most.jobs) == (None, [])


def test_a_line_of_the_record_tells_where_to_go_on():
    bench = Bench()
    bench.train()
    bench.advance(200)
    record = bench.sandbox.engine.record
    states = record.entries("state")
    assert record.entries("state", since=states[1]["line"]) == states[1:]
