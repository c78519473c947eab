import threading

import pytest

from airflow_sm_prefer.aws import pacing
from airflow_sm_prefer.aws.pacing import AWS_LIMITS, DEFAULT_RATES, Pacing, shared_pacing
from airflow_sm_prefer.clock import FakeClock


def test_a_burst_goes_through_and_the_next_waits_its_turn():
    calls = Pacing(FakeClock(), {"describe": 2.0})
    waits = [calls.acquire("DescribeTrainingJob") for _ in range(5)]
    assert waits == [0.0, 0.0, 0.5, 1.0, 1.5]


def test_turns_come_back_with_time():
    clock = FakeClock()
    calls = Pacing(clock, {"create": 0.5})
    assert calls.acquire("CreateTrainingJob") == 0.0
    assert calls.acquire("CreateTrainingJob") == 2.0
    clock.advance(4.0)
    assert calls.acquire("CreateTrainingJob") == 0.0


def test_idle_time_is_not_saved_up_beyond_a_second():
    clock = FakeClock()
    calls = Pacing(clock, {"describe": 2.0})
    clock.advance(3600)
    assert [calls.acquire("DescribeTrainingJob") for _ in range(3)] == [0.0, 0.0, 0.5]


def test_over_a_minute_no_more_go_through_than_the_rate_and_one_burst():
    clock = FakeClock()
    calls = Pacing(clock, {"describe": 2.0})
    made = 0
    while clock.time() < FakeClock().time() + 60:
        clock.sleep(calls.acquire("DescribeTrainingJob"))
        made += 1
    assert made <= 60 * 2 + 2


def test_each_operation_has_its_own_bucket():
    calls = Pacing(FakeClock(), {"stop": 1.0})
    assert calls.acquire("StopTrainingJob") == 0.0
    assert calls.acquire("StopProcessingJob") == 0.0
    assert calls.acquire("StopTrainingJob") == 1.0


def test_tags_have_a_rate_of_their_own_and_not_the_lists():
    calls = Pacing(FakeClock(), {"list": 0.5})
    for operation in ("ListTags", "AddTags"):
        assert [calls.acquire(operation) for _ in range(5)] == [0.0, 0.0, 0.0, 0.0, 0.25]


@pytest.mark.parametrize("operation", ["SubmitServiceJob", "TerminateServiceJob", "TagResource"])
def test_what_batch_is_asked_to_do_has_a_rate_below_its_five_a_second(operation):
    calls = Pacing(FakeClock())
    waits = [calls.acquire(operation) for _ in range(9)]
    assert waits[3] == 0.0
    assert waits[8] == pytest.approx(1.25)


def test_an_operation_without_a_rate_is_not_held_up():
    calls = Pacing(FakeClock())
    assert [calls.acquire("GetCallerIdentity") for _ in range(50)] == [0.0] * 50
    calls.throttled("GetCallerIdentity")


def test_one_throttled_call_holds_the_others_back():
    calls = Pacing(FakeClock(), {"describe": 2.0})
    calls.throttled("DescribeTrainingJob")
    assert calls.acquire("DescribeTrainingJob") == 0.5


def test_a_clock_that_is_set_back_stops_nothing():
    class SetBack(FakeClock):
        shift = 0.0

        def time(self):
            return super().time() + self.shift

    clock = SetBack()
    calls = Pacing(clock, {"create": 1.0})
    calls.acquire("CreateTrainingJob")
    clock.shift = -7200
    assert calls.acquire("CreateTrainingJob") == 1.0


def test_threads_never_get_the_same_turn():
    calls = Pacing(FakeClock(), {"describe": 1.0})
    waits = []

    def take():
        waits.extend(calls.acquire("DescribeTrainingJob") for _ in range(50))

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(waits) == [float(turn) for turn in range(200)]


@pytest.mark.parametrize("verb", sorted(AWS_LIMITS))
def test_what_a_process_takes_by_itself_is_below_the_limit_of_the_account(verb):
    assert DEFAULT_RATES[verb] < AWS_LIMITS[verb]


def test_buckets_are_shared_within_an_account_and_region_only(monkeypatch):
    monkeypatch.setattr(pacing, "_shared", {})
    clock = FakeClock()
    one = shared_pacing("1234", "us-west-2", clock)
    assert shared_pacing("1234", "us-west-2", clock) is one
    assert shared_pacing("1234", "eu-west-1", clock) is not one
    assert shared_pacing("5678", "us-west-2", clock) is not one


@pytest.mark.parametrize("operation", ["ListTrainingJobs", pacing.WATCH])
def test_looks_never_come_closer_than_their_rate_has_them(operation):
    clock = FakeClock()
    calls = Pacing(clock, {"list": 2.0, pacing.WATCH: 2.0})
    clock.advance(3600)
    assert [calls.acquire(operation) for _ in range(3)] == [0.0, 0.5, 1.0]


def test_looks_have_a_rate_unless_they_are_told_one():
    calls = Pacing(FakeClock())
    assert [calls.acquire(pacing.WATCH) for _ in range(2)] == [0.0, pytest.approx(1 / pacing.DEFAULT_WATCH_RATE)]
