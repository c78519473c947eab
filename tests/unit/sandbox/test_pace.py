"""Time that changes its speed and leaps, and durations that are right all the same."""

import json
import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox import Sandbox, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.pace import Moment, Pace, Timekeeper
from tests.unit.sandbox.builders import G5, P5, PLAN, Bench, single, training

INSTANTS = st.floats(1.7e9, 1.9e9)
SPEEDS = st.floats(0.01, 10_000)
SECONDS = st.floats(0, 1e7)


class TestPace:
    def test_elapsed_seconds_pass_at_the_speed(self):
        pace = Pace(1000.0, 600.0, 60.0)
        assert pace.elapsed_at(1002.0) == 720.0
        assert pace.instant_of(720.0) == 1002.0

    def test_a_change_of_speed_keeps_what_has_elapsed(self):
        pace = Pace(1000.0, 0.0, 1.0).at_speed(60.0, Moment(1010.0, 10.0))
        assert pace.elapsed_at(1010.0) == 10.0
        assert pace.elapsed_at(1011.0) == 70.0

    def test_a_leap_is_ahead_by_its_seconds_and_no_more(self):
        pace = Pace(1000.0, 0.0, 2.0).leaping(3600.0, Moment(1010.0, 20.0))
        assert pace.elapsed_at(1010.0) == 3620.0
        assert pace.elapsed_at(1011.0) == 3622.0

    def test_what_was_leapt_over_is_reached_by_the_leap(self):
        pace = Pace(1000.0, 0.0, 1.0).leaping(3600.0, Moment(1010.0, 10.0))
        assert pace.reached(1800.0) == Moment(1010.0, 1800.0)
        assert pace.reached(3611.0) == Moment(1011.0, 3611.0)

    def test_never_is_never(self):
        assert Pace(1000.0, 0.0, 60.0).instant_of(math.inf) == math.inf

    @given(INSTANTS, SECONDS, SPEEDS, SECONDS)
    @example(1.8e9, 0.0, 0.01, 1 / 3)
    def test_at_the_instant_of_a_duration_none_of_it_is_missing(self, instant, elapsed, speed, seconds):
        pace = Pace(instant, elapsed, speed)
        due = elapsed + seconds
        assert pace.elapsed_at(pace.instant_of(due)) >= due
        assert pace.instant_of(due) == pytest.approx(instant + seconds / speed, abs=1e-5)

    @pytest.mark.parametrize("speed", [0.0, -1.0, 1e7, math.inf, math.nan])
    def test_a_speed_that_time_cannot_pass_at_is_refused(self, speed):
        with pytest.raises(InvalidSetting, match="has to be above 0, and 1,000,000 at most"):
            Timekeeper(FakeClock(), speed)
        with pytest.raises(InvalidSetting, match="has to be above 0, and 1,000,000 at most"):
            Pace(0.0, 0.0, 1.0).at_speed(speed, Moment(0.0, 0.0))

    def test_moments_go_back_on_neither_count(self):
        assert Moment(2.0, 1.0).not_before(Moment(1.0, 2.0)) == Moment(2.0, 2.0)

    def test_a_timekeeper_tells_the_moment_by_its_clock(self):
        clock = FakeClock(1000.0)
        time = Timekeeper(clock, speed=10)
        clock.advance(3)
        assert time.now() == Moment(1003.0, 30.0)


CHANGES = st.lists(
    st.one_of(
        st.tuples(st.just("speed"), st.floats(0.1, 1000)),
        st.tuples(st.just("leap"), st.floats(0, 900)),
        st.tuples(st.just("pass"), st.floats(0, 100)),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(CHANGES)
def test_a_pending_limit_ends_a_job_when_so_much_has_elapsed_whatever_the_pace(changes):
    bench = Bench(capacity={G5: 0})
    bench.advance(17)
    bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 7200})
    time = bench.sandbox.time
    began = time.now().elapsed
    for change, value in [*changes, ("speed", 1.0), ("leap", 8000.0)]:
        if change == "speed":
            bench.sandbox.change(speed=value)
        elif change == "leap":
            bench.sandbox.leap(value)
        else:
            bench.clock.advance(value)
        is_over = time.now().elapsed >= began + 7200
        assert bench.training()["TrainingJobStatus"] == ("Stopped" if is_over else "InProgress")


def speed_up(bench: Bench, speed: float) -> None:
    bench.sandbox.change(speed=speed)


class TestChangesOfSpeed:
    def test_in_the_middle_of_a_pending_wait(self):
        bench = Bench(capacity={G5: 0})
        bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 7200})
        bench.advance(3600)
        speed_up(bench, 60)
        bench.advance(59)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_slower_too(self):
        bench = Bench(capacity={G5: 0}, speed=60)
        bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 7200})
        bench.advance(60)
        speed_up(bench, 1)
        bench.advance(3599)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_in_the_middle_of_a_run(self):
        bench = Bench(seconds=1000)
        bench.train()
        bench.advance(400)
        speed_up(bench, 60)
        bench.advance(9.9)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(0.2)
        assert bench.state() == ("Completed", "Completed")

    def test_before_the_most_that_a_run_may_take(self):
        bench = Bench(seconds=9000)
        bench.train()
        bench.advance(1800)
        speed_up(bench, 60)
        bench.advance(29.9)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(0.2)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_in_the_middle_of_the_grace_of_a_stop(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=500)})
        bench.train()
        bench.call("StopTrainingJob", {"TrainingJobName": "job"})
        bench.advance(60)
        speed_up(bench, 60)
        bench.advance(0.9)
        assert bench.state() == ("Stopping", "Stopping")
        bench.advance(0.2)
        assert bench.state() == ("Stopped", "Stopped")

    def test_before_a_fault_of_the_run(self):
        bench = Bench(seconds=3000, job_faults=[{"job": "*", "after": "20m"}])
        bench.train()
        bench.advance(600)
        speed_up(bench, 60)
        bench.advance(9.9)
        assert bench.state() == ("InProgress", "Training")
        bench.advance(0.2)
        assert bench.state() == ("Failed", "Failed")

    def test_while_instances_are_launched(self):
        bench = Bench(settings={"launch_seconds": "10m"})
        bench.train()
        bench.advance(300)
        speed_up(bench, 60)
        bench.advance(4.9)
        assert bench.state() == ("InProgress", "Starting")
        bench.advance(0.2)
        assert bench.state() == ("InProgress", "Training")

    def test_before_capacity_comes(self):
        bench = Bench(capacity={G5: [0, {"after": "20m", "count": 1}]}, seconds=9000)
        bench.train()
        bench.advance(600)
        speed_up(bench, 60)
        bench.advance(9.9)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(0.2)
        assert bench.state() == ("InProgress", "Training")

    def test_between_the_blocks_of_a_plan(self):
        blocks = [{"starts": 0, "lasts": "2h"}, {"starts": "4h", "lasts": "4h"}]
        bench = Bench(seconds=3000, plans=[{"name": "december", "type": P5, "count": 1, "blocks": blocks}])
        bench.advance(3 * 3600)
        bench.train(resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition={"MaxPendingTimeInSeconds": 1800})
        speed_up(bench, 60)
        bench.advance(59)
        assert bench.state() == ("InProgress", "Pending")
        shown = bench.call("DescribeTrainingPlan", {"TrainingPlanName": "december"})
        assert shown["Status"] == "Scheduled"
        assert shown["ReservedCapacitySummaries"][1]["StartTime"] == pytest.approx(bench.clock.time() + 1, abs=0.01)
        bench.advance(2)
        assert bench.state() == ("InProgress", "Training")

    def test_under_spot_whose_wait_counts_from_its_creation(self):
        bench = Bench(seconds=9000, spot={G5: [1, {"after": "10m", "count": 0}]})
        limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
        bench.train(resources=single(G5), EnableManagedSpotTraining=True, StoppingCondition=limits)
        bench.advance(300)
        speed_up(bench, 60)
        bench.advance(5.1)
        assert bench.state()[0] == "InProgress"
        assert "Interrupted" in bench.history()
        bench.advance(109.8)
        assert bench.training()["TrainingJobStatus"] == "InProgress"
        bench.advance(0.3)
        assert bench.state() == ("Stopped", "MaxWaitTimeExceeded")

    def test_while_a_list_lags_behind(self):
        bench = Bench(settings={"list_delay_seconds": 600})
        bench.train()
        bench.advance(300)
        assert bench.call("ListTrainingJobs")["TrainingJobSummaries"] == []
        speed_up(bench, 60)
        bench.advance(4.9)
        assert bench.call("ListTrainingJobs")["TrainingJobSummaries"] == []
        bench.advance(0.2)
        assert [job["TrainingJobName"] for job in bench.call("ListTrainingJobs")["TrainingJobSummaries"]] == ["job"]

    def test_before_a_late_event(self):
        clock, sent = FakeClock(), []
        delayed = {"settings": {"event_delay_seconds": 600, "double_events_every": 0}, "rates": "off"}
        runner = ScriptedRunner(default=Script(seconds=9000))
        with Sandbox(delayed, clock=clock, runner=runner, emit=lambda *event: sent.append(event)) as sandbox:
            sandbox.call("CreateTrainingJob", training())
            sandbox.advance(300)
            sandbox.change(speed=60)
            sandbox.advance(4.9)
            assert sent == []
            sandbox.advance(0.2)
            assert json.loads(sent[-1][2]["Detail"])["SecondaryStatus"] == "Training"

    def test_api_rates_are_left_alone(self):
        bench = Bench(rates={"ListTrainingJobs": 1})
        speed_up(bench, 6000)
        bench.call("ListTrainingJobs")
        with pytest.raises(Exception, match="Rate exceeded"):
            bench.call("ListTrainingJobs")

    def test_instants_stay_those_of_the_clock(self):
        bench = Bench(seconds=120)
        bench.train()
        begin = bench.clock.time()
        bench.advance(60)
        speed_up(bench, 60)
        bench.advance(2)
        shown = bench.training()
        assert shown["TrainingStartTime"] == begin
        assert shown["TrainingEndTime"] == pytest.approx(begin + 61, abs=0.01)


class TestLeaps:
    def test_everything_on_the_way_happens_in_order(self):
        bench = Bench(seconds=600, capacity={G5: [0, {"after": "20m", "count": 1}]})
        bench.train("first", StoppingCondition={"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 3600})
        bench.train("second", StoppingCondition={"MaxPendingTimeInSeconds": 1800, "MaxRuntimeInSeconds": 3600})
        bench.sandbox.leap(3600)
        assert bench.history("first") == ["Starting", "Pending", "Starting", "Downloading", "Training", "Completed"]
        # Its limit is over at the very second at which the first one ends.
        assert bench.state("second") == ("Stopped", "MaxPendingTimeExceeded")
        assert bench.sandbox.time.now().elapsed == 3600

    def test_the_clock_stays_where_it_is(self):
        bench = Bench(capacity={G5: 0})
        bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 7200})
        before = bench.clock.time()
        bench.sandbox.leap(7200)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")
        assert bench.clock.time() == before == bench.training()["LastModifiedTime"]

    def test_a_leap_short_of_a_limit_leaves_the_rest_of_it(self):
        bench = Bench(capacity={G5: 0})
        bench.train(StoppingCondition={"MaxPendingTimeInSeconds": 7200})
        bench.sandbox.leap(7199.5)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(0.4)
        assert bench.state() == ("InProgress", "Pending")
        bench.advance(0.2)
        assert bench.state() == ("Stopped", "MaxPendingTimeExceeded")

    def test_the_grace_of_a_stop_is_kept_in_a_leap(self):
        bench = Bench({"*": Script(seconds=9000, stop_seconds=500)})
        bench.train()
        bench.sandbox.leap(3600 + 119)
        assert bench.state() == ("Stopping", "Stopping")
        bench.sandbox.leap(1)
        assert bench.state() == ("Stopped", "MaxRuntimeExceeded")

    def test_a_job_on_a_plan_goes_on_in_the_next_block(self):
        blocks = [{"starts": 0, "lasts": "2h"}, {"starts": "4h", "lasts": "4h"}]
        bench = Bench(seconds=7200, plans=[{"name": "december", "type": P5, "count": 1, "blocks": blocks}])
        bench.train(resources=single(P5, TrainingPlanArn=PLAN), StoppingCondition={"MaxRuntimeInSeconds": 20_000})
        bench.sandbox.leap(3 * 3600)
        assert bench.state() == ("InProgress", "Pending")
        bench.sandbox.leap(4 * 3600)
        assert bench.state() == ("Completed", "Completed")
        assert len(bench.runner.started) == 2

    def test_spot_that_was_interrupted_runs_again_when_there_is_some(self):
        bench = Bench(
            seconds=1000, spot={G5: [1, {"after": 600, "count": 0}, {"after": 1200, "count": 1}]}, capacity={G5: 0}
        )
        limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
        bench.train(resources=single(G5), EnableManagedSpotTraining=True, StoppingCondition=limits)
        bench.sandbox.leap(2199)
        assert bench.state() == ("InProgress", "Training")
        bench.sandbox.leap(2)
        assert bench.state() == ("Completed", "Completed")
