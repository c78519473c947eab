from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import (
    Begun,
    Created,
    Fail,
    Finish,
    Found,
    Glimpsed,
    Sleep,
    Stop,
    Submit,
    Unseen,
    Watch,
    Woken,
)
from airflow_sm_prefer.placement.state import Entry, Phase, State, StopReason

from .builders import (
    HOUR,
    NOW,
    PLAN,
    SERVICE_JOB,
    Driver,
    in_queue,
    job,
    new_state,
    planned_state,
    queued_driver,
    reserved,
)


def unseen(verdict: Verdict = Verdict.LOST) -> Unseen:
    return Unseen(Judgement(verdict, "AWS says nothing."))


def found(status: str = "InProgress", **fields: Any) -> Found:
    look = {key: fields.pop(key) for key in ("selected_type", "capacity_at", "ended", "secondary") if key in fields}
    seen = job(status, name="job-3", **look)
    return Found(**{"seen": seen, "arn": "arn:3", "submission": 3, "is_retry": True, "first_submit": NOW, **fields})


# -- waiting and running -------------------------------------------------------------------------------------


def test_a_waiting_job_is_watched_and_a_status_is_told_once() -> None:
    driver = Driver(new_state()).watching()
    for _ in range(3):
        assert driver.sees(secondary="Pending", after=30) == (Watch(NOW + 6 * HOUR),)
    assert driver.told[1:] == ["job-1 is InProgress (Pending)"]


def test_the_selected_type_is_told_with_its_place_in_the_list_and_the_wait() -> None:
    driver = Driver(new_state()).watching()
    driver.sees(selected_type="ml.p4d.24xlarge", selected_count=1, secondary="Starting", after=1500)
    assert driver.told[1] == (
        "job-1 has capacity: 1 x ml.p4d.24xlarge (On-Demand), the 2nd of 2 choices, after 25 min."
    )
    assert driver.state.selected == 1
    assert (driver.state.selected_type, driver.state.selected_count) == ("ml.p4d.24xlarge", 1)
    assert driver.state.pending_spent == 1500.0
    assert driver.state.wait_began is None


def test_the_wait_is_counted_up_to_when_the_capacity_came_not_to_when_it_was_seen() -> None:
    driver = Driver(new_state()).watching()
    driver.sees(selected_type="ml.p4d.24xlarge", capacity_at=NOW + 100.0, after=130)
    assert driver.state.pending_spent == 100.0


def test_a_speed_counts_the_wait_in_awss_seconds() -> None:
    driver = Driver(new_state(speed=60.0)).watching()
    driver.sees(selected_type="ml.p4d.24xlarge", after=25)
    assert driver.state.pending_spent == 1500.0
    assert "after 25 min" in driver.told[1]


def test_the_only_entry_is_known_without_awss_saying_so() -> None:
    driver = Driver(new_state("ml.m5.xlarge")).watching()
    driver.sees(secondary="Downloading", capacity_at=NOW + 5, after=10)
    assert driver.state.selected == 0
    assert driver.state.selected_type == "ml.m5.xlarge"
    assert "the only choice" in driver.told[1]


def test_a_job_whose_type_is_not_told_has_capacity_all_the_same() -> None:
    driver = Driver(new_state()).watching()
    driver.sees(secondary="Training", after=10)
    assert driver.told[1] == "job-1 has capacity, after 10 s."
    assert driver.state.selected is None


def test_a_type_that_is_not_on_the_list_is_told_as_it_is() -> None:
    driver = Driver(new_state()).watching()
    driver.sees(selected_type="ml.x1.large", selected_count=2, after=10)
    assert driver.told[1] == "job-1 has capacity on 2 x ml.x1.large, after 10 s."
    assert driver.told[2] == "job-1 runs on ml.x1.large, which was not asked for."
    assert driver.state.selected is None
    assert driver.state.selected_type == "ml.x1.large"


OTHER_PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/other"


@pytest.mark.parametrize(
    ("entry", "look", "says"),
    [
        (reserved(), {"training_plan_arn": PLAN, "selected_count": 2}, None),
        (reserved(), {"selected_count": 2}, None),
        (reserved(), {"training_plan_arn": OTHER_PLAN}, f"runs on training plan {OTHER_PLAN}, and training plan dec"),
        (Entry("ml.p5.48xlarge", 2), {"training_plan_arn": PLAN}, f"runs on training plan {PLAN}, and none was asked"),
        (Entry("ml.p5.48xlarge", 2), {"selected_count": 1}, "runs on 1 instances, and 2 were asked for"),
    ],
)
def test_a_job_that_runs_on_other_capacity_than_it_was_sent_for_is_told(
    entry: Entry, look: dict[str, Any], says: str | None
) -> None:
    driver = Driver(planned_state(entry))
    driver.state = driver.state.but(asked=True)
    driver.watching()
    driver.sees(selected_type="ml.p5.48xlarge", after=10, **look)
    odd = [line for line in driver.told if "asked for" in line]
    assert (says is None and not odd) or (says is not None and says in odd[0])


def test_a_running_job_has_no_pending_deadline() -> None:
    driver = Driver(new_state(budget=100.0)).watching()
    driver.sees(selected_type="ml.p4d.24xlarge", after=50)
    (watch,) = driver.sees(selected_type="ml.p4d.24xlarge", after=500)
    assert isinstance(watch, Watch)
    assert watch.until is not None
    assert watch.until > NOW + 86400


def test_a_completed_job_finishes_the_task() -> None:
    driver = Driver(new_state()).watching()
    assert driver.sees(status="Completed", selected_type="ml.p5.48xlarge", capacity_at=NOW, after=60) == (Finish(),)
    assert driver.state.phase is Phase.OVER


def test_a_job_that_got_capacity_and_ended_between_two_looks_is_told_in_full() -> None:
    driver = Driver(new_state()).watching()
    driver.sees(status="Completed", selected_type="ml.p5.48xlarge", capacity_at=NOW + 10, after=60)
    assert driver.told[1:] == [
        "job-1 has capacity: 1 x ml.p5.48xlarge (On-Demand), the 1st of 2 choices, after 10 s.",
        "job-1 is Completed",
    ]


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("AlgorithmError: , exit code: 1", Verdict.USER_ERROR),
        ("AlgorithmError: CapacityError: none left, exit code: 1", Verdict.USER_ERROR),
        ("InternalServerError: We encountered an internal error.", Verdict.INFRASTRUCTURE),
        ("Something new", Verdict.UNKNOWN),
    ],
)
def test_a_failed_job_fails_the_task_with_awss_words(reason: str, verdict: Verdict) -> None:
    driver = Driver(new_state()).watching()
    assert driver.sees(status="Failed", failure_reason=reason, capacity_at=NOW) == (Fail(Judgement(verdict, reason)),)
    assert driver.told[-1] == f"job-1 is Failed: {reason}"
    assert driver.state.attempts[0].verdict is verdict


# -- the end of the budget -----------------------------------------------------------------------------------


def test_a_job_without_capacity_at_the_end_of_the_budget_is_stopped_and_the_task_fails() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    assert driver.sees(secondary="Pending", after=599)[0] == Watch(NOW + 600)
    stop, watch = driver.sees(secondary="Pending", after=1)
    assert stop == Stop("job-1")
    assert isinstance(watch, Watch)
    assert driver.sees(status="Stopping", after=5)[0] == watch.__class__(driver.now + 60)
    (failed,) = driver.sees(status="Stopped", secondary="Stopped", ended=driver.now, after=5)
    assert failed.judgement.verdict is Verdict.CAPACITY
    assert "within max_pending (10 min)" in failed.judgement.text


def test_aws_is_left_to_end_a_job_whose_limit_it_was_sent() -> None:
    driver = Driver(new_state(budget=3600.0)).watching(max_pending=3600.0)
    assert isinstance(driver.sees(secondary="Pending", after=3650)[0], Watch)
    assert driver.sees(secondary="Pending", after=10)[0] == Stop("job-1")


def test_aws_is_not_waited_for_where_its_limit_is_longer_than_the_budget() -> None:
    driver = Driver(new_state(budget=600.0)).watching(max_pending=1800.0)
    assert driver.sees(secondary="Pending", after=600)[0] == Stop("job-1")


@pytest.mark.parametrize(
    "ending",
    [
        {"status": "Stopped", "secondary": "MaxPendingTimeExceeded"},
        {"status": "Stopped", "secondary": "Stopped"},
        {"status": "Failed", "failure_reason": "CapacityError: Unable to provision requested ML compute capacity."},
        {"status": "Failed", "failure_reason": "InsufficientCapacityError: no capacity within the limit"},
    ],
)
def test_every_way_that_aws_ends_a_pending_job_means_no_capacity(ending: dict[str, Any]) -> None:
    driver = Driver(new_state(budget=3600.0)).watching(max_pending=3600.0)
    (failed,) = driver.sees(**ending, ended=NOW + 3600, after=3605)
    assert failed.judgement.verdict is Verdict.CAPACITY


def test_a_capacity_failure_before_the_budget_ends_is_followed_by_another_round() -> None:
    driver = Driver(new_state(budget=6 * HOUR)).watching()
    (pause,) = driver.sees(status="Failed", failure_reason="CapacityError: none", ended=NOW + 60, after=60)
    assert isinstance(pause, Sleep)


def test_our_own_stop_is_recognised_though_whoever_sent_it_is_gone() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    (failed,) = driver.sees(status="Stopped", secondary="Stopped", ended=NOW + 605, after=700)
    assert failed.judgement.verdict is Verdict.CAPACITY


def test_a_stop_by_someone_before_the_budget_ends_is_no_shortage() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    (failed,) = driver.sees(status="Stopped", secondary="Stopped", ended=NOW + 300, after=700)
    assert failed.judgement.verdict is Verdict.STOPPED
    assert "somebody stopped it" in failed.judgement.text


def test_capacity_in_time_counts_though_it_is_seen_after_the_deadline() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    (watch,) = driver.sees(selected_type="ml.p5.48xlarge", capacity_at=NOW + 590, after=700)
    assert isinstance(watch, Watch)


def test_a_job_that_completes_in_spite_of_our_stop_is_a_success() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    driver.sees(secondary="Pending", after=600)
    assert driver.sees(status="Completed", capacity_at=NOW + 601, after=60) == (Finish(),)


def test_a_stop_without_effect_is_sent_again_after_a_minute() -> None:
    driver = Driver(new_state(budget=600.0)).watching()
    driver.sees(secondary="Pending", after=600)
    assert not any(isinstance(asked, Stop) for asked in driver.sees(secondary="Pending", after=30))
    assert driver.sees(secondary="Pending", after=30)[0] == Stop("job-1")


def test_start_by_ends_the_wait_at_its_instant_whatever_the_speed() -> None:
    driver = Driver(new_state(budget=48 * HOUR, start_by=NOW + 100, speed=60.0)).watching()
    assert isinstance(driver.sees(secondary="Pending", after=99)[0], Watch)
    driver.sees(secondary="Pending", after=1)
    assert "by start_by" in driver.told[-1]


def test_patience_ends_one_wave_and_begins_the_next() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0)).watching()
    assert driver.sees(secondary="Pending", after=1800)[0] == Stop("job-1")
    assert driver.state.stop is StopReason.PATIENCE
    assert driver.sees(status="Stopped", ended=driver.now, after=10) == (Submit(2, 1, frozenset()),)


def test_a_stop_for_patience_is_recognised_though_whoever_sent_it_is_gone() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0)).watching()
    assert driver.sees(status="Stopped", ended=NOW + 1805, after=1900) == (Submit(2, 1, frozenset()),)


def test_the_pending_time_of_all_waves_adds_up() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0)).watching()
    driver.sees(secondary="Pending", after=1800)
    driver.sees(status="Stopped", ended=driver.now, after=10)
    driver.hears(Created("job-2", "arn:2"))
    driver.sees(name="job-2", selected_type="ml.p4d.24xlarge", capacity_at=NOW + 2000, after=200)
    assert driver.state.pending_spent == 2000.0


def test_the_limit_for_everything_stops_a_running_job_and_fails() -> None:
    driver = Driver(new_state(total=1000.0)).watching()
    driver.sees(selected_type="ml.p5.48xlarge", after=10)
    assert driver.sees(selected_type="ml.p5.48xlarge", after=990)[0] == Stop("job-1")
    (failed,) = driver.sees(status="Stopped", capacity_at=NOW + 10, ended=driver.now, after=9)
    assert failed.judgement.verdict is Verdict.LIMIT_REACHED


def test_the_stop_at_the_limit_for_everything_is_recognised_later_too() -> None:
    driver = Driver(new_state(total=1000.0)).watching()
    driver.sees(selected_type="ml.p5.48xlarge", after=10)
    (failed,) = driver.sees(status="Stopped", ended=NOW + 1003, after=1100)
    assert failed.judgement.verdict is Verdict.LIMIT_REACHED
    assert "within 16 min 40 s" in failed.judgement.text


# -- when AWS can't be asked ---------------------------------------------------------------------------------


def test_a_blip_ends_nothing_and_is_told_once_a_minute() -> None:
    driver = Driver(new_state()).watching()
    for _ in range(10):
        (watch,) = driver.hears(unseen(Verdict.UNREACHABLE), after=15)
        assert isinstance(watch, Watch)
    assert sum("can't be seen" in line for line in driver.told) == 3
    driver.sees(secondary="Pending", after=15)
    assert driver.told[-2] == "job-1 can be seen again, after 2 min 30 s."


def test_a_blip_that_was_not_told_is_not_told_as_over() -> None:
    driver = Driver(new_state()).watching()
    driver.state = driver.state.but(unseen_since=NOW)
    driver.sees(secondary="Pending", after=15)
    assert not any("seen again" in line for line in driver.told)


@pytest.mark.parametrize("verdict", [Verdict.LOST, Verdict.CREDENTIALS])
def test_a_running_job_that_can_not_be_seen_for_ten_minutes_fails_the_task(verdict: Verdict) -> None:
    driver = Driver(new_state()).watching()
    driver.sees(selected_type="ml.p5.48xlarge", after=10)
    driver.hears(unseen(verdict), after=10)
    assert isinstance(driver.hears(unseen(verdict), after=599)[0], Watch)
    (failed,) = driver.hears(unseen(verdict), after=1)
    assert failed.judgement.verdict is verdict


def test_a_running_job_behind_a_broken_network_is_waited_for_until_it_must_be_over() -> None:
    driver = Driver(new_state(max_runtime=7200.0)).watching()
    driver.sees(selected_type="ml.p5.48xlarge")
    assert isinstance(driver.hears(unseen(Verdict.UNREACHABLE), after=7200)[0], Watch)
    (failed,) = driver.hears(unseen(Verdict.UNREACHABLE), after=3600)
    assert failed.judgement.verdict is Verdict.UNREACHABLE


def test_a_waiting_job_that_can_not_be_seen_fails_the_task_when_its_budget_is_over() -> None:
    driver = Driver(new_state(budget=3600.0)).watching()
    assert isinstance(driver.hears(unseen(), after=3600)[0], Watch)
    (failed,) = driver.hears(unseen(), after=60)
    assert failed.judgement.verdict is Verdict.LOST


# -- what earlier tries left ---------------------------------------------------------------------------------


def test_a_retry_adopts_the_live_job_that_does_the_same() -> None:
    driver = Driver(new_state())
    driver.now = NOW + 1000
    (watch,) = driver.hears(found(pending_spent=600.0))
    assert watch == Watch(NOW + 6 * HOUR - 600)
    assert "watching it again" in driver.told[0]
    assert (driver.state.job_name, driver.state.submission, driver.state.first_submit) == ("job-3", 3, NOW)


def test_a_retry_stops_the_live_job_that_does_something_else_and_says_what_differs() -> None:
    driver = Driver(new_state())
    stop, _ = driver.hears(found(differs=("image", "inputs")))
    assert stop == Stop("job-3")
    assert "changed since: image, inputs" in driver.told[0]
    assert driver.sees(name="job-3", status="Stopped", after=30) == (Submit(4, 0, frozenset()),)


def test_a_clear_stops_the_live_job_and_submits_when_it_has_ended() -> None:
    driver = Driver(new_state())
    stop, _ = driver.hears(found(is_retry=False))
    assert stop == Stop("job-3")
    assert "the task was cleared" in driver.told[0]
    assert isinstance(driver.sees(name="job-3", status="Stopping", after=5)[0], Watch)
    assert driver.sees(name="job-3", status="Stopped", after=30) == (Submit(4, 0, frozenset()),)


@pytest.mark.parametrize("status", ["Completed", "Failed", "Stopped"])
def test_however_a_superseded_job_ends_a_new_one_follows(status: str) -> None:
    driver = Driver(new_state())
    driver.hears(found(is_retry=False))
    assert driver.sees(name="job-3", status=status, failure_reason="AlgorithmError: x", after=5) == (
        Submit(4, 0, frozenset()),
    )


def test_a_clear_begins_the_budget_anew_and_a_retry_of_a_live_job_does_not() -> None:
    cleared, retried = Driver(new_state()), Driver(new_state())
    cleared.now = retried.now = NOW + 1000
    cleared.hears(found(is_retry=False, pending_spent=600.0))
    retried.hears(found(pending_spent=600.0))
    assert cleared.state.pending_spent == 0.0
    assert cleared.state.first_submit is None
    assert retried.state.pending_spent == 600.0


def test_a_retry_after_a_crash_takes_the_result_of_a_job_that_completed_meanwhile() -> None:
    driver = Driver(new_state())
    assert driver.hears(found("Completed", capacity_at=NOW, ended=NOW + 9)) == (Finish(),)
    assert "completed meanwhile" in driver.told[0]


@pytest.mark.parametrize(
    "past",
    [
        found("Completed", is_retry=False),
        found("Completed", differs=("image",)),
        found("Failed"),
        found("Stopped"),
    ],
)
def test_every_other_past_is_left_behind_for_a_new_job(past: Found) -> None:
    assert Driver(new_state()).hears(past) == (Submit(4, 0, frozenset()),)


@pytest.mark.parametrize("past", [found(is_retry=False, waits=False), found(differs=("image",), waits=False)])
def test_a_job_that_was_submitted_without_waiting_is_never_stopped(past: Found) -> None:
    driver = Driver(new_state())
    assert driver.hears(past) == (Submit(4, 0, frozenset()),)
    assert "left alone" in driver.told[0]


def test_numbers_never_go_back() -> None:
    state: State = new_state().but(submission=7)
    assert Driver(state).hears(found("Failed")) == (Submit(8, 0, frozenset()),)


def test_an_adopted_job_without_a_creation_time_counts_from_now() -> None:
    driver = Driver(new_state())
    past = found()
    past = Found(**{**{f: getattr(past, f) for f in past.__slots__}, "seen": job(name="job-3", created=None)})
    assert driver.hears(past) == (Watch(NOW + 6 * HOUR),)


def test_the_wait_goes_on_where_throttling_began() -> None:
    driver = Driver(new_state(budget=600.0))
    driver.hears(Begun())
    driver.now += 100
    driver.hears(Created("job-1", "arn"))
    assert driver.asked == (Watch(NOW + 600),)


def test_a_retry_goes_on_in_the_wave_that_its_job_was_sent_for_and_knows_what_came_before() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0, max_runtime=60.0))
    driver.hears(found(wave=1, recoveries=2, max_runtime=7200.0))
    assert (driver.state.wave, driver.state.recoveries, driver.state.limits.max_runtime) == (1, 2, 7200.0)
    driver.sees(name="job-3", secondary="Pending", after=1800)
    (pause,) = driver.sees(name="job-3", status="Stopped", ended=driver.now, after=10)
    assert isinstance(pause, Sleep)  # it was the last wave


def test_a_retry_after_a_failed_job_keeps_the_count_of_recoveries_and_a_clear_begins_anew() -> None:
    retried, cleared = Driver(new_state()), Driver(new_state())
    retried.hears(found("Failed", recoveries=2))
    cleared.hears(found("Failed", recoveries=2, is_retry=False))
    assert (retried.state.recoveries, cleared.state.recoveries) == (2, 0)


def test_the_runtime_of_the_request_that_is_out_is_what_bounds_it() -> None:
    driver = Driver(new_state(max_runtime=86400.0))
    driver.hears(Begun())
    driver.hears(Created("job-1", "arn", None, 600.0))
    assert driver.state.limits.max_runtime == 600.0


def test_throttling_lengthens_the_patience_of_the_job_that_it_held_up() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0))
    driver.hears(Begun())
    driver.is_refused(Verdict.THROTTLED)
    driver.hears(Woken(), after=100)
    driver.is_refused(Verdict.THROTTLED)
    driver.hears(Woken(), after=200)
    assert driver.hears(Created("job-1", "arn")) == (Watch(NOW + 300 + 2100),)
    assert "the next choice after 35 min" in driver.told[-1]
    driver.sees(secondary="Pending", after=2100)
    driver.sees(status="Stopped", ended=driver.now, after=10)
    assert driver.hears(Created("job-2", "arn")) == (Watch(driver.now + 1800),)


def test_what_can_never_be_had_leaves_the_rest_as_the_only_choice_that_waits_out_the_budget() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0))
    driver.hears(Begun())
    driver.is_refused(Verdict.QUOTA_ZERO, "0", "ml.p5.48xlarge")
    assert driver.hears(Created("job-1", "arn")) == (Watch(NOW + 6 * HOUR),)


# -- in a queue of AWS Batch ---------------------------------------------------------------------------------

P5, G5 = in_queue(), in_queue("ml.g5.xlarge", "g5")
NEVER = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) can't."
SHORT = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision."


def test_a_service_job_waits_until_it_starts_and_what_for_is_told_once() -> None:
    driver = queued_driver(P5)
    for status in ("RUNNABLE", "SCHEDULED", "RUNNABLE"):
        assert driver.sees(secondary=status, held_up_by=SHORT, after=30) == (Watch(NOW + 6 * HOUR),)
        driver.sees(secondary=status, held_up_by=SHORT, after=30)
    assert driver.told[1:] == [f"job-1 is InProgress (RUNNABLE, CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY): {SHORT}"]
    driver.sees(secondary="STARTING", capacity_at=NOW + 200, after=30)
    assert driver.state.pending_spent == 200.0
    assert driver.told[-2] == ("job-1 has capacity: 1 x ml.p5.48xlarge (queue p5), the only choice, after 3 min 20 s.")


def test_of_going_to_and_fro_only_the_first_scheduling_and_another_reason_are_news() -> None:
    driver = queued_driver(P5)
    looks = [("RUNNABLE", ""), ("SCHEDULED", ""), ("RUNNABLE", ""), ("SCHEDULED", ""), ("RUNNABLE", SHORT)]
    looks += [("SCHEDULED", ""), ("RUNNABLE", SHORT), ("SCHEDULED", SHORT), ("RUNNABLE", "")]
    for status, why in looks:
        driver.sees(secondary=status, held_up_by=why, after=30)
    statuses = [line.partition("InProgress (")[2].partition(")")[0] for line in driver.told[1:]]
    assert statuses == ["RUNNABLE", "SCHEDULED", "RUNNABLE, CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"]


def test_patience_counts_from_the_submission_however_often_the_job_is_scheduled() -> None:
    driver = queued_driver(P5, G5, limits={"patience": 1800.0})
    for status in ("RUNNABLE", "SCHEDULED", "RUNNABLE"):
        assert driver.sees(secondary=status, after=590) == (Watch(NOW + 1800),)
    assert driver.sees(secondary="SCHEDULED", after=30) == (Stop(SERVICE_JOB.format(1)), Watch(NOW + 1860))
    assert driver.asked[0] == Stop(SERVICE_JOB.format(1))
    assert driver.state.stop is StopReason.PATIENCE


def test_a_stop_tells_batch_and_so_the_next_worker_what_it_was_sent_for() -> None:
    driver = queued_driver(P5, G5, limits={"patience": 60.0})
    stop, _ = driver.sees(secondary="RUNNABLE", after=60)
    assert isinstance(stop, Stop)
    assert stop.why == "airflow_sm_prefer: patience. No capacity within the patience of 1 min."


@pytest.mark.parametrize("held_up_by", [NEVER, "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED"])
def test_a_job_that_its_queue_can_never_run_is_stopped_at_once_and_goes_on_in_the_next(held_up_by: str) -> None:
    driver = queued_driver(P5, G5)
    stop, _ = driver.sees(secondary="RUNNABLE", held_up_by=held_up_by, after=30)
    assert stop == Stop(SERVICE_JOB.format(1))
    assert driver.state.stop is StopReason.QUEUE_UNFIT
    assert held_up_by in driver.told[-1]
    asked = driver.sees(status="Stopped", failure_reason=stop.why, ended=NOW + 60, after=30)
    assert asked == (Submit(2, 1, frozenset({0})),)
    assert driver.state.dropped == {0}
    assert driver.state.attempts[-1].verdict is Verdict.QUEUE_UNFIT
    assert held_up_by in driver.state.attempts[-1].reason


def test_a_job_that_its_queue_can_never_run_fails_where_nothing_else_is_left() -> None:
    driver = queued_driver(P5)
    stop, _ = driver.sees(secondary="RUNNABLE", held_up_by=NEVER, after=30)
    (failed,) = driver.sees(status="Stopped", failure_reason=stop.why, ended=NOW + 60, after=30)
    assert failed.judgement.verdict is Verdict.QUEUE_UNFIT
    assert NEVER in failed.judgement.text


def test_a_time_limit_of_the_queues_own_sends_it_down_the_list_like_a_shortage() -> None:
    driver = queued_driver(P5, G5)
    reason = "Terminated by JobStateTimeLimit action due to reason: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
    assert driver.sees(status="Failed", failure_reason=reason, after=600) == (Submit(2, 1, frozenset()),)
    assert driver.state.attempts[-1].verdict is Verdict.CAPACITY


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("patience", Verdict.CAPACITY),
        ("budget", Verdict.CAPACITY),
        ("interrupted", Verdict.SPOT_INTERRUPTION),
        ("too_long", Verdict.LIMIT_REACHED),
        ("queue_unfit", Verdict.QUEUE_UNFIT),
    ],
)
def test_a_stop_of_ours_is_known_by_its_reason_though_the_trigger_that_sent_it_is_gone(
    word: str, verdict: Verdict
) -> None:
    driver = queued_driver(P5, G5)
    driver.sees(status="Stopped", failure_reason=f"airflow_sm_prefer: {word}. And why.", ended=NOW + 60, after=60)
    assert driver.state.attempts[-1].verdict is verdict


@pytest.mark.parametrize(
    "reason", ["not needed", "patience. Really", "airflow_sm_prefer: something else.", "airflow_sm_prefer: "]
)
def test_another_reason_is_somebodys_stop(reason: str) -> None:
    driver = queued_driver(P5, G5)
    (failed,) = driver.sees(status="Stopped", failure_reason=reason, ended=NOW + 60, after=60)
    assert failed.judgement.verdict is Verdict.STOPPED
    assert reason in failed.judgement.text


def test_how_long_a_service_job_was_there_says_nothing_about_the_limit_of_a_run() -> None:
    driver = queued_driver(P5, limits={"max_runtime": 600.0})
    driver.sees(secondary="RUNNING", capacity_at=NOW + 10, after=30)
    (failed,) = driver.sees(status="Stopped", failure_reason="by hand", ended=NOW + 5000, after=5000)
    assert failed.judgement.verdict is Verdict.STOPPED


# A preempted job goes back into its queue, and one that Batch tries again does.


def preempted(*entries: Entry, **fields: Any) -> Driver:
    driver = queued_driver(*entries, **fields)
    driver.sees(secondary="RUNNING", capacity_at=NOW + 100, after=100)
    return driver


def test_the_wait_of_a_preempted_job_is_charged_while_it_lasts() -> None:
    driver = preempted(P5)
    lost = {"capacity_at": NOW + 100, "lost_at": NOW + 1000}
    assert driver.sees(secondary="RUNNABLE", **lost, after=930) == (Watch(NOW + 1000 + 6 * HOUR - 100),)
    driver.sees(secondary="RUNNABLE", **lost, after=570)
    driver.sees(secondary="RUNNING", capacity_at=NOW + 100, after=400)
    assert driver.state.pending_spent == 100 + 1000
    assert driver.state.wait_began is None
    driver.sees(secondary="RUNNING", capacity_at=NOW + 100, after=400)
    assert driver.state.pending_spent == 1100.0, "running isn't charged"


def test_a_preempted_job_that_may_be_started_again_is_given_one_patience_to_come_back() -> None:
    driver = preempted(P5, G5, recover=1, limits={"patience": 1800.0})
    lost = {"capacity_at": NOW + 100, "lost_at": NOW + 1000}
    assert driver.sees(secondary="RUNNABLE", **lost, after=900) == (Watch(NOW + 2800),)
    stop, _ = driver.sees(secondary="RUNNABLE", **lost, after=1800)
    assert driver.state.stop is StopReason.INTERRUPTED
    assert driver.sees(status="Stopped", failure_reason=stop.why, ended=NOW + 2830, **lost, after=30) == (
        Submit(2, 1, frozenset({0})),
    )
    assert driver.state.attempts[-1].verdict is Verdict.SPOT_INTERRUPTION


@pytest.mark.parametrize("dropped", [None, 1])
def test_a_preempted_job_that_could_only_join_its_own_queue_again_keeps_its_place_there(dropped: int | None) -> None:
    others = () if dropped is None else (G5,)
    driver = preempted(P5, *others, recover=1, limits={"patience": 1800.0})
    driver.state = driver.state.but(dropped=frozenset(range(1, 1 + len(others))))
    lost = {"capacity_at": NOW + 100, "lost_at": NOW + 1000}
    assert driver.sees(secondary="RUNNABLE", **lost, after=5000) == (Watch(NOW + 900 + 6 * HOUR),)


def test_a_preempted_job_that_may_not_be_started_again_waits_out_the_budget_and_not_its_patience() -> None:
    driver = preempted(P5, G5, limits={"patience": 1800.0})
    lost = {"capacity_at": NOW + 100, "lost_at": NOW + 1000}
    assert driver.sees(secondary="RUNNABLE", **lost, after=5000) == (Watch(NOW + 900 + 6 * HOUR),)
    stop, _ = driver.sees(secondary="RUNNABLE", **lost, after=6 * HOUR)
    assert driver.state.stop is StopReason.BUDGET
    assert "Nothing had capacity within max_pending" in stop.why


def test_a_preempted_jobs_queue_that_is_blocked_leaves_it_to_the_wait_for_its_return() -> None:
    driver = preempted(P5, G5)
    asked = driver.sees(secondary="RUNNABLE", held_up_by=NEVER, capacity_at=NOW + 100, lost_at=NOW + 1000, after=1000)
    assert isinstance(asked[0], Watch)


def test_a_jobs_own_end_counts_though_a_stop_was_under_way() -> None:
    driver = queued_driver(P5, G5, limits={"patience": 60.0})
    driver.sees(secondary="RUNNABLE", after=60)
    assert driver.sees(status="Completed", after=10) == (Finish(),)


# The priority is the author's until somebody changes it.


@pytest.mark.parametrize(
    ("given", "seen", "kept", "is_told"),
    [
        (500, 500, 500, False),
        (500, 800, 800, True),
        (500, 0, 0, True),
        (None, None, None, False),
        (None, 0, None, False),
        (None, 7, 7, True),
        (0, None, 0, False),
    ],
)
def test_a_priority_that_somebody_changes_is_told_and_kept(
    given: int | None, seen: int | None, kept: int | None, is_told: bool
) -> None:
    driver = queued_driver(P5, G5, priority=given)
    for _ in range(2):
        driver.sees(secondary="RUNNABLE", priority=seen, after=30)
    assert driver.state.priority == kept
    told = [line for line in driver.told if "priority" in line]
    assert told == ([f"The scheduling priority of job-1 is {seen} now, and is kept."] if is_told else [])


# What a later try makes of it.


def test_a_service_job_of_the_try_before_is_watched_again() -> None:
    driver = Driver(planned_state(P5, G5, waves=((0,), (1,))))
    asked = driver.hears(found(secondary="RUNNABLE", arn=SERVICE_JOB.format(3)))
    assert isinstance(asked[0], Watch)
    assert driver.state.handle == SERVICE_JOB.format(3)


def test_a_service_job_from_before_a_clear_is_terminated_by_its_arn() -> None:
    driver = Driver(planned_state(P5, G5, waves=((0,), (1,))))
    stop, _ = driver.hears(found(secondary="RUNNABLE", arn=SERVICE_JOB.format(3), is_retry=False))
    assert (stop.handle, stop.why) == (SERVICE_JOB.format(3), "airflow_sm_prefer: superseded.")
    asked = driver.sees(status="Stopped", name="job-3", failure_reason="airflow_sm_prefer: superseded.", after=30)
    assert asked == (Submit(4, 0, frozenset()),)


def test_a_stop_that_batch_shows_no_effect_of_is_sent_again() -> None:
    driver = queued_driver(P5, G5, limits={"patience": 60.0})
    driver.sees(secondary="RUNNABLE", after=60)
    assert driver.sees(secondary="RUNNABLE", after=30) == (Watch(NOW + 120),)
    assert driver.sees(secondary="RUNNABLE", after=30) == (Stop(SERVICE_JOB.format(1)), Watch(NOW + 180))


# -- glimpses ------------------------------------------------------------------------------------------------


def test_a_glimpse_of_a_job_says_nothing_and_it_is_watched_on() -> None:
    driver = Driver(new_state()).watching()
    told = len(driver.told)
    assert driver.hears(Glimpsed(), after=30) == (Watch(NOW + 6 * HOUR),)
    assert driver.told[told:] == []


def test_a_glimpse_ends_what_was_told_of_a_job_that_was_not_seen() -> None:
    driver = Driver(new_state()).watching()
    driver.hears(unseen(Verdict.UNREACHABLE), after=30)
    told = len(driver.told)
    driver.hears(Glimpsed(), after=30)
    assert len(driver.told) == told + 1
    assert (driver.state.unseen_since, driver.state.told_at) == (None, None)
    driver.hears(Glimpsed(), after=30)
    assert len(driver.told) == told + 1


@pytest.mark.parametrize("heard", [Glimpsed(), unseen(Verdict.UNREACHABLE)], ids=["glimpsed", "unseen"])
def test_a_stop_that_shows_no_effect_is_minded_whatever_is_heard_meanwhile(heard: Glimpsed | Unseen) -> None:
    driver = Driver(new_state()).watching()
    driver.state = driver.state.but(phase=Phase.STOPPING, stop_sent=NOW)
    commands = driver.hears(heard, after=30)
    assert [command.until for command in commands if isinstance(command, Watch)] == [NOW + 60]


def test_a_job_that_is_to_stop_may_be_glimpsed_too() -> None:
    driver = Driver(new_state()).watching()
    driver.state = driver.state.but(phase=Phase.STOPPING)
    driver.hears(Glimpsed())
    assert driver.state.phase is Phase.STOPPING
