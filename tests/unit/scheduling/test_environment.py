"""Several queues on one service environment."""

from __future__ import annotations

from airflow_sm_prefer.scheduling.environment import Queue, decide_all
from airflow_sm_prefer.scheduling.fifo import Fifo
from airflow_sm_prefer.scheduling.quota_management import QuotaManagement
from airflow_sm_prefer.scheduling.snapshot import NUM_INSTANCES
from tests.unit.scheduling.builders import P4, borrowing, job, names, placed


def decide(*queues, limit=4):
    return decide_all(queues, limits={NUM_INSTANCES: limit}, now=0)


def queue(name, priority, runnable=(), running=()):
    return Queue(name=name, priority=priority, policy=Fifo(), runnable=tuple(runnable), placed=tuple(running))


def test_the_queue_of_higher_priority_is_asked_first_whenever_its_jobs_came():
    decisions = decide(queue("low", 1, [job("early", 3, at=1)]), queue("high", 1000, [job("late", 3, at=2)]))

    assert list(decisions) == ["high", "low"]
    assert names(decisions["high"].place) == ["late"]
    assert decisions["low"].place == ()


def test_queues_of_the_same_priority_are_asked_by_name():
    decisions = decide(queue("b", 5, [job("b1", 4)]), queue("a", 5, [job("a1", 4)]))

    assert names(decisions["a"].place) == ["a1"]
    assert decisions["b"].place == ()


def test_what_is_left_goes_to_the_next_queue():
    decisions = decide(queue("high", 2, [job("h", 3)]), queue("low", 1, [job("l1", at=1), job("l2", at=2)]))

    assert names(decisions["low"].place) == ["l1"]


def test_a_head_that_waits_holds_back_its_own_queue_only():
    decisions = decide(queue("high", 2, [job("h", 4)]), queue("low", 1, [job("l", 3)], [placed("r")]))

    assert decisions["high"].place == ()
    assert names(decisions["low"].place) == ["l"]


def test_what_a_queue_holds_counts_once():
    decisions = decide(queue("a", 2, [job("a1", 1)], [placed("r", 2)]), queue("b", 1, [job("b1", 1)]))

    assert names(decisions["a"].place) == ["a1"]
    assert names(decisions["b"].place) == ["b1"]


def test_instance_types_are_counted_for_a_queue_with_quota_shares():
    share = borrowing("team", 2)
    managed = Queue(name="managed", priority=1, policy=QuotaManagement((share,)), runnable=(job("m", 2, share="team"),))
    other = queue("other", 0, (), [placed("r", 1)])

    decisions = decide_all([managed, other], limits={P4: 2}, now=0)

    assert decisions["managed"].place == ()
