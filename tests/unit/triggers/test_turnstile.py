"""The turnstile: after a while, and a few at a time."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.triggers.turnstile import Turnstile, turnstile
from tests import virtual_time


def test_ten_thousand_that_begin_in_one_second_go_through_twenty_at_a_time_and_none_too_early() -> None:
    clock, rounds = FakeClock(0.0), Counter[float]()
    early: list[float] = []

    async def one() -> None:
        begun = clock.time()
        await turnstile().through(5.0)
        if clock.time() < begun + 5.0 - 1e-4:
            early.append(clock.time() - begun)
        rounds[clock.time()] += 1

    async def main() -> None:
        tasks = []
        for number in range(10_000):
            tasks.append(asyncio.ensure_future(one()))
            if number % 100 == 99:
                await asyncio.sleep(0.01)
        await asyncio.gather(*tasks)

    virtual_time.run(main(), clock)
    assert sum(rounds.values()) == 10_000
    assert max(rounds.values()) == 20
    assert early == []
    assert clock.time() < 5 + 1 + 10_000 / 20 * 0.003


def test_who_has_left_the_line_holds_up_nobody() -> None:
    clock = FakeClock(0.0)

    async def main() -> None:
        one, two = turnstile().through(5.0), turnstile().through(5.0)
        one.cancel()
        await two

    virtual_time.run(main(), clock)
    assert 5.0 <= clock.time() < 5.1


def test_it_goes_on_with_those_who_come_after_it_was_empty_and_leaves_no_task() -> None:
    clock = FakeClock(0.0)

    async def main() -> set[Any]:
        await turnstile().through(5.0)
        await asyncio.sleep(100)
        await turnstile().through(5.0)
        await asyncio.sleep(1)
        assert turnstile()._letting_through is None
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert virtual_time.run(main(), clock) == set()
    assert 110.0 <= clock.time() < 112.0


def test_each_event_loop_has_its_own() -> None:
    async def mine() -> Turnstile:
        assert turnstile() is turnstile()
        return turnstile()

    assert virtual_time.run(mine(), FakeClock()) is not virtual_time.run(mine(), FakeClock())
