"""Instances that stay with a job after its end: held, billed, counted, and given to nobody."""

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, Bench, prefer, single

KEEP = {**prefer(G5), "KeepAlivePeriodInSeconds": 600}
POOL_QUOTA = f"{G5} for training warm pool usage"


def pool(bench: Bench, name: str = "job") -> dict | None:
    return bench.training(name).get("WarmPoolStatus")


def update(bench: Bench, seconds: int, name: str = "job") -> None:
    change = {"TrainingJobName": name, "ResourceConfig": {"KeepAlivePeriodInSeconds": seconds}}
    bench.call("UpdateTrainingJob", change)


def ended(bench: Bench, resources: dict | None = None) -> Bench:
    """Run a job to its end on a bench whose jobs take ten seconds."""
    bench.train(resources=KEEP if resources is None else resources)
    bench.advance(10)
    assert bench.state() == ("Completed", "Completed")
    return bench


def test_a_job_that_asks_for_none_leaves_no_pool():
    assert pool(ended(Bench(seconds=10), prefer(G5))) is None
    assert pool(ended(Bench(seconds=10), {**prefer(G5), "KeepAlivePeriodInSeconds": 0})) is None


def test_a_pool_is_available_from_the_end_of_the_job_until_its_period_is_over():
    bench = Bench(seconds=10)
    bench.train(resources=KEEP)
    assert pool(bench) is None
    bench.advance(10)
    assert pool(bench) == {"Status": "Available", "ResourceRetainedBillableTimeInSeconds": 0}
    bench.advance(599)
    assert pool(bench) == {"Status": "Available", "ResourceRetainedBillableTimeInSeconds": 599}
    bench.advance(1)
    assert pool(bench) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 600}
    bench.advance(3600)
    assert pool(bench) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 600}
    assert bench.training()["BillableTimeInSeconds"] == 10


def test_no_later_job_gets_the_instances_of_a_pool():
    """Not even one that asks for exactly the same."""
    bench = ended(Bench(seconds=10, capacity={G5: 1}))
    bench.train("next", KEEP)
    bench.advance(589)
    assert bench.state("next") == ("InProgress", "Pending")
    assert pool(bench)["Status"] == "Available"
    bench.advance(12)
    assert bench.state("next") == ("InProgress", "Training")
    assert pool(bench)["Status"] == "Terminated"


def test_the_period_is_one_of_the_scenarios_durations():
    bench = Bench(seconds=10, speed=10)
    bench.train(resources=KEEP)
    bench.advance(1)
    bench.advance(59)
    assert pool(bench)["Status"] == "Available"
    bench.advance(2)
    assert pool(bench)["Status"] == "Terminated"


def test_the_period_can_be_changed_while_the_pool_is_available():
    bench = ended(Bench(seconds=10))
    update(bench, 1200)
    bench.advance(1199)
    assert pool(bench)["Status"] == "Available"
    assert bench.training()["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 1200
    bench.advance(2)
    assert pool(bench)["Status"] == "Terminated"


def test_a_shorter_period_that_is_over_already_ends_the_pool():
    bench = ended(Bench(seconds=10))
    bench.advance(100)
    update(bench, 60)
    bench.advance(1)
    assert pool(bench)["Status"] == "Terminated"


def test_a_period_of_zero_ends_the_pool_at_once():
    bench = ended(Bench(seconds=10, capacity={G5: 1}))
    bench.advance(100)
    update(bench, 0)
    assert pool(bench) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 100}
    bench.train("next", prefer(G5))
    assert bench.state("next") == ("InProgress", "Training")


def test_only_an_available_pool_can_be_changed():
    bench = Bench(seconds=10)
    bench.train(resources=KEEP)
    with pytest.raises(ApiError, match="ValidationException"):
        update(bench, 60)
    bench.advance(10)
    update(bench, 0)
    with pytest.raises(ApiError, match="ValidationException"):
        update(bench, 60)
    bench.train("without", prefer(G5))
    bench.advance(10)
    with pytest.raises(ApiError, match="ValidationException"):
        update(bench, 60, "without")


@pytest.mark.parametrize("reason", ["AlgorithmError: , exit code: 1", "ClientError: Data download failed"])
def test_a_job_that_failed_by_its_own_fault_leaves_a_pool(reason):
    bench = Bench({"*": Script.fails(reason, seconds=10)})
    bench.train(resources=KEEP)
    bench.advance(10)
    assert (bench.state(), pool(bench)["Status"]) == (("Failed", "Failed"), "Available")


def test_a_job_that_aws_failed_leaves_none():
    bench = Bench(job_faults=[{"job": "*", "after": 5}])
    bench.train(resources=KEEP)
    bench.advance(6)
    assert (bench.state(), pool(bench)) == (("Failed", "Failed"), None)


def test_a_job_that_was_stopped_while_it_ran_leaves_a_pool():
    bench = Bench()
    bench.train(resources=KEEP)
    bench.advance(10)
    bench.call("StopTrainingJob", {"TrainingJobName": "job"})
    bench.advance(1)
    assert (bench.state(), pool(bench)["Status"]) == (("Stopped", "Stopped"), "Available")


@pytest.mark.parametrize("scenario", [{"capacity": {G5: 0}}, {"settings": {"launch_seconds": 60}}])
def test_a_job_that_was_stopped_before_its_instances_were_up_leaves_none(scenario):
    bench = Bench(**scenario)
    bench.train(resources=KEEP)
    bench.advance(10)
    bench.call("StopTrainingJob", {"TrainingJobName": "job"})
    assert (bench.state(), pool(bench)) == (("Stopped", "Stopped"), None)


def test_without_room_in_its_quota_a_pool_is_terminated_at_once():
    bench = ended(Bench(seconds=10, capacity={G5: 1}, quotas={POOL_QUOTA: 0}))
    assert pool(bench) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 0}
    bench.train("next", prefer(G5))
    assert bench.state("next") == ("InProgress", "Training")


def test_pools_share_their_quota():
    bench = Bench(seconds=10, quotas={POOL_QUOTA: 1})
    for name in ("a", "b"):
        bench.train(name, KEEP)
    bench.advance(10)
    assert [pool(bench, name)["Status"] for name in ("a", "b")] == ["Available", "Terminated"]
    update(bench, 0, "a")
    bench.train("c", KEEP)
    bench.advance(10)
    assert pool(bench, "c")["Status"] == "Available"


def test_a_pool_counts_against_the_quotas_of_training():
    for quota in (f"{G5} for training job usage", "Number of instances across all training jobs"):
        bench = ended(Bench(seconds=10, quotas={quota: 1}))
        with pytest.raises(ApiError, match="with current utilization of 1 Instances"):
            bench.train("next", prefer(G5))
        bench.advance(601)
        bench.train("next", prefer(G5))


def test_a_job_with_an_available_pool_cannot_be_deleted():
    bench = ended(Bench(seconds=10))
    with pytest.raises(ApiError, match="warm pool"):
        bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})
    update(bench, 0)
    bench.call("DeleteTrainingJob", {"TrainingJobName": "job"})


def test_lists_show_pools_and_are_filtered_by_their_status():
    bench = Bench(seconds=10)
    for name in ("kept", "let-go", "without"):
        bench.train(name, prefer(G5) if name == "without" else KEEP)
    bench.advance(10)
    update(bench, 0, "let-go")

    def names(status: str) -> list[str]:
        rows = bench.call("ListTrainingJobs", {"WarmPoolStatusEquals": status})["TrainingJobSummaries"]
        assert {row["WarmPoolStatus"]["Status"] for row in rows} <= {status}
        return [row["TrainingJobName"] for row in rows]

    assert {status: names(status) for status in ("Available", "Terminated", "Reused", "InUse")} == {
        "Available": ["kept"],
        "Terminated": ["let-go"],
        "Reused": [],
        "InUse": [],
    }
    rows = bench.call("ListTrainingJobs")["TrainingJobSummaries"]
    assert [row["TrainingJobName"] for row in rows if "WarmPoolStatus" not in row] == ["without"]


def test_a_pool_on_a_plan_ends_half_an_hour_before_the_block():
    plan = {"name": "december", "type": P5, "count": 1, "blocks": [{"lasts": "1h"}]}
    bench = Bench(seconds=10, plans=[plan])
    ended(bench, single(P5, TrainingPlanArn=PLAN, KeepAlivePeriodInSeconds=3600))
    bench.advance(1789)
    assert pool(bench)["Status"] == "Available"
    shown = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
    assert (shown["AvailableInstanceCount"], shown["InUseInstanceCount"]) == (0, 1)
    bench.advance(2)
    assert pool(bench) == {"Status": "Terminated", "ResourceRetainedBillableTimeInSeconds": 1790}
    assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})["InUseInstanceCount"] == 0


def test_a_stopped_jobs_pool_on_a_plan_ends_with_the_block_too():
    plan = {"name": "december", "type": P5, "count": 1, "blocks": [{"lasts": "1h"}]}
    bench = Bench(plans=[plan])
    bench.train(resources=single(P5, TrainingPlanArn=PLAN, KeepAlivePeriodInSeconds=3600))
    bench.advance(10)
    bench.call("StopTrainingJob", {"TrainingJobName": "job"})
    bench.advance(1789)
    assert pool(bench)["Status"] == "Available"
    bench.advance(2)
    assert pool(bench)["Status"] == "Terminated"


def test_a_cpu_job_has_a_pool_like_any_other():
    bench = ended(Bench(seconds=10, capacity={CPU: 1}), {**prefer(CPU), "KeepAlivePeriodInSeconds": 60})
    bench.train("next", prefer(CPU))
    assert bench.state("next") == ("Failed", "Failed")
    bench.advance(61)
    bench.train("later", prefer(CPU))
    assert bench.state("later") == ("InProgress", "Training")


def test_the_end_of_a_pool_is_recorded_and_no_event():
    bench = ended(Bench(seconds=10))
    before = len(bench.sandbox.engine.record.entries("state"))
    update(bench, 0)
    entries = bench.sandbox.engine.record.entries("state")[before:]
    assert [(entry["status"], entry["live"]) for entry in entries] == [("Completed", False)]
