"""First in, first out."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.scheduling.fifo import Fifo
from airflow_sm_prefer.scheduling.snapshot import Snapshot
from tests.unit.scheduling.builders import P5, blocked, counted, job, names, placed

# AWS: API_CapacityLimit, the words on maxCapacity; sm_job_stuck_in_runnable_misconfiguration, first table.
FIVE_OF_TEN = [placed(f"r{n}", 10) for n in range(5)]

CASES = {
    "nothing waits": (counted(4), [], []),
    "all that fit are placed in order of arrival": (
        counted(4, [job("b", at=2), job("a", at=1), job("c", 2, at=3)]),
        ["a", "b", "c"],
        [],
    ),
    "jobs of one instant go in order of their sequence": (
        counted(1, [job("a", sequence=2), job("b", sequence=1)]),
        ["b"],
        [],
    ),
    "a head that doesn't fit blocks smaller ones": (
        counted(4, [job("big", 3, at=1), job("small", 1, at=2)], [placed("r", 2)]),
        [],
        [],
    ),
    "priorities and shares mean nothing": (
        counted(1, [job("late", at=2, priority=9999, share="s"), job("early", at=1)]),
        ["early"],
        [],
    ),
    "all instance types count alike": (
        counted(4, [job("p5", 3, instance_type=P5)], [placed("p4", 2)]),
        [],
        [],
    ),
    "what other queues hold is taken": (counted(4, [job("a", 2)], elsewhere=3), [], []),
    "a job that is being stopped still holds its instances": (
        counted(2, [job("a", 2)], [placed("r", 1, stopping=True)]),
        [],
        [],
    ),
    "AWS: five jobs of ten fill a limit of fifty, the sixth waits": (
        counted(50, [job("sixth", 10)], FIVE_OF_TEN),
        [],
        [],
    ),
    "AWS: the sixth is placed once one has ended": (counted(50, [job("sixth", 10)], FIVE_OF_TEN[1:]), ["sixth"], []),
    "AWS: eleven instances never fit a limit of ten": (
        counted(10, [job("eleven", 11)]),
        [],
        [("eleven", "ENVIRONMENT_TOO_SMALL")],
    ),
    "a misconfigured job blocks only once it is the head": (
        counted(4, [job("first", 2, at=1), job("huge", 5, at=2), job("after", 1, at=3)]),
        ["first"],
        [("huge", "ENVIRONMENT_TOO_SMALL")],
    ),
    "a head that waits for room isn't misconfigured": (counted(4, [job("a", 4)], [placed("r")]), [], []),
    "an environment without a count of instances holds none": (
        Snapshot(now=0, runnable=(job("a"),), limits={}),
        [],
        [("a", "ENVIRONMENT_TOO_SMALL")],
    ),
}


@pytest.mark.parametrize(("snapshot", "expected", "stuck"), CASES.values(), ids=CASES)
def test_what_is_placed(snapshot, expected, stuck):
    decision = Fifo().decide(snapshot)

    assert names(decision.place) == expected
    assert blocked(decision) == stuck
    assert decision.preempt == ()


def test_the_order_has_every_runnable_job_whether_it_fits_or_not():
    snapshot = counted(1, [job("huge", 9, at=1), job("z", at=2), job("a", at=3)])

    assert names(Fifo().order(snapshot)) == ["huge", "z", "a"]
