"""What a trigger and the watcher have between them."""

from __future__ import annotations

import asyncio
import math

import pytest

from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import Glimpsed, Unseen
from airflow_sm_prefer.triggers.waits import Over, Place, Wait, Waits
from tests.unit.triggers.builders import hear, waiting

LOST, AWAY = (Unseen(Judgement(verdict, "words")) for verdict in (Verdict.LOST, Verdict.UNREACHABLE))


def heard(wait: Wait) -> list[object]:
    """Return all that a wait has to hear by now."""
    return list(iter(wait.heard, None))


async def test_what_comes_is_heard_in_its_order_whether_somebody_listens_yet_or_not() -> None:
    one = waiting()
    one.put(Place(3))
    listening = asyncio.ensure_future(hear(one))
    assert await listening == Place(3)
    listening = asyncio.ensure_future(hear(one))
    await asyncio.sleep(0)
    one.put(Glimpsed())
    one.put(Over())
    assert [await listening, await hear(one)] == [Glimpsed(), Over()]


async def test_who_is_cancelled_while_listening_can_listen_again() -> None:
    one = waiting()
    listening = asyncio.ensure_future(hear(one))
    await asyncio.sleep(0)
    listening.cancel("why")
    with pytest.raises(asyncio.CancelledError, match="why"):
        await listening
    one.put(Over())
    assert await hear(one) == Over()


async def test_all_who_wait_for_a_job_hear_of_it_and_nobody_else() -> None:
    waits, (one, two, other) = Waits(), (waiting(), waiting(), waiting("job-2"))
    for each in (one, two, other):
        waits.add(each)
    waits.put("job-1", Over())
    waits.put("job-3", Over())
    assert [heard(each) for each in (one, two, other)] == [[Over()], [Over()], []]


def test_how_often_is_looked_goes_by_those_who_wait_now() -> None:
    waits, seldom, often, too = Waits(), *(waiting(every=every) for every in (600.0, 12.0, 12.0))
    assert waits.every == math.inf
    for one in (seldom, often, too):
        waits.add(one)
    assert waits.every == 12.0
    waits.remove(often)
    waits.remove(often)
    assert waits.every == 12.0
    waits.remove(too)
    assert waits.every == 600.0


def test_a_job_is_let_go_with_the_last_who_waits_for_it_and_once() -> None:
    waits, one, two = Waits(), waiting(), waiting()
    waits.add(one)
    waits.add(two)
    assert not waits.remove(one)
    assert not waits.remove(one)
    assert "job-1" in waits
    assert waits.remove(two)
    assert not waits.remove(two)
    assert not waits


async def test_who_has_heard_that_no_job_can_be_seen_hears_once_that_they_can() -> None:
    waits, one, late = Waits(), waiting(), waiting("job-2")
    waits.add(one)
    await waits.worry(AWAY)
    waits.add(late)
    await waits.reassure()
    await waits.reassure()
    assert heard(one) == [AWAY, Glimpsed()]
    assert heard(late) == []


async def test_a_job_that_can_not_be_seen_by_itself_is_not_said_to_be_there_for_the_others_sake() -> None:
    waits, gone = Waits(), waiting()
    waits.add(gone)
    waits.put("job-1", LOST)
    await waits.reassure()
    assert heard(gone) == [LOST]


async def test_many_are_told_a_few_at_a_time() -> None:
    waits, turns, done = Waits(), 0, False
    for number in range(1000):
        waits.add(waiting(f"job-{number}"))

    async def others() -> None:
        nonlocal turns
        while not done:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.ensure_future(others())
    await waits.worry(AWAY)
    done = True
    await counting
    assert turns >= 1000 / 20


def test_a_trigger_says_what_it_has_told_and_when_something_falls_due() -> None:
    said: list[Wait] = []
    one = waiting(due=10.0, set_due=said.append)
    one.goes_on("InProgress (Pending)", 20.0)
    assert said == [one]
    assert (one.status, one.due) == ("InProgress (Pending)", 20.0)
