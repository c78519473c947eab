"""How jobs end: by limits, by a stop at every moment of their lives, by failures and by spot."""

import pytest

from airflow_sm_prefer.sandbox import Script
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, Bench, prefer, single

INTERNAL = "InternalServerError: We encountered an internal error. Please try again."
LONG = {"*": Script(seconds=9000, stop_seconds=500)}
SPOT = {"EnableManagedSpotTraining": True}
LIMITS = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}


def stop(bench: Bench, name: str = "job") -> None:
    bench.call("StopTrainingJob", {"TrainingJobName": name})


def limit(seconds: int) -> dict:
    return {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": seconds}


class TestPendingLimit:
    def test_one_limit_holds_for_the_whole_list(self):
        bench = Bench(capacity={P5: 0, P4D: 0, G5: 0})
        bench.train(resources=prefer(P5, P4D, G5), StoppingCondition=limit(1800))
        bench.advance(1801)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_one_accelerated_entry_is_enough_for_it_to_hold(self):
        bench = Bench(capacity={CPU: 0, G5: 0})
        bench.train(resources=prefer(CPU, G5), StoppingCondition=limit(1800))
        bench.advance(1799)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_it_is_divided_by_the_speed(self):
        bench = Bench(capacity={G5: 0}, speed=60)
        bench.train(StoppingCondition=limit(1800))
        bench.advance(29.9)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(0.2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_the_default_is_a_setting(self):
        bench = Bench(capacity={G5: 0}, settings={"default_pending_seconds": "1h"})
        bench.train()
        bench.advance(3601)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_the_name_of_its_secondary_status_is_a_setting(self):
        bench = Bench(capacity={G5: 0}, settings={"pending_expiry_secondary": "PendingTimeout"})
        bench.train(StoppingCondition=limit(1800))
        bench.advance(1801)
        assert bench.state() == ("Stopped", "PendingTimeout")
        assert bench.history()[-1] == "PendingTimeout"

    def test_waits_before_and_after_a_run_add_up(self):
        capacity = {G5: [0, {"after": 1000, "count": 1}, {"after": 1010, "count": 0}]}
        bench = Bench(seconds=3000, capacity=capacity, job_faults=[{"job": "job", "after": 500}])
        bench.train("job", StoppingCondition=limit(1800), RetryStrategy={"MaximumRetryAttempts": 1})
        bench.advance(1501)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(798)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_waiting_changes_nothing_about_a_job_whatever_comes_and_goes_around_it(self):
        bench = Bench(seconds=10, capacity={G5: 0})
        bench.train()
        before = bench.training()
        bench.train("other", prefer(P5))
        bench.advance(100)
        assert bench.training() == before


class TestRuntimeLimit:
    def test_a_job_is_stopping_for_its_grace_and_then_stopped_without_a_reason(self):
        bench = Bench(LONG)
        bench.train()
        bench.advance(3599)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(2)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(120)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")
        assert "FailureReason" not in bench.training()
        assert bench.history()[-2:] == ["Stopping", "MaxRuntimeExceeded"]

    def test_it_is_a_day_without_a_stopping_condition(self):
        bench = Bench({"*": Script(seconds=100_000)})
        bench.train(StoppingCondition={})
        bench.advance(86_399)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_it_bounds_all_attempts_in_total(self):
        bench = Bench({"*": Script(seconds=9000)}, job_faults=[{"job": "*", "after": 2000}])
        bench.train(RetryStrategy={"MaximumRetryAttempts": 5})
        bench.advance(3599)
        assert (bench.state(), len(bench.runner.started)) == (("InProgress", "Training"), 2)
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_time_without_instances_does_not_count(self):
        bench = Bench({"*": Script(seconds=9000)}, capacity={G5: [0, {"after": "2h", "count": 1}]})
        bench.train()
        bench.advance(7200 + 3599)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_stopping_a_job_that_its_limit_stops_already_changes_nothing(self):
        bench = Bench(LONG)
        bench.train()
        bench.advance(3601)
        stop(bench)
        bench.advance(120)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_a_processing_job_has_one_too(self):
        bench = Bench({"*": Script(seconds=9000)})
        bench.process(StoppingCondition={"MaxRuntimeInSeconds": 600})
        bench.advance(601)
        assert bench.processing()["ProcessingJobStatus"] == "Stopped"


class TestStop:
    def test_a_job_may_save_its_work_within_two_minutes(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=60)})
        bench.train()
        bench.advance(10)
        stop(bench)
        bench.advance(59)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(2)
        assert bench.state() == ("Stopped", "Stopped")

    def test_a_job_that_is_launching_never_begins(self):
        bench = Bench(settings={"launch_seconds": 60})
        bench.train()
        bench.advance(30)
        stop(bench)
        assert bench.state() == ("Stopped", "Stopped")
        assert bench.history() == ["Starting", "Stopping", "Stopped"]
        assert "TrainingStartTime" not in bench.training()
        bench.advance(100)
        assert not bench.runner.started

    def test_a_stopped_job_frees_its_instances_when_it_has_ended_not_before(self):
        bench = Bench(LONG, capacity={G5: 1})
        bench.train()
        bench.train("next")
        bench.advance(1)
        stop(bench)
        bench.advance(119)
        assert bench.state("next") == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state("next") == ("InProgress", "Training")

    def test_an_interrupted_job_that_is_stopped_is_not_started_again(self):
        bench = Bench(LONG, spot={G5: [1, {"after": 60, "count": 0}, {"after": 300, "count": 1}]})
        bench.train("job", single(G5), **SPOT, StoppingCondition=LIMITS)
        bench.advance(61)
        assert bench.state() == ("InProgress", "Interrupted")
        stop(bench)
        bench.advance(400)
        assert bench.state() == ("Stopped", "Stopped")
        assert len(bench.runner.started) == 1

    def test_a_processing_job(self):
        bench = Bench(LONG)
        bench.process()
        bench.advance(1)
        bench.call("StopProcessingJob", {"ProcessingJobName": "job"})
        assert bench.processing()["ProcessingJobStatus"] == "Stopping"
        bench.advance(121)
        assert bench.processing()["ProcessingJobStatus"] == "Stopped"


class TestFailures:
    def test_a_container_that_leaves_no_reason_fails_with_its_exit_code(self):
        bench = Bench({"*": Script.fails("AlgorithmError: , exit code: 2", seconds=5)})
        bench.train()
        bench.advance(6)
        assert bench.training()["FailureReason"] == "AlgorithmError: , exit code: 2"

    def test_an_internal_error_ends_a_job_at_once_whatever_it_does(self):
        bench = Bench(LONG, job_faults=[{"job": "*", "after": 10}])
        bench.train()
        bench.advance(11)
        assert (bench.state(), bench.training()["FailureReason"]) == (("Failed", "Failed"), INTERNAL)

    def test_attempts_are_counted(self):
        bench = Bench(job_faults=[{"job": "*", "after": 10, "times": 9}])
        bench.train(RetryStrategy={"MaximumRetryAttempts": 2})
        bench.advance(60)
        assert len(bench.runner.started) == 3
        assert (bench.state(), bench.training()["FailureReason"]) == (("Failed", "Failed"), INTERNAL)

    def test_an_attempt_begins_with_starting_again_and_keeps_the_first_start_time(self):
        bench = Bench(job_faults=[{"job": "*", "after": 10}])
        bench.train(RetryStrategy={"MaximumRetryAttempts": 1})
        started = bench.training()["TrainingStartTime"]
        bench.advance(200)
        run = ["Starting", "Downloading", "Training"]
        assert bench.history() == [*run, *run, "Completed"]
        assert bench.training()["TrainingStartTime"] == started

    def test_an_attempt_gives_its_instances_up_and_queues_by_its_arrival(self):
        bench = Bench(seconds=100, capacity={G5: 2}, job_faults=[{"job": "mine", "after": 10}])
        bench.train("big", prefer((G5, 3)))
        bench.train("mine", RetryStrategy={"MaximumRetryAttempts": 1})
        bench.train("other")
        bench.train("later")
        bench.advance(11)
        assert bench.state("mine") == ("InProgress", "Training")
        assert bench.state("later") == ("InProgress", "Pending")

    def test_an_attempt_may_lose_its_instances_to_a_job_that_came_before(self):
        bench = Bench(seconds=100, capacity={G5: [1, {"after": 5, "count": 2}]})
        bench.sandbox.change(job_faults=[{"job": "mine", "after": 10}])
        bench.train("big", prefer((G5, 2)))
        bench.train("mine", RetryStrategy={"MaximumRetryAttempts": 1})
        bench.advance(11)
        assert bench.state("big") == ("InProgress", "Training")
        assert bench.state("mine") == ("InProgress", "Pending")

    @pytest.mark.parametrize("reason", ["ClientError: no", "AlgorithmError: InternalServerError", "CapacityError: no"])
    def test_nothing_but_an_internal_error_is_retried(self, reason):
        bench = Bench({"*": Script.fails(reason, seconds=5)})
        bench.train(RetryStrategy={"MaximumRetryAttempts": 3})
        bench.advance(50)
        assert (bench.state(), len(bench.runner.started)) == (("Failed", "Failed"), 1)

    def test_a_processing_job_is_not_retried(self):
        bench = Bench(job_faults=[{"job": "*", "after": 10}])
        bench.process()
        bench.advance(11)
        assert bench.processing()["FailureReason"] == INTERNAL

    def test_a_list_is_swept_anew_for_an_attempt(self):
        bench = Bench(capacity={P5: [1, {"after": 5, "count": 0}], G5: 1}, job_faults=[{"job": "*", "after": 10}])
        bench.train(resources=prefer(P5, G5), RetryStrategy={"MaximumRetryAttempts": 1})
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P5
        bench.advance(11)
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == G5


class TestSpot:
    def spot(self, bench: Bench, name: str = "job", count: int = 1, **limits) -> None:
        bench.train(name, single(G5, count), **SPOT, StoppingCondition=LIMITS | limits)

    def test_an_interrupted_job_stays_interrupted_until_it_starts_again(self):
        bench = Bench(seconds=500, spot={G5: [1, {"after": 60, "count": 0}, {"after": 600, "count": 1}]})
        self.spot(bench)
        bench.advance(599)
        assert bench.state() == ("InProgress", "Interrupted")
        bench.advance(2)
        run = ["Starting", "Downloading", "Training"]
        assert bench.history() == [*run, "Interrupted", *run]

    def test_the_latest_are_interrupted_first_until_the_rest_fit(self):
        bench = Bench(seconds=500, spot={G5: [4, {"after": 60, "count": 2}]})
        for name in "abcd":
            self.spot(bench, name)
        bench.advance(61)
        assert [name for name in "abcd" if "Interrupted" in bench.history(name)] == ["c", "d"]

    def test_an_interrupted_job_goes_before_those_that_came_after_it(self):
        bench = Bench(seconds=500, spot={G5: [1, {"after": 60, "count": 0}, {"after": 600, "count": 1}]})
        self.spot(bench, "first")
        bench.advance(100)
        self.spot(bench, "second")
        bench.advance(501)
        assert bench.state("first") == ("InProgress", "Training")
        assert bench.state("second") == ("InProgress", "Pending")

    def test_more_on_demand_capacity_is_no_spot_capacity(self):
        bench = Bench(spot={G5: 0}, capacity={G5: 5})
        self.spot(bench)
        assert bench.state() == ("InProgress", "Pending")

    def test_a_cpu_job_waits_for_spot_too(self):
        bench = Bench(spot={CPU: [0, {"after": 60, "count": 1}]})
        bench.train("job", single(CPU), **SPOT, StoppingCondition=LIMITS)
        bench.advance(61)
        assert bench.state() == ("InProgress", "Training")

    @pytest.mark.parametrize("expiry", ["stopped", "failed", "failed_ice"])
    def test_waiting_in_vain_ends_with_the_wait_limit_whatever_the_pending_setting(self, expiry):
        bench = Bench(spot={G5: 0}, settings={"pending_expiry": expiry})
        self.spot(bench, MaxPendingTimeInSeconds=1800)
        bench.advance(7199)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")
        assert bench.history() == ["Starting", "Pending", "Stopping", "MaxWaitTimeExceeded"]

    def test_the_wait_limit_ends_a_run_with_its_grace(self):
        bench = Bench(LONG, spot={G5: [0, {"after": 5000, "count": 1}]})
        self.spot(bench)
        bench.advance(7201)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(120)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")

    def test_the_wait_limit_counts_interruptions_too(self):
        times = [1, *({"after": 1000 * n, "count": n % 2 ^ 1} for n in range(1, 8))]
        bench = Bench({"*": Script(seconds=3500)}, spot={G5: times})
        self.spot(bench, MaxRuntimeInSeconds=7000)
        bench.advance(7201)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")

    def test_a_wait_limit_that_comes_during_the_grace_of_an_interruption_holds(self):
        bench = Bench(LONG, spot={G5: [0, {"after": 3700, "count": 1}, {"after": 7150, "count": 0}]})
        self.spot(bench, MaxRuntimeInSeconds=7000)
        bench.advance(7201)
        assert bench.state() == ("InProgress", "Interrupted")
        bench.sandbox.change(spot={G5: 1})
        bench.advance(200)
        assert bench.state()[1] in {"Stopping", "MaxWaitTimeExceeded"}
        bench.advance(121)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")

    def test_a_wait_limit_that_comes_while_instances_launch_holds(self):
        bench = Bench(spot={G5: [0, {"after": 7190, "count": 1}]}, settings={"launch_seconds": 60})
        self.spot(bench)
        bench.advance(7201)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")
        assert not bench.runner.started
