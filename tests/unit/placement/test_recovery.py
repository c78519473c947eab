from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.events import AskPlans, Begun, Created, Fail, Finish, PlansSeen, Stop, Submit, Watch
from airflow_sm_prefer.placement.state import Entry, StopReason

from .builders import HOUR, NOW, SERVICE_JOB, Driver, a_plan, in_queue, planned_state, queued_driver, reserved

P5, P4, G5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge"
ENTRIES = (Entry(P5, 2), Entry(P4, 1), Entry(G5, 4))
INTERNAL = {"status": "Failed", "failure_reason": "InternalServerError: We encountered an internal error."}
TOO_SMALL = {"status": "Failed", "failure_reason": "AlgorithmError: , exit code: 137"}
MAX_WAIT = {"status": "Stopped", "secondary": "MaxWaitTimeExceeded", "capacity_at": NOW + 60}
SCRIPT = {"status": "Failed", "failure_reason": "AlgorithmError: , exit code: 1"}


def running(on: str = P4, **fields: Any) -> Driver:
    """Go on until a job runs on a type of a list of three."""
    driver = Driver(planned_state(*ENTRIES, **{"recover": 1, **fields})).watching()
    driver.sees(selected_type=on, capacity_at=NOW + 60, after=60)
    return driver


@pytest.mark.parametrize(
    ("end", "recover_any", "follows"),
    [
        (INTERNAL, False, Submit(2, 0, frozenset())),
        (INTERNAL, True, Submit(2, 0, frozenset())),
        (MAX_WAIT, False, Submit(2, 0, frozenset())),
        (TOO_SMALL, False, Submit(2, 0, frozenset({1}))),
        (SCRIPT, True, Submit(2, 0, frozenset({0, 1}))),
        (SCRIPT, False, None),
        ({"status": "Stopped", "secondary": "Stopped"}, True, None),
        ({"status": "Stopped", "secondary": "MaxRuntimeExceeded"}, True, None),
        ({"status": "Failed", "failure_reason": "Something new"}, True, None),
    ],
)
def test_what_a_job_is_started_again_after_and_where_on_the_list(
    end: dict[str, Any], recover_any: bool, follows: Submit | None
) -> None:
    driver = running(recover_any=recover_any)
    asked = driver.sees(**end, ended=NOW + 900, after=900)
    if follows is None:
        assert isinstance(asked[0], Fail)
        assert driver.state.recoveries == 0
    else:
        assert asked == (follows,)
        assert driver.state.recoveries == 1
        assert "job-1 is started again (1 of 1)" in driver.told[-1]


def test_nothing_is_started_again_unless_the_author_says_so() -> None:
    driver = running(recover=0)
    (failed,) = driver.sees(**INTERNAL, after=60)
    assert failed.judgement.verdict is Verdict.INFRASTRUCTURE
    assert not any("started again" in line for line in driver.told)


def test_what_has_been_started_again_as_often_as_it_may_be_fails_and_says_so() -> None:
    driver = running(recover=2)
    driver.state = driver.state.but(recoveries=2)
    (failed,) = driver.sees(**INTERNAL, after=60)
    assert isinstance(failed, Fail)
    assert driver.told[-1] == "It was started again 2 times, which is as often as recover=2 allows."
    assert driver.state.job_name == "job-1"


def test_the_dropped_type_is_named_and_the_last_one_fails_the_task() -> None:
    driver = running(recover=5)
    driver.sees(**TOO_SMALL, after=60)
    assert driver.told[-1].endswith("1 x ml.p4d.24xlarge (On-Demand) is dropped.")
    for name, left in ((P5, {0, 1}), (G5, {0, 1, 2})):
        driver.hears(Created("job-n", "arn"))
        driver.sees(name="job-n", selected_type=name, capacity_at=driver.now)
        asked = driver.sees(name="job-n", **TOO_SMALL, after=60)
        assert driver.state.dropped == left
    assert isinstance(asked[0], Fail)
    assert asked[0].judgement.verdict is Verdict.UNFIT_TYPE
    assert "Nothing else is left" in driver.told[-1]


def test_a_type_that_aws_never_named_drops_nothing() -> None:
    driver = Driver(planned_state(*ENTRIES, recover=1)).watching()
    driver.sees(secondary="Training", after=60)
    assert driver.sees(**TOO_SMALL, after=60) == (Submit(2, 0, frozenset()),)


def test_after_the_last_entry_a_failing_script_begins_at_the_top_again() -> None:
    driver = running(on=G5, recover_any=True)
    assert driver.sees(**SCRIPT, after=60) == (Submit(2, 0, frozenset()),)


def test_a_failing_script_goes_on_with_the_next_wave_where_its_own_is_used_up() -> None:
    driver = running(on=P4, recover_any=True, waves=((0, 1), (2,)))
    assert driver.sees(**SCRIPT, after=60) == (Submit(2, 1, frozenset({0, 1})),)


def test_a_recovery_asks_about_plans_anew_and_begins_with_the_best_again() -> None:
    driver = Driver(planned_state(reserved(), ENTRIES[1], waves=((0,), (1,)), recover=1))
    driver.hears(Begun())
    driver.hears(PlansSeen({0: a_plan(available=0)}))
    driver.hears(Created("job-1", "arn"))
    driver.sees(secondary="Training", capacity_at=NOW + 60, after=60)
    assert driver.sees(**INTERNAL, after=60) == (AskPlans((0,)),)


def test_the_wait_of_a_recovery_is_charged_to_the_same_budget_and_its_run_isnt() -> None:
    driver = running()
    driver.sees(**INTERNAL, after=10 * HOUR)
    driver.hears(Created("job-2", "arn"))
    driver.sees(name="job-2", selected_type=P5, after=100)
    assert driver.state.pending_spent == 160.0


def test_a_recovery_that_finds_no_capacity_in_time_says_so() -> None:
    driver = running(budget=600.0)
    driver.sees(**INTERNAL, after=HOUR)
    driver.hears(Created("job-2", "arn"))
    driver.sees(name="job-2", secondary="Pending", after=540)
    (failed,) = driver.sees(name="job-2", status="Stopped", ended=driver.now, after=10)
    assert failed.judgement.text.startswith("Nothing had capacity again within max_pending (10 min)")


def test_start_by_binds_the_first_start_only() -> None:
    driver = running(limits={"start_by": NOW + HOUR})
    assert driver.sees(**INTERNAL, after=2 * HOUR) == (Submit(2, 0, frozenset()),)
    (watch,) = driver.hears(Created("job-2", "arn"))
    assert watch.until > NOW + 2 * HOUR
    assert isinstance(driver.sees(name="job-2", secondary="Pending", after=HOUR)[0], Watch)


# -- interruptions -------------------------------------------------------------------------------------------

LOST = {"selected_type": P4, "capacity_at": NOW + 60, "secondary": "Interrupted", "lost_at": NOW + 900}


def test_an_interrupted_job_gets_one_patience_and_is_then_stopped_and_started_again() -> None:
    driver = running()
    assert driver.sees(**LOST, after=900)[0] == Watch(NOW + 900 + 1800)
    assert driver.sees(**LOST, after=1739) == (Watch(NOW + 2700),)
    assert driver.sees(**LOST, after=1)[0] == Stop("job-1")
    assert driver.state.stop is StopReason.INTERRUPTED
    gone = {**LOST, "status": "Stopped", "secondary": "Stopped"}
    assert driver.sees(**gone, ended=driver.now, after=10) == (Submit(2, 0, frozenset()),)
    assert driver.state.attempts[-1].verdict is Verdict.SPOT_INTERRUPTION


def test_an_interrupted_job_that_is_back_is_watched_on_and_its_patience_begins_anew() -> None:
    driver = running()
    driver.sees(**LOST, after=900)
    (watch,) = driver.sees(secondary="Training", selected_type=P4, capacity_at=NOW + 60, after=60)
    assert watch.until > NOW + 86400
    assert driver.sees(status="Completed", after=60) == (Finish(),)


def test_without_a_recovery_left_an_interrupted_job_is_left_to_aws() -> None:
    driver = running(recover=0)
    (watch,) = driver.sees(**LOST, after=90000)
    assert isinstance(watch, Watch)


def test_our_stop_of_an_interrupted_job_is_recognised_though_whoever_sent_it_is_gone() -> None:
    driver = running()
    gone = {**LOST, "status": "Stopped", "secondary": "Stopped"}
    assert driver.sees(**gone, ended=NOW + 900 + 1805, after=3000) == (Submit(2, 0, frozenset()),)


def test_a_persons_stop_of_an_interrupted_job_before_that_is_no_recovery() -> None:
    driver = running()
    gone = {**LOST, "status": "Stopped", "secondary": "Stopped"}
    (failed,) = driver.sees(**gone, ended=NOW + 1000, after=3000)
    assert failed.judgement.verdict is Verdict.STOPPED


# -- reservations --------------------------------------------------------------------------------------------


def reserved_and_running(*, runs: bool = True, recover: int = 1) -> Driver:
    driver = Driver(planned_state(reserved(), ENTRIES[1], waves=((0,), (1,)), recover=recover))
    driver.hears(Begun())
    driver.hears(PlansSeen({0: a_plan(end=NOW + 4 * HOUR)}))
    driver.hears(Created("job-1", "arn"))
    if runs:
        driver.sees(secondary="Training", capacity_at=NOW + 60, after=60)
    return driver


@pytest.mark.parametrize(
    "end",
    [
        {"status": "Stopped", "secondary": "Stopped"},
        {"status": "Failed", "failure_reason": "InsufficientCapacityError: The training plan of the job has ended."},
    ],
)
def test_a_reservation_that_ends_under_a_job_is_told_from_a_persons_stop(end: dict[str, Any]) -> None:
    driver = reserved_and_running()
    assert driver.sees(**end, ended=NOW + 3.5 * HOUR, after=4 * HOUR) == (AskPlans((0,)),)
    assert "The reservation that it ran on has ended" in driver.told[-1]


def test_a_job_that_ran_on_other_capacity_and_lost_it_goes_on_down_the_list_uncounted() -> None:
    driver = running(waves=((0, 1), (2,)))
    asked = driver.sees(status="Failed", failure_reason="CapacityError: none again", ended=NOW + 900, after=900)
    assert asked == (Submit(2, 1, frozenset()),)
    assert driver.state.recoveries == 0


def test_a_stop_while_the_reservation_is_on_is_a_persons() -> None:
    driver = reserved_and_running()
    (failed,) = driver.sees(status="Stopped", secondary="Stopped", ended=NOW + 2 * HOUR, after=2 * HOUR)
    assert failed.judgement.verdict is Verdict.STOPPED


def test_a_limit_of_its_own_is_no_end_of_a_reservation() -> None:
    driver = reserved_and_running()
    (failed,) = driver.sees(status="Stopped", secondary="MaxRuntimeExceeded", ended=NOW + 4 * HOUR, after=4 * HOUR)
    assert failed.judgement.verdict is Verdict.LIMIT_REACHED


def test_a_job_between_two_blocks_is_left_to_aws() -> None:
    driver = reserved_and_running()
    (watch,) = driver.sees(secondary="Pending", capacity_at=NOW + 60, lost_at=NOW + 900, after=9000)
    assert isinstance(watch, Watch)


def test_a_plan_that_ends_before_it_had_instances_is_a_shortage() -> None:
    driver = reserved_and_running(runs=False)
    driver.state = driver.state.but(limits=driver.state.limits.__class__(budget=48 * HOUR, patience=24 * HOUR))
    asked = driver.sees(status="Stopped", secondary="Stopped", ended=NOW + 3.5 * HOUR, after=4 * HOUR)
    assert asked == (Submit(2, 1, frozenset()),)
    assert driver.state.attempts[-1].verdict is Verdict.CAPACITY


# -- through queues ------------------------------------------------------------------------------------------

QUEUED = (in_queue(P5, "p5"), in_queue(P4, "p4"), in_queue(G5, "g5"))
PREEMPTED = {"status": "Failed", "failure_reason": "Cross-share preemption triggered to reclaim borrowed capacity"}


def in_wave(number: int = 0, *entries: Entry, **fields: Any) -> Driver:
    """Go on until a service job of one of three queues runs."""
    driver = queued_driver(*(entries or QUEUED), **{"recover": 1, **fields})
    for following in range(number):
        driver.sees(status="Failed", failure_reason="CapacityError: none", name=f"job-{following + 1}", after=10)
        driver.hears(Created(f"job-{following + 2}", SERVICE_JOB.format(following + 2)))
    driver.sees(secondary="RUNNING", capacity_at=driver.now + 5, after=5)
    return driver


@pytest.mark.parametrize(
    ("end", "follows"),
    [
        (INTERNAL, Submit(2, 1, frozenset({0}))),
        (PREEMPTED, Submit(2, 1, frozenset({0}))),
        (TOO_SMALL, Submit(2, 1, frozenset({0}))),
        (SCRIPT, None),
    ],
)
def test_a_failed_or_preempted_job_of_a_queue_goes_on_with_the_next_entry(
    end: dict[str, Any], follows: Submit | None
) -> None:
    driver = in_wave()
    asked = driver.sees(**end, after=900)
    assert asked == (follows,) if follows else isinstance(asked[0], Fail)


def test_the_entries_before_the_one_that_failed_are_not_tried_again_at_once() -> None:
    driver = in_wave(1)
    assert driver.sees(**INTERNAL, after=900) == (Submit(3, 2, frozenset({0, 1})),)


def test_after_the_last_queue_a_failed_job_begins_at_the_top_again() -> None:
    driver = in_wave(2)
    assert driver.sees(**INTERNAL, after=900) == (Submit(4, 0, frozenset()),)


def test_a_failed_job_of_the_only_queue_is_submitted_to_it_again() -> None:
    driver = in_wave(0, QUEUED[0])
    assert driver.sees(**INTERNAL, after=900) == (Submit(2, 0, frozenset()),)


def test_a_job_of_sagemakers_own_that_fails_in_a_mixed_list_begins_at_the_top_again() -> None:
    driver = queued_driver(QUEUED[0], ENTRIES[1], recover=1)
    driver.sees(status="Failed", failure_reason="CapacityError: none", after=10)
    driver.hears(Created("job-2", "arn:aws:sagemaker:us-east-1:123456789012:training-job/job-2"))
    driver.sees(name="job-2", secondary="Training", capacity_at=driver.now, after=5)
    assert driver.sees(name="job-2", **INTERNAL, after=900) == (Submit(3, 0, frozenset()),)


def test_the_priority_goes_with_the_job_from_queue_to_queue() -> None:
    driver = in_wave(priority=500)
    driver.sees(secondary="RUNNING", priority=800, after=5)
    driver.sees(**INTERNAL, after=900)
    assert driver.state.priority == 800


def test_a_preemption_that_may_not_be_followed_by_a_start_fails_with_batchs_words() -> None:
    driver = in_wave(recover=0)
    (failed,) = driver.sees(**PREEMPTED, after=900)
    assert failed.judgement.verdict is Verdict.SPOT_INTERRUPTION
    assert PREEMPTED["failure_reason"] in failed.judgement.text
