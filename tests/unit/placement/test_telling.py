"""What the task's log says of queues."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement import telling

from .builders import in_queue, job, planned_state

SHORT = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources"


@pytest.mark.parametrize(("place", "words"), [(1, "next"), (2, "the 2nd"), (100, "the 100th")])
def test_a_place_in_the_queue_is_told_with_what_is_waited_for(place: int, words: str) -> None:
    state = planned_state(in_queue(share="research")).but(job_name="job-1")
    told = telling.place_in_queue(state, place)
    assert told == f"job-1 is {words} in line for 1 x ml.p5.48xlarge (queue p5, share research)."


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({}, "InProgress"),
        ({"secondary": "RUNNABLE"}, "InProgress (RUNNABLE)"),
        (
            {"secondary": "RUNNABLE", "held_up_by": SHORT},
            "InProgress (RUNNABLE, CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY)",
        ),
    ],
)
def test_a_status_says_what_holds_a_job_up(fields: dict[str, str], status: str) -> None:
    assert telling.status_of(planned_state(in_queue()), job(**fields)) == status


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"secondary": "RUNNABLE"}, "job-1 is InProgress (RUNNABLE): it waits for room in its queue"),
        (
            {"secondary": "SCHEDULED"},
            "job-1 is InProgress (SCHEDULED): it has its turn, and SageMaker has no instances for it yet",
        ),
        (
            {"secondary": "SCHEDULED", "held_up_by": SHORT},
            f"job-1 is InProgress (SCHEDULED, CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY): {SHORT}",
        ),
        (
            {"secondary": "RUNNABLE", "held_up_by": "In-share preemption triggered"},
            "job-1 is InProgress (RUNNABLE, In-share preemption triggered)",
        ),
        ({"secondary": "SUBMITTED"}, "job-1 is InProgress (SUBMITTED)"),
    ],
)
def test_what_a_job_in_a_queue_waits_for_is_told_in_batchs_words_or_else_in_ours(
    fields: dict[str, str], said: str
) -> None:
    state = planned_state(in_queue()).but(job_name="job-1")
    assert [tell.text for tell in telling.progress(state, job(name="job-1", **fields), 0.0)] == [said]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_a_remedy_is_told_where_a_queue_does_not_do_and_nowhere_else(verdict: Verdict) -> None:
    assert bool(telling.remedy(verdict)) is (verdict in {Verdict.QUEUE_REFUSED, Verdict.QUEUE_UNFIT})


def test_what_is_left_out_is_told_with_awss_words_once() -> None:
    state = planned_state(in_queue())
    own = Judgement(Verdict.QUEUE_UNFIT, telling.queue_unfit(state, "MISCONFIGURATION:X - too large."))
    for judgement in (own, Judgement(Verdict.QUEUE_UNFIT, "MISCONFIGURATION:X - too large.")):
        told = telling.left_out(state, {0}, judgement)
        assert told.startswith("Left out for good: 1 x ml.p5.48xlarge (queue p5). ")
        assert told.count("AWS said: MISCONFIGURATION:X - too large.") == 1
        assert told.endswith(telling.remedy(Verdict.QUEUE_UNFIT))
