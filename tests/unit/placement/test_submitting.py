from __future__ import annotations

from dataclasses import replace

import pytest

from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement.events import (
    AskPlans,
    Begun,
    Created,
    Fail,
    NameTaken,
    NoAnswer,
    Seen,
    Sleep,
    Submit,
    Watch,
    Woken,
)
from airflow_sm_prefer.placement.state import Phase

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


def test_a_try_without_a_past_submits_the_first_wave_under_the_first_number() -> None:
    assert Driver(new_state()).hears(Begun()) == (Submit(1, 0, frozenset()),)


def test_a_created_job_is_watched_until_the_budget_ends() -> None:
    driver = Driver(new_state(budget=6 * HOUR)).watching()
    assert driver.asked == (Watch(NOW + 6 * HOUR),)
    assert driver.told == [
        "Submitted job-1: 1 x ml.p5.48xlarge (On-Demand), else 1 x ml.p4d.24xlarge (On-Demand). "
        "Waiting for capacity, for at most 6 h."
    ]


def test_a_speed_makes_the_budget_pass_faster_and_says_it_in_awss_time() -> None:
    driver = Driver(new_state(budget=6 * HOUR, speed=60.0)).watching()
    assert driver.asked == (Watch(NOW + 360.0),)
    assert "at most 6 h" in driver.told[0]


def test_one_of_several_waves_is_watched_for_its_patience_only() -> None:
    driver = Driver(new_state(waves=((0,), (1,)), patience=1800.0)).watching()
    assert driver.asked == (Watch(NOW + 1800.0),)
    assert "the next choice after 30 min" in driver.told[0]


def test_a_used_name_leads_to_the_next_number() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    assert driver.hears(NameTaken("job-1")) == (Submit(2, 0, frozenset()),)
    assert driver.hears(Created("job-2", "arn")) == (Watch(NOW + 6 * HOUR),)
    assert driver.state.submission == 2


def test_a_lost_answer_leads_to_the_same_number_again() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    (pause,) = driver.hears(NoAnswer("timed out"))
    assert isinstance(pause, Sleep)
    assert driver.hears(Woken(), after=2) == (Submit(1, 0, frozenset()),)


def test_looks_behind_a_used_token_are_counted_apart_from_other_refusals() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    driver.is_refused(Verdict.THROTTLED)
    driver.hears(Woken(), after=20)
    driver.hears(NoAnswer("timed out"))
    assert (driver.state.refusals, driver.state.looks) == (2, 0)
    for looks in (1, 2):
        driver.hears(Woken(), after=20)
        driver.hears(NoAnswer("clientToken was used", token_used=True))
        assert driver.state.looks == looks
    driver.hears(Woken(), after=20)
    driver.hears(NameTaken("job-1"))
    assert driver.state.looks == 0


def test_throttling_backs_off_longer_each_time_up_to_twenty_seconds_and_says_so_once() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    pauses = []
    for _ in range(7):
        (pause,) = driver.is_refused(Verdict.THROTTLED, jitter=1.0)
        pauses.append(pause.until - driver.now)
        driver.hears(Woken(), after=pauses[-1])
    assert pauses == [2.0, 4.0, 8.0, 16.0, 20.0, 20.0, 20.0]
    assert sum("throttled" in line for line in driver.told) == 1


def test_throttling_pauses_are_not_scaled_by_speed() -> None:
    driver = Driver(new_state(speed=60.0))
    driver.hears(Begun())
    (pause,) = driver.is_refused(Verdict.THROTTLED, jitter=1.0)
    assert pause.until - NOW == 2.0


def test_throttling_is_bounded_by_the_budget() -> None:
    driver = Driver(new_state(budget=10.0))
    driver.hears(Begun())
    for _ in range(4):
        driver.is_refused(Verdict.THROTTLED, jitter=1.0)
        last = driver.hears(Woken(), after=3)
    assert isinstance(last[0], Fail)
    assert last[0].judgement.verdict is Verdict.CAPACITY


def test_a_busy_quota_leaves_the_named_entry_out_and_sends_the_rest_at_once() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    asked = driver.is_refused(Verdict.QUOTA_BUSY, "limit is 2", "ml.p5.48xlarge")
    assert asked == (Submit(1, 0, frozenset({0})),)
    assert driver.told[-1] == "Left out for this round: 1 x ml.p5.48xlarge (On-Demand). AWS said: limit is 2"


def test_a_busy_quota_is_asked_for_again_in_the_next_round() -> None:
    driver = Driver(new_state("ml.p5.48xlarge"))
    driver.hears(Begun())
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, "limit is 2", "ml.p5.48xlarge")
    assert 60.0 <= pause.until - NOW <= 900.0
    assert driver.hears(Woken(), after=pause.until - NOW) == (Submit(1, 0, frozenset()),)


def test_a_quota_that_stays_busy_until_the_budget_ends_fails_as_a_quota() -> None:
    driver = Driver(new_state("ml.p5.48xlarge", budget=100.0))
    driver.hears(Begun())
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, "limit is 2", "ml.p5.48xlarge", jitter=1.0)
    assert pause.until == NOW + 100.0
    (failed,) = driver.hears(Woken(), after=100.0)
    assert failed.judgement.verdict is Verdict.QUOTA_BUSY
    assert "limit is 2" in failed.judgement.text


@pytest.mark.parametrize("verdict", [Verdict.QUOTA_ZERO, Verdict.TYPE_UNAVAILABLE])
def test_what_can_never_be_had_is_dropped_for_good(verdict: Verdict) -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    assert driver.is_refused(verdict, "limit is 0", "ml.p5.48xlarge") == (Submit(1, 0, frozenset({0})),)
    (failed,) = driver.is_refused(verdict, "limit is 0 too", "ml.p4d.24xlarge")
    assert failed == Fail(failed.judgement)
    assert failed.judgement.text == "limit is 0 too"
    assert driver.state.phase is Phase.OVER


def test_a_dropped_entry_stays_dropped_while_the_rest_goes_through_its_rounds() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    driver.is_refused(Verdict.QUOTA_ZERO, "limit is 0", "ml.p5.48xlarge")
    (pause,) = driver.is_refused(Verdict.QUOTA_BUSY, "limit is 2", "ml.p4d.24xlarge")
    assert driver.hears(Woken(), after=pause.until - NOW) == (Submit(1, 0, frozenset({0})),)


def test_a_quota_of_something_else_than_the_list_is_not_blamed_on_the_list() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    text = "'Number of instances across all processing jobs' is 4 Instances, delta of 11"
    (failed,) = driver.is_refused(Verdict.QUOTA_ZERO, text)
    assert failed.judgement.text == text


def test_a_wave_whose_entries_are_all_dropped_is_passed_over() -> None:
    driver = Driver(new_state(waves=((0,), (1,))))
    driver.hears(Begun())
    assert driver.is_refused(Verdict.QUOTA_ZERO, "0", "ml.p5.48xlarge") == (Submit(1, 1, frozenset({0})),)
    (pause,) = driver.is_refused(Verdict.CAPACITY)
    assert driver.hears(Woken(), after=pause.until - NOW) == (Submit(1, 1, frozenset({0})),)


def test_a_refused_request_fails_at_once_with_awss_words() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    (failed,) = driver.is_refused(Verdict.REQUEST_INVALID, "ValidationException: no such role")
    assert failed.judgement.verdict is Verdict.REQUEST_INVALID
    assert failed.judgement.text == "ValidationException: no such role"


def test_missing_credentials_are_waited_for_ten_minutes() -> None:
    driver = Driver(new_state())
    driver.hears(Begun())
    waited = 0.0
    while True:
        (asked,) = driver.is_refused(Verdict.CREDENTIALS, "ExpiredToken")
        if isinstance(asked, Fail):
            break
        waited += asked.until - driver.now
        driver.hears(Woken(), after=asked.until - driver.now)
    assert waited == 600.0
    assert asked.judgement.verdict is Verdict.CREDENTIALS


def test_rounds_are_paused_for_one_to_fifteen_minutes_doubling() -> None:
    driver = Driver(new_state("ml.m5.xlarge", budget=48 * HOUR))
    driver.hears(Begun())
    pauses = []
    for _ in range(6):
        (pause,) = driver.is_refused(Verdict.CAPACITY, jitter=1.0)
        pauses.append(pause.until - driver.now)
        driver.hears(Woken(), after=pauses[-1])
    assert pauses == [120.0, 240.0, 480.0, 900.0, 900.0, 900.0]
    assert driver.state.round == 6


def test_the_shortest_pause_is_a_minute_whatever_the_jitter() -> None:
    driver = Driver(new_state("ml.m5.xlarge"))
    driver.hears(Begun())
    (pause,) = driver.is_refused(Verdict.CAPACITY, jitter=0.0)
    assert pause.until - NOW == 60.0


def test_a_cpu_list_that_had_nothing_at_once_is_tried_again_until_the_budget_ends() -> None:
    driver = Driver(new_state("ml.m5.xlarge", budget=300.0)).watching()
    numbers = []
    while True:
        asked = driver.sees(status="Failed", failure_reason="CapacityError: Unable to provision", ended=driver.now)
        if not isinstance(asked[0], Fail):
            asked = driver.hears(Woken(), after=asked[0].until - driver.now)
        if isinstance(asked[0], Fail):
            break
        numbers.append(asked[0].submission)
        driver.hears(Created("job-n", "arn"))
    assert numbers == [2, 3]
    assert asked[0].judgement.verdict is Verdict.CAPACITY
    assert driver.now - NOW <= 300.0
    assert "within max_pending (5 min)" in asked[0].judgement.text


def test_a_deadline_that_has_passed_submits_nothing() -> None:
    (failed,) = Driver(new_state(start_by=NOW - 1)).hears(Begun())
    assert failed.judgement.verdict is Verdict.CAPACITY
    assert "by start_by" in failed.judgement.text


def test_the_limit_for_everything_holds_between_rounds_too() -> None:
    driver = Driver(new_state("ml.m5.xlarge", total=100.0))
    driver.hears(Begun())
    driver.is_refused(Verdict.CAPACITY, jitter=1.0)
    (failed,) = driver.hears(Woken(), after=120.0)
    assert failed.judgement.verdict is Verdict.LIMIT_REACHED


def test_an_event_out_of_place_is_a_bug_of_the_caller() -> None:
    with pytest.raises(RuntimeError, match="new can't take Seen"):
        Driver(new_state()).hears(Seen(job()))


def test_pauses_never_reach_past_the_budget() -> None:
    driver = Driver(new_state("ml.m5.xlarge", budget=90.0))
    driver.hears(Begun())
    (pause,) = driver.is_refused(Verdict.CAPACITY, jitter=1.0)
    assert pause.until == NOW + 90.0


def test_a_round_that_ends_with_the_budget_fails_at_once() -> None:
    driver = Driver(new_state("ml.m5.xlarge", budget=90.0))
    driver.hears(Begun())
    (failed,) = driver.is_refused(Verdict.CAPACITY, after=90.0)
    assert isinstance(failed, Fail)


def test_a_list_of_which_nothing_can_ever_be_had_says_why() -> None:
    driver = Driver(new_state("ml.a", "ml.b", waves=((0,), (1,))))
    driver.hears(Begun())
    driver.is_refused(Verdict.QUOTA_ZERO, "no quota for a", "ml.a")
    (failed,) = driver.is_refused(Verdict.QUOTA_ZERO, "no quota for b", "ml.b")
    assert "no quota for b" in failed.judgement.text


def test_ten_thousand_refusals_are_paused_for_like_ten() -> None:
    driver = Driver(new_state(budget=30 * 24 * HOUR))
    driver.hears(Begun())
    driver.state = driver.state.but(refusals=10_000)
    (pause,) = driver.is_refused(Verdict.THROTTLED, jitter=1.0)
    assert pause.until - NOW == 20.0


def test_a_plan_behind_a_queue_is_shared_out_by_the_queue_and_not_asked_about() -> None:
    planned = replace(in_queue(plan=PLAN), kind=CapacityKind.TRAINING_PLAN)
    driver = Driver(planned_state(planned, reserved(), waves=((0,), (1,))))
    assert driver.hears(Begun()) == (Submit(1, 0, frozenset()),)
    driver.hears(Created("job-1", SERVICE_JOB.format(1)))
    asked = driver.sees(status="Failed", failure_reason="CapacityError: none", after=60)
    assert asked == (AskPlans((1,)),), "the one at SageMaker itself is"


def test_what_was_submitted_to_a_queue_is_told_with_its_queue_and_share() -> None:
    driver = queued_driver(in_queue(share="research"), in_queue("ml.g5.xlarge", "g5"), limits={"patience": 1800.0})
    assert driver.told == [
        "Submitted job-1: 1 x ml.p5.48xlarge (queue p5, share research). "
        "Waiting for capacity, for at most 6 h, the next choice after 30 min."
    ]


def test_a_queue_that_refuses_the_job_is_dropped_with_batchs_words_and_the_next_is_tried() -> None:
    driver = Driver(planned_state(in_queue(), in_queue("ml.g5.xlarge", "g5"), waves=((0,), (1,))))
    driver.hears(Begun())
    assert driver.is_refused(Verdict.QUEUE_REFUSED, "ClientException: it is DISABLED") == (
        Submit(1, 1, frozenset({0})),
    )
    assert driver.told[-1] == (
        "Left out for good: 1 x ml.p5.48xlarge (queue p5). AWS said: ClientException: it is DISABLED "
        "See that the queue exists, is enabled and for training, and takes the entry's share."
    )
    (failed,) = driver.is_refused(Verdict.QUEUE_REFUSED, "ClientException: it is gone")
    assert isinstance(failed, Fail)
    assert failed.judgement.text == "ClientException: it is gone"
