"""Who gets capacity, who waits for it, and how waiting ends."""

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.accounts import Caller
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, PLAN, Bench, prefer, single, training

NO_CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)


def test_the_first_type_with_capacity_is_selected():
    bench = Bench(capacity={P5: 0, P4D: 2})
    bench.train(resources=prefer((P5, 1), (P4D, 2), (G5, 1)))
    config = bench.training()["ResourceConfig"]
    assert (config["SelectedInstanceType"], config["SelectedInstanceCount"]) == (P4D, 2)
    assert "InstanceType" not in config
    assert "InstanceCount" not in config


def test_all_instances_of_a_candidate_have_to_be_free_at_once():
    bench = Bench(capacity={P5: 3, G5: 1})
    bench.train(resources=prefer((P5, 4), (G5, 1)))
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == G5


def test_a_waiting_job_shows_no_selection_and_no_start():
    bench = Bench(capacity={G5: 0})
    bench.train()
    shown = bench.training()
    assert (shown["TrainingJobStatus"], shown["SecondaryStatus"]) == ("InProgress", "Pending")
    assert "SelectedInstanceType" not in shown["ResourceConfig"]
    assert not {"TrainingStartTime", "BillableTimeInSeconds", "ModelArtifacts"} & shown.keys()


def test_a_waiting_job_starts_when_the_scenario_brings_capacity():
    bench = Bench(capacity={G5: [0, {"after": "20m", "count": 1}]})
    bench.train()
    bench.advance(1199)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state() == ("InProgress", "Training")
    assert bench.history() == ["Starting", "Pending", "Starting", "Downloading", "Training"]


def test_the_speed_divides_durations_and_leaves_timestamps_real():
    bench = Bench(capacity={G5: [0, {"after": "20m", "count": 1}]}, seconds=600, speed=60)
    begin = bench.clock.time()
    bench.train()
    bench.advance(31)
    shown = bench.training()
    assert shown["TrainingJobStatus"] == "Completed"
    assert shown["TrainingStartTime"] == pytest.approx(begin + 20, abs=0.01)
    assert shown["TrainingEndTime"] == pytest.approx(begin + 30, abs=0.01)


def test_a_waiting_job_starts_when_another_ends():
    bench = Bench(seconds=100, capacity={G5: 1})
    bench.train("first")
    bench.train("second")
    bench.advance(99)
    assert bench.state("second") == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state("first") == ("Completed", "Completed")
    assert bench.state("second") == ("InProgress", "Training")


def test_jobs_get_capacity_in_order_of_arrival():
    bench = Bench(seconds=100, capacity={G5: 1})
    for name in ("a", "b", "c"):
        bench.train(name)
    bench.advance(101)
    assert [bench.state(name)[1] for name in "abc"] == ["Completed", "Training", "Pending"]


def test_a_job_that_does_not_fit_holds_up_nobody_behind_it():
    bench = Bench(capacity={G5: 2})
    bench.train("big", prefer((G5, 3)))
    bench.train("small", prefer((G5, 2)))
    assert bench.state("big") == ("InProgress", "Pending")
    assert bench.state("small") == ("InProgress", "Training")


def test_running_jobs_keep_on_demand_instances_that_the_scenario_takes_away():
    bench = Bench(capacity={G5: [1, {"after": 10, "count": 0}]})
    bench.train()
    bench.advance(20)
    assert bench.state() == ("InProgress", "Training")
    bench.train("later")
    assert bench.state("later") == ("InProgress", "Pending")


def test_training_and_processing_jobs_and_all_accounts_share_a_regions_instances():
    bench = Bench(seconds=100, capacity={CPU: 1})
    bench.process()
    bench.train("job", prefer(G5, CPU))
    bench.train("cpu", prefer(CPU))
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == G5
    assert bench.state("cpu") == ("Failed", "Failed")
    other, elsewhere = Caller("210987654321", "us-east-1"), Caller("123456789012", "eu-west-1")
    for caller, status in ((other, "Failed"), (elsewhere, "InProgress")):
        bench.call("CreateTrainingJob", training("job", prefer(CPU)), caller)
        shown = bench.call("DescribeTrainingJob", {"TrainingJobName": "job"}, caller)
        assert shown["TrainingJobStatus"] == status


def test_a_count_for_every_other_type_holds_for_each_by_itself():
    bench = Bench(capacity={"*": 1, P5: 0})
    for name, instance_type in (("a", G5), ("b", P4D), ("c", G5), ("d", P5)):
        bench.train(name, prefer(instance_type))
    assert [bench.state(name)[1] for name in "abcd"] == ["Training", "Training", "Pending", "Pending"]


def test_a_cpu_only_list_is_tried_once():
    bench = Bench(capacity={CPU: 0})
    bench.train(resources=prefer(CPU), StoppingCondition={"MaxPendingTimeInSeconds": 7200})
    shown = bench.training()
    assert (shown["TrainingJobStatus"], shown["FailureReason"]) == ("Failed", NO_CAPACITY)
    assert bench.history() == ["Starting", "Failed"]


def test_a_cpu_type_in_an_accelerated_list_is_tried_again():
    bench = Bench(capacity={CPU: [0, {"after": 60, "count": 1}], G5: 0})
    bench.train(resources=prefer(G5, CPU))
    bench.advance(61)
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == CPU


def test_a_classic_accelerated_request_waits_and_shows_no_selection():
    bench = Bench(capacity={G5: [0, {"after": 60, "count": 1}]})
    bench.train(resources=single(G5))
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(61)
    assert bench.state() == ("InProgress", "Training")
    assert "SelectedInstanceType" not in bench.training()["ResourceConfig"]


@pytest.mark.parametrize(
    ("setting", "status", "secondary", "reason"),
    [
        ("stopped", "Stopped", "MaxPendingTimeExceeded", None),
        ("failed", "Failed", "Failed", NO_CAPACITY),
        (
            "failed_ice",
            "Failed",
            "Failed",
            "InsufficientCapacityError: Unable to provision requested ML compute capacity in time.",
        ),
    ],
)
def test_the_pending_limit_ends_a_job_as_the_setting_says(setting, status, secondary, reason):
    bench = Bench(capacity={G5: 0}, settings={"pending_expiry": setting})
    bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 1800})
    bench.advance(1799)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state() == (status, secondary)
    assert bench.training().get("FailureReason") == reason
    assert "TrainingStartTime" not in bench.training()


def test_an_accelerated_job_without_a_limit_waits_two_days():
    bench = Bench(capacity={G5: 0})
    bench.train()
    bench.advance(172_799)
    assert bench.state() == ("InProgress", "Pending")
    bench.advance(2)
    assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")


def test_a_clock_that_jumps_finds_capacity_that_came_before_the_limit():
    bench = Bench(capacity={G5: [0, {"after": 1200, "count": 1}]})
    bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 9000})
    bench.clock.advance(5000)
    assert bench.state() == ("InProgress", "Training")
    starts = [t["StartTime"] for t in bench.training()["SecondaryStatusTransitions"]]
    assert starts == sorted(starts)


def test_the_pending_limit_does_not_end_a_running_job():
    bench = Bench(seconds=3000, capacity={G5: 1})
    bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 5000})
    bench.advance(2000)
    assert bench.state() == ("InProgress", "Training")


def test_a_processing_job_waits_for_ever_by_default():
    bench = Bench(capacity={CPU: [0, {"after": "30d", "count": 1}]})
    bench.process()
    bench.advance(29 * 86_400)
    assert bench.processing()["ProcessingJobStatus"] == "InProgress"
    assert "SelectedInstanceType" not in bench.processing()["ProcessingResources"]["ClusterConfig"]
    bench.advance(86_400 + 101)
    assert bench.processing()["ProcessingJobStatus"] == "Completed"
    assert bench.processing()["ProcessingResources"]["ClusterConfig"]["SelectedInstanceType"] == CPU


def test_a_processing_job_under_shortage_fails_if_the_setting_says_so():
    bench = Bench(capacity={CPU: 0}, settings={"processing_shortage": "fails"})
    bench.process()
    assert bench.processing()["FailureReason"] == NO_CAPACITY


def test_launching_takes_as_long_as_the_setting_says():
    bench = Bench(settings={"launch_seconds": "3m"})
    bench.train()
    bench.advance(179)
    assert bench.state() == ("InProgress", "Starting")
    assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == G5
    bench.advance(2)
    assert bench.state() == ("InProgress", "Training")


BLOCKS = {"name": "december", "type": P5, "count": 1, "blocks": [{"starts": "1h", "lasts": "2h"}]}


class TestPlans:
    def test_a_list_passes_over_a_plan_that_has_not_begun(self):
        bench = Bench(capacity={P4D: 1}, plans=[BLOCKS])
        resources = prefer(P5, P4D)
        resources["InstancePreferences"][0]["TrainingPlanArns"] = [PLAN]
        bench.train(resources=resources)
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P4D

    def test_a_list_takes_an_active_plan_first_and_leaves_on_demand_alone(self):
        bench = Bench(capacity={P5: 0, P4D: 1}, plans=[BLOCKS])
        bench.advance(3601)
        resources = prefer(P5, P4D)
        resources["InstancePreferences"][0]["TrainingPlanArns"] = [PLAN]
        bench.train(resources=resources)
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P5
        plan = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
        assert (plan["AvailableInstanceCount"], plan["InUseInstanceCount"]) == (0, 1)

    def test_a_job_level_plan_beside_a_list_belongs_to_the_entry_of_its_type(self):
        bench = Bench(capacity={P5: 0, P4D: 1}, plans=[BLOCKS])
        bench.advance(3601)
        bench.train(resources={**prefer(P4D, P5), "TrainingPlanArn": PLAN})
        bench.train("other", resources={**prefer(P4D, P5), "TrainingPlanArn": PLAN})
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P4D
        assert bench.training("other")["ResourceConfig"]["SelectedInstanceType"] == P5

    def test_a_job_on_a_plan_waits_for_it_without_spending_its_pending_limit(self):
        bench = Bench(plans=[BLOCKS])
        limits = {"MaxPendingTimeInSeconds": 1800}
        bench.train(resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition=limits)
        bench.advance(3599)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("InProgress", "Training")

    def test_waiting_in_an_active_plan_spends_the_pending_limit(self):
        bench = Bench(seconds=7000, plans=[{**BLOCKS, "blocks": [{"lasts": "10h"}]}])
        limits = {"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 9000}
        bench.train("first", resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition=limits)
        bench.train("second", resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition=limits)
        bench.advance(1801)
        assert bench.state("second") == ("Stopped", "MaxPendingTimeExceeded")

    def test_jobs_end_half_an_hour_before_a_block_and_go_on_in_the_next(self):
        blocks = [{"starts": 0, "lasts": "2h"}, {"starts": "4h", "lasts": "4h"}]
        bench = Bench(seconds=7200, plans=[{**BLOCKS, "blocks": blocks}])
        bench.train(resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition={"MaxRuntimeInSeconds": 20_000})
        bench.advance(5399)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(2)
        assert bench.state() == ("InProgress", "Pending")
        status = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})["Status"]
        assert status == "Active"
        bench.advance(2 * 3600)
        assert bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})["Status"] == "Scheduled"
        bench.advance(2 * 3600)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(7200)
        assert bench.state() == ("Completed", "Completed")
        assert len(bench.runner.started) == 2


LIMITS = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}


class TestSpot:
    def spot(self, bench: Bench, name: str = "job") -> None:
        bench.train(name, single(G5), EnableManagedSpotTraining=True, StoppingCondition=LIMITS)

    def test_spot_and_on_demand_are_counted_apart(self):
        bench = Bench(capacity={G5: 0}, spot={G5: 1})
        self.spot(bench)
        assert bench.state() == ("InProgress", "Training")

    def test_waiting_for_spot_ends_with_the_wait_limit(self):
        bench = Bench(spot={G5: 0})
        self.spot(bench)
        bench.advance(7201)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")

    def test_an_interrupted_job_goes_on_when_spot_comes_back(self):
        bench = Bench(seconds=500, spot={G5: [1, {"after": 60, "count": 0}, {"after": 600, "count": 1}]})
        self.spot(bench)
        bench.advance(61)
        assert bench.state()[0] == "InProgress"
        assert "Interrupted" in bench.history()
        bench.advance(1100)
        assert bench.state() == ("Completed", "Completed")
        assert len(bench.runner.started) == 2

    def test_the_latest_job_is_interrupted_first(self):
        bench = Bench(seconds=500, spot={G5: [2, {"after": 60, "count": 1}]})
        self.spot(bench, "old")
        self.spot(bench, "new")
        bench.advance(61)
        assert "Interrupted" not in bench.history("old")
        assert "Interrupted" in bench.history("new")

    def test_the_wait_limit_includes_the_time_that_a_spot_job_runs(self):
        bench = Bench(seconds=20_000, spot={G5: [0, {"after": 5000, "count": 1}]})
        self.spot(bench)
        bench.advance(7201)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")


class TestEndings:
    def test_a_job_completes(self):
        bench = Bench(seconds=100)
        bench.train()
        bench.advance(101)
        shown = bench.training()
        assert shown["TrainingJobStatus"] == "Completed"
        assert shown["ModelArtifacts"]["S3ModelArtifacts"] == "s3://bucket/models/job/output/model.tar.gz"
        assert (shown["TrainingTimeInSeconds"], shown["BillableTimeInSeconds"]) == (100, 100)
        ends = [t["EndTime"] for t in shown["SecondaryStatusTransitions"]]
        assert ends == sorted(ends)

    def test_a_failure_reason_is_cut_at_1024_characters(self):
        bench = Bench({"*": Script.fails("AlgorithmError: " + "x" * 2000, seconds=5)})
        bench.train()
        bench.advance(6)
        assert bench.state() == ("Failed", "Failed")
        assert len(bench.training()["FailureReason"]) == 1024

    def test_a_processing_job_leaves_its_message(self):
        bench = Bench({"*": Script(seconds=5, exit_message="rows: 3")})
        bench.process()
        bench.advance(6)
        assert bench.processing()["ExitMessage"] == "rows: 3"

    def test_the_runtime_limit_stops_a_job(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=500)})
        bench.train()
        bench.advance(3600 + 119)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(2)
        shown = bench.training()
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")
        assert "FailureReason" not in shown

    def test_stopping_takes_at_most_the_grace(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=500)})
        bench.train()
        bench.advance(1)
        bench.call("StopTrainingJob", {"TrainingJobName": "job"})
        assert bench.state() == ("Stopping", "Stopping")
        bench.call("StopTrainingJob", {"TrainingJobName": "job"})
        bench.advance(119)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(2)
        assert bench.state() == ("Stopped", "Stopped")

    def test_the_grace_is_divided_by_the_speed(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=500)}, speed=60)
        bench.train()
        bench.advance(1)
        bench.call("StopTrainingJob", {"TrainingJobName": "job"})
        bench.advance(2.1)
        assert bench.state() == ("Stopped", "Stopped")

    def test_stopping_a_pending_job_ends_it(self):
        bench = Bench(capacity={G5: 0})
        bench.train()
        bench.advance(5)
        bench.call("StopTrainingJob", {"TrainingJobName": "job"})
        assert bench.state() == ("Stopped", "Stopped")
        assert bench.history() == ["Starting", "Pending", "Stopping", "Stopped"]
        assert not bench.runner.started

    def test_stopping_a_launching_job_frees_its_instances(self):
        bench = Bench(capacity={G5: 1}, settings={"launch_seconds": 60})
        bench.train("first")
        bench.train("second")
        bench.advance(1)
        bench.call("StopTrainingJob", {"TrainingJobName": "first"})
        bench.advance(61)
        assert bench.state("second") == ("InProgress", "Training")
        assert [spec.name for spec in bench.runner.started] == ["second"]

    def test_an_injected_fault_fails_a_running_job(self):
        bench = Bench(job_faults=[{"job": "bad-*", "after": 10}])
        bench.train("bad-one")
        bench.train("good")
        bench.advance(11)
        assert bench.training("bad-one")["FailureReason"].startswith("InternalServerError")
        assert bench.state("good") == ("InProgress", "Training")

    def test_a_retry_strategy_starts_the_job_again(self):
        bench = Bench(seconds=100, job_faults=[{"job": "*", "after": 10}])
        bench.train(RetryStrategy={"MaximumRetryAttempts": 1})
        bench.advance(200)
        assert bench.state() == ("Completed", "Completed")
        assert len(bench.runner.started) == 2

    def test_a_retry_strategy_does_not_retry_the_users_errors(self):
        bench = Bench({"*": Script.fails("AlgorithmError: , exit code: 1", seconds=5)})
        bench.train(RetryStrategy={"MaximumRetryAttempts": 3})
        bench.advance(10)
        assert bench.state() == ("Failed", "Failed")

    def test_a_runner_that_cannot_start_fails_the_job(self):
        bench = Bench()

        def broken(*_: object) -> None:
            raise OSError("no processes left")

        bench.runner.start = broken
        bench.train()
        bench.advance(1)
        assert bench.training()["FailureReason"].startswith("InternalServerError: The sandbox could not start")
