from __future__ import annotations

import pytest

from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.events import AskPlans, Begun, Created, Fail, PlansSeen, Sleep, Submit, Woken
from airflow_sm_prefer.placement.plans import PlanStatus
from airflow_sm_prefer.placement.state import Entry, Phase

from .builders import HOUR, NOW, Driver, a_plan, planned_state, reserved

P4 = Entry("ml.p4d.24xlarge", 1)
LATER = a_plan("Scheduled", start=NOW + 24 * HOUR, blocks=((NOW + 24 * HOUR, NOW + 48 * HOUR),))
TAKEN = a_plan(available=0)


def asked(driver: Driver, **plans: PlanStatus | None) -> Driver:
    driver.hears(Begun())
    driver.hears(PlansSeen({int(key[1:]): plan for key, plan in plans.items()}))
    return driver


def test_plans_are_asked_about_before_a_wave_is_sent_and_once_in_a_round() -> None:
    driver = Driver(planned_state(reserved(), P4))
    assert driver.hears(Begun()) == (AskPlans((0,)),)
    assert driver.hears(PlansSeen({0: a_plan()})) == (Submit(1, 0, frozenset()),)
    (pause,) = driver.is_refused(Verdict.THROTTLED)
    assert driver.hears(Woken(), after=pause.until - NOW) == (Submit(1, 0, frozenset()),)
    (pause,) = driver.is_refused(Verdict.CAPACITY)
    assert driver.hears(Woken(), after=pause.until - driver.now) == (AskPlans((0,)),)


def test_a_plan_that_aws_says_nothing_about_is_tried() -> None:
    assert asked(Driver(planned_state(reserved())), n0=None).asked == (Submit(1, 0, frozenset()),)


@pytest.mark.parametrize("plan", [LATER, TAKEN], ids=["not begun", "taken"])
def test_beside_others_a_plan_without_capacity_stays_in_the_request_for_aws_to_pass_over(plan: PlanStatus) -> None:
    driver = asked(Driver(planned_state(reserved(), P4)), n0=plan)
    assert driver.asked == (Submit(1, 0, frozenset()),)
    assert "is passed over by SageMaker for now: training plan december" in driver.told[0]


@pytest.mark.parametrize("plan", [LATER, TAKEN, a_plan("Pending")], ids=["not begun", "taken", "not paid"])
def test_alone_a_plan_without_capacity_is_passed_over_in_this_round_and_the_wave_not_sent(plan: PlanStatus) -> None:
    driver = asked(Driver(planned_state(reserved(), P4, waves=((0,), (1,)))), n0=plan)
    assert driver.asked == (Submit(1, 1, frozenset({0})),)
    assert "is passed over in this round: training plan december" in driver.told[0]
    (passed,) = driver.state.attempts
    assert (passed.wave, passed.verdict) == (0, Verdict.CAPACITY)
    assert "december" in passed.reason
    (pause,) = driver.is_refused(Verdict.CAPACITY)
    assert driver.hears(Woken(), after=pause.until - NOW) == (AskPlans((0,)),)


def test_a_plan_on_which_aws_takes_no_job_yet_is_left_out_of_the_request() -> None:
    driver = asked(Driver(planned_state(reserved(), P4)), n0=a_plan("Pending"))
    assert driver.asked == (Submit(1, 0, frozenset({0})),)


def test_a_list_of_nothing_but_a_plan_in_use_is_gone_through_in_rounds() -> None:
    driver = asked(Driver(planned_state(reserved())), n0=TAKEN)
    (pause,) = driver.asked
    assert isinstance(pause, Sleep)
    driver.hears(Woken(), after=pause.until - NOW)
    assert driver.hears(PlansSeen({0: a_plan()})) == (Submit(1, 0, frozenset()),)


@pytest.mark.parametrize("plan", [a_plan("Expired"), a_plan("Failed"), a_plan(total=1)])
def test_a_plan_that_will_never_do_is_dropped_and_said_and_the_list_goes_on(plan: PlanStatus) -> None:
    driver = asked(Driver(planned_state(reserved(), P4)), n0=plan)
    assert driver.asked == (Submit(1, 0, frozenset({0})),)
    assert "is dropped: training plan december" in driver.told[0]
    assert driver.state.dropped == {0}


def test_with_nothing_else_left_a_plan_that_is_over_fails_the_task_and_isnt_retried() -> None:
    (failed,) = asked(Driver(planned_state(reserved())), n0=a_plan("Expired")).asked
    assert isinstance(failed, Fail)
    assert failed.judgement.verdict is Verdict.REQUEST_INVALID
    assert failed.judgement.text == (
        "Nothing is left on the list: training plan december is Expired, and AWS takes no job on it."
    )


# -- plans that are waited for -------------------------------------------------------------------------------


def waiting(**limits: float) -> Driver:
    return Driver(planned_state(reserved(wait_for_plan=True), P4, waves=((0,), (1,)), budget=HOUR, limits=limits))


def test_until_a_plan_begins_the_task_sleeps_and_no_budget_is_charged() -> None:
    driver = asked(waiting(), n0=LATER)
    assert driver.asked == (Sleep(NOW + 24 * HOUR),)
    assert driver.state.phase is Phase.SLEEPING
    assert "is waited for, which max_pending isn't charged for" in driver.told[0]
    assert "2027-01-16 08:00 UTC" in driver.told[0]
    assert driver.hears(Woken(), after=24 * HOUR) == (AskPlans((0,)),)
    assert driver.hears(PlansSeen({0: a_plan()})) == (Submit(1, 0, frozenset()),)
    assert driver.state.pending_spent == 0.0


def test_once_it_has_begun_its_instances_are_waited_for_by_aws_for_the_waves_patience() -> None:
    driver = asked(waiting(), n0=TAKEN)
    assert driver.asked == (Submit(1, 0, frozenset()),)
    driver.hears(Created("job-1", "arn"))
    assert driver.sees(secondary="Pending", after=1800)[0].handle == "job-1"


def test_a_plan_whose_begin_isnt_known_is_waited_for_by_aws() -> None:
    driver = asked(waiting(), n0=a_plan("Scheduled", start=NOW - 5, blocks=()))
    assert driver.asked == (Submit(1, 0, frozenset()),)


def test_a_task_that_only_submits_leaves_the_waiting_to_aws() -> None:
    driver = waiting()
    driver.state = driver.state.but(submits_only=True)
    assert asked(driver, n0=LATER).asked == (Submit(1, 0, frozenset()),)


@pytest.mark.parametrize("limits", [{"start_by": NOW + 12 * HOUR}, {"total": 12 * HOUR}])
def test_a_plan_that_begins_too_late_is_passed_over(limits: dict[str, float]) -> None:
    driver = waiting(**limits)
    driver.state = driver.state.but(first_submit=NOW)
    assert asked(driver, n0=LATER).asked == (Submit(1, 1, frozenset({0})),)
    assert "is passed over in this round" in driver.told[0]


def test_the_last_half_hour_of_a_plan_isnt_waited_for() -> None:
    driver = asked(waiting(), n0=a_plan(blocks=((NOW - HOUR, NOW + 600),)))
    assert driver.asked == (Submit(1, 1, frozenset({0})),)


def test_a_plan_that_is_over_isnt_waited_for() -> None:
    driver = asked(waiting(), n0=a_plan("Expired"))
    assert driver.asked == (Submit(1, 1, frozenset({0})),)
    assert driver.state.dropped == {0}
