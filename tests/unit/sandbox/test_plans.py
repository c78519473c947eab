"""Training plans: their statuses over time, and what they are to the jobs on them."""

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import G5, P4D, P5, PLAN, Bench, prefer, single, training

TWO_BLOCKS = [{"starts": "1h", "lasts": "2h"}, {"starts": "6h", "lasts": "2h"}]
HOUR = 3600
LIMITS = {"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 100_000}


def plan(**more) -> dict:
    return {"name": "december", "type": P5, "count": 1, "blocks": TWO_BLOCKS, **more}


def on_plan(count: int = 1) -> dict:
    return single(P5, count, TrainingPlanArn=PLAN)


def listed(*types: str) -> dict:
    """A list whose p5 entry is on the plan."""
    resources = prefer(*types)
    for entry in resources["InstancePreferences"]:
        if entry["InstanceType"] == P5:
            entry["TrainingPlanArns"] = [PLAN]
    return resources


def described(bench: Bench) -> dict:
    return bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})


def statuses(bench: Bench) -> tuple[str, list[str]]:
    shown = described(bench)
    return shown["Status"], [block["Status"] for block in shown["ReservedCapacitySummaries"]]


def test_a_plan_is_scheduled_active_scheduled_between_blocks_active_and_expired():
    bench = Bench(plans=[plan()])
    seen = []
    for hours in (0, 1, 2, 3, 1, 1):
        bench.advance(hours * HOUR)
        seen.append(statuses(bench))
    assert seen == [
        ("Scheduled", ["Scheduled", "Scheduled"]),
        ("Active", ["Active", "Scheduled"]),
        ("Scheduled", ["Expired", "Scheduled"]),
        ("Active", ["Expired", "Active"]),
        ("Active", ["Expired", "Active"]),
        ("Expired", ["Expired", "Expired"]),
    ]


def test_instances_are_available_in_blocks_only_and_not_in_their_last_half_hour():
    bench = Bench(plans=[plan(count=2)])
    available = []
    for hours in (0, 1, 1.49, 0.02, 1):
        bench.advance(hours * HOUR)
        available.append(described(bench)["AvailableInstanceCount"])
    assert available == [0, 2, 2, 0, 0]


@pytest.mark.parametrize("status", ["Pending", "Failed"])
def test_a_plan_that_is_not_paid_for_takes_no_job(status):
    bench = Bench(plans=[plan(status=status)])
    assert statuses(bench) == (status, [status, status])
    bench.advance(HOUR)
    assert (statuses(bench)[0], described(bench)["AvailableInstanceCount"]) == (status, 0)
    for resources in (on_plan(), listed(P5, G5), {**prefer(P5, G5), "TrainingPlanArn": PLAN}):
        with pytest.raises(ApiError, match=f"is in status {status}; it must be Scheduled or Active") as caught:
            bench.train(resources=resources)
        assert caught.value.code == "ValidationException"


def test_an_expired_plan_takes_no_job():
    bench = Bench(plans=[plan()])
    bench.advance(8 * HOUR)
    with pytest.raises(ApiError, match="is in status Expired"):
        bench.train(resources=on_plan())


@pytest.mark.parametrize("target", ["hyperpod-cluster", "endpoint", "studio-apps"])
def test_a_plan_for_another_target_takes_no_job(target):
    bench = Bench(plans=[plan(target=target)])
    assert described(bench)["TargetResources"] == [target]
    for resources in (on_plan(), listed(P5, G5)):
        with pytest.raises(ApiError, match=f"is for target resource {target}") as caught:
            bench.train(resources=resources)
        assert caught.value.code == "ValidationException"


@pytest.mark.parametrize("caller", [Caller("210987654321", "us-east-1"), Caller("123456789012", "eu-west-1")])
def test_a_plan_of_another_account_or_region_takes_no_job(caller):
    bench = Bench(plans=[plan()])
    with pytest.raises(ApiError, match="does not exist"):
        bench.call("CreateTrainingJob", training(resources=on_plan()), caller)


def test_a_plan_of_one_region_is_in_no_other():
    bench = Bench(plans=[plan(region="eu-west-1")])
    assert bench.call("ListTrainingPlans")["TrainingPlanSummaries"] == []
    with pytest.raises(ApiError, match="does not exist"):
        bench.train(resources=on_plan())


def test_a_plan_can_fail_while_jobs_are_on_it():
    bench = Bench(seconds=HOUR, plans=[plan(blocks=[{"lasts": "10h"}])], settings={"plan_expiry": "failed"})
    bench.train(resources=on_plan())
    bench.advance(10)
    assert bench.state() == ("InProgress", "Training")
    bench.sandbox.change(plans=[plan(status="Failed")])
    bench.advance(1)
    assert bench.training()["FailureReason"].startswith("InsufficientCapacityError")


def test_jobs_go_to_the_next_block_half_an_hour_before_a_block_ends():
    bench = Bench(seconds=2 * HOUR, plans=[plan()])
    bench.train(resources=on_plan(), StoppingCondition=LIMITS)
    bench.advance(2.5 * HOUR - 1)
    assert bench.state() == ("InProgress", "Training")
    bench.advance(2)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(3.5 * HOUR - 2)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state() == ("InProgress", "Training")
    assert bench.history() == [
        "Starting",
        "Pending",
        *("Starting", "Downloading", "Training"),
        "Pending",
        *("Starting", "Downloading", "Training"),
    ]


@pytest.mark.parametrize("resources", [on_plan(), listed(P5, G5)])
def test_each_run_is_told_the_end_of_the_block_that_it_is_in(resources):
    bench = Bench(seconds=9 * HOUR, plans=[plan()], capacity={G5: 0})
    began = bench.clock.time()
    bench.train(resources=resources, StoppingCondition={"MaxRuntimeInSeconds": 100_000})
    bench.advance(6 * HOUR)
    assert [run.block_ends for run in bench.runner.started] == [began + 3 * HOUR, began + 8 * HOUR]


def test_the_end_of_a_block_is_told_as_the_present_speed_makes_it():
    bench = Bench(speed=60, plans=[plan()])
    began = bench.clock.time()
    bench.train(resources=on_plan())
    bench.clock.advance(60)
    bench.sandbox.tick()
    (run,) = bench.runner.started
    assert run.block_ends == pytest.approx(began + 180)


def test_a_run_on_other_capacity_is_told_of_no_block():
    bench = Bench(plans=[plan(blocks=[{"lasts": "10h"}])])
    bench.train("holder", on_plan())
    bench.train(resources=listed(P5, P4D))
    bench.train("plain", single(P5))
    bench.advance(1)
    assert [run.block_ends is None for run in bench.runner.started] == [False, True, True]


def test_a_container_has_its_grace_before_the_block_takes_its_instances():
    bench = Bench({"*": Script(seconds=2 * HOUR, stop_seconds=500)}, plans=[plan()])
    bench.train(resources=on_plan(), StoppingCondition=LIMITS)
    bench.advance(2.5 * HOUR + 119)
    assert (bench.state(), described(bench)["InUseInstanceCount"]) == (("InProgress", "Training"), 1)
    bench.advance(2)
    assert (bench.state(), described(bench)["InUseInstanceCount"]) == (("InProgress", "Pending"), 0)


def test_between_blocks_the_pending_limit_does_not_run():
    """Neither before the first, nor from the moment at which a block gives its instances back until the next."""
    bench = Bench(seconds=3 * HOUR, plans=[plan()])
    bench.train(resources=on_plan(), StoppingCondition=LIMITS)
    bench.advance(6 * HOUR + 1)
    assert bench.state() == ("InProgress", "Training")


def test_the_pending_limit_adds_up_over_the_blocks_in_which_a_job_waits():
    bench = Bench(seconds=90 * HOUR, plans=[plan()])
    bench.train("first", on_plan(), StoppingCondition=LIMITS)
    bench.advance(2.25 * HOUR)
    bench.train("second", on_plan(), StoppingCondition=LIMITS)
    bench.advance(3.75 * HOUR + 890)
    assert bench.state("second") == ("InProgress", "Pending")
    bench.advance(20)
    assert bench.state("second") == ("Stopped", "MaxPendingTimeExceeded")


def test_a_list_of_nothing_but_plans_waits_for_them_without_spending_its_limit():
    bench = Bench(plans=[plan()])
    bench.train(resources=listed(P5), StoppingCondition=LIMITS)
    bench.advance(HOUR - 1)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state() == ("InProgress", "Training")
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P5


def test_a_list_with_another_source_spends_its_limit_while_its_plan_is_scheduled():
    bench = Bench(capacity={P4D: 0}, plans=[plan()])
    bench.train(resources=listed(P5, P4D), StoppingCondition=LIMITS)
    bench.advance(1801)
    assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")


def test_a_list_outlives_its_plan_as_long_as_it_has_another_source():
    bench = Bench(capacity={P4D: [0, {"after": "9h", "count": 1}]}, plans=[plan()], seconds=20 * HOUR)
    bench.train("holder", on_plan(), StoppingCondition=LIMITS)
    bench.train(resources=listed(P5, P4D))
    bench.advance(8.5 * HOUR)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(HOUR)
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P4D


def test_a_list_passes_over_an_active_plan_without_room():
    bench = Bench(capacity={P4D: 1}, plans=[plan(blocks=[{"lasts": "10h"}])])
    bench.train("holder", on_plan())
    bench.train(resources=listed(P5, P4D))
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P4D


def test_jobs_on_a_plan_are_fifo_but_a_smaller_later_one_may_go_first():
    bench = Bench(seconds=100, plans=[plan(count=3, blocks=[{"lasts": "10h"}])], capacity={P5: 0})
    bench.train("holder", on_plan(2))
    bench.train("big", on_plan(3))
    bench.train("small", on_plan(1))
    assert [bench.state(name)[1] for name in ("holder", "big", "small")] == ["Training", "Pending", "Training"]
    bench.advance(101)
    assert bench.state("big") == ("InProgress", "Training")


def test_on_demand_instances_are_no_plans_and_the_other_way_round():
    bench = Bench(capacity={P5: 1}, plans=[plan(blocks=[{"lasts": "10h"}])])
    bench.train("a", on_plan())
    bench.train("b", on_plan())
    bench.train("c", single(P5))
    bench.train("d", single(P5))
    assert [bench.state(name)[1] for name in "abcd"] == ["Training", "Pending", "Training", "Pending"]


@pytest.mark.parametrize(
    ("setting", "state", "reason"),
    [
        ("stopped", ("Stopped", "Stopped"), None),
        ("failed", ("Failed", "Failed"), "InsufficientCapacityError: The training plan of the job has ended."),
    ],
)
def test_jobs_end_with_the_last_block_as_the_setting_says(setting, state, reason):
    bench = Bench(seconds=90 * HOUR, plans=[plan(blocks=[{"lasts": "2h"}])], settings={"plan_expiry": setting})
    for name in ("runs", "waits"):
        bench.train(name, on_plan(), StoppingCondition={"MaxRuntimeInSeconds": 100_000})
    bench.advance(1.5 * HOUR - 1)
    assert [bench.state(name)[0] for name in ("runs", "waits")] == ["InProgress", "InProgress"]
    bench.advance(2)
    for name in ("runs", "waits"):
        assert (bench.state(name), bench.training(name).get("FailureReason")) == (state, reason)


def test_by_default_nothing_tells_a_job_whose_plan_ended_from_one_that_was_stopped():
    bench = Bench(seconds=90 * HOUR, plans=[plan(blocks=[{"lasts": "2h"}])])
    bench.train(resources=on_plan(), StoppingCondition=LIMITS)
    bench.advance(1.5 * HOUR + 1)
    assert bench.state() == ("Stopped", "Stopped")
    assert "FailureReason" not in bench.training()


def test_a_job_that_arrives_in_the_last_half_hour_ends_at_once():
    bench = Bench(plans=[plan(blocks=[{"lasts": "1h"}])], settings={"plan_expiry": "failed"})
    bench.advance(0.75 * HOUR)
    bench.train(resources=on_plan())
    bench.advance(1)
    assert bench.state() == ("Failed", "Failed")
