"""Stops: sent until AWS takes them, in their order, each at its own pace."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.events import Stop
from airflow_sm_prefer.triggers.stops import Stops
from tests import virtual_time

WHOSE: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody")


class Log:
    """A task's log, as Airflow tells whose a line is: by the context."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str]] = []

    def warning(self, text: str, *of: Any) -> None:
        self.lines.append((WHOSE.get(), text % of))


class Bench:
    """Stops that AWS takes once a test says so."""

    def __init__(self) -> None:
        self.clock = FakeClock(0.0)
        self.sent: list[tuple[str, float]] = []
        self.refused: dict[str, int] = {}
        self.log = Log()
        self.stops: Stops

    async def _send(self, stop: Stop) -> str | None:
        self.sent.append((stop.handle, self.clock.time()))
        left = self.refused.get(stop.handle, 0)
        self.refused[stop.handle] = left - 1
        return "not now" if left > 0 else None

    def add(self, handle: str, why: str = "") -> None:
        self.stops.add(Stop(handle, why), self.log)

    def run(self, act: Callable[[Bench], Coroutine[Any, Any, None]]) -> None:
        async def main() -> None:
            self.stops = Stops(self._send, self.clock)
            await act(self)

        virtual_time.run(main(), self.clock)


def test_they_are_sent_in_their_order_and_once() -> None:
    bench = Bench()

    async def act(bench: Bench) -> None:
        for handle in ("a", "b", "c"):
            bench.add(handle)
        await asyncio.sleep(1000)

    bench.run(act)
    assert [handle for handle, _ in bench.sent] == ["a", "b", "c"]
    assert bench.log.lines == []


def test_one_that_aws_does_not_take_is_sent_again_until_it_does_less_and_less_often() -> None:
    bench = Bench()
    bench.refused = {"a": 8}

    async def act(bench: Bench) -> None:
        bench.add("a")
        await asyncio.sleep(1000)

    bench.run(act)
    instants = [at for _, at in bench.sent]
    pauses = [round(after - before) for before, after in itertools.pairwise(instants)]
    assert pauses == [2, 4, 8, 16, 32, 60, 60, 60]
    assert bench.log.lines == [("nobody", "a could not be stopped yet: not now")] * 8


def test_one_that_is_never_taken_delays_no_other() -> None:
    bench = Bench()
    bench.refused = {"never": 10**6}

    async def act(bench: Bench) -> None:
        bench.add("never")
        await asyncio.sleep(300)
        bench.add("a")
        await asyncio.sleep(1)

    bench.run(act)
    assert ("a", 300.0) in bench.sent


def test_one_that_nobody_wants_any_more_is_not_sent_again() -> None:
    bench = Bench()
    bench.refused = {"a": 10**6}

    async def act(bench: Bench) -> None:
        bench.add("a")
        await asyncio.sleep(3)
        bench.stops.drop("a")
        bench.stops.drop("never there")
        await asyncio.sleep(1000)

    bench.run(act)
    assert [at for _, at in bench.sent] == [0.0, 2.0]


def test_a_later_stop_of_a_job_takes_the_place_of_the_one_before() -> None:
    bench = Bench()
    bench.refused = {"a": 3}

    async def act(bench: Bench) -> None:
        bench.add("a", "first")
        await asyncio.sleep(1)
        bench.add("a", "second")
        await asyncio.sleep(1000)

    bench.run(act)
    assert len(bench.sent) == 4


def test_what_keeps_aws_from_it_is_told_to_the_log_of_the_task_whose_job_it_is() -> None:
    bench = Bench()
    bench.refused = {"a": 1, "b": 1}

    async def act(bench: Bench) -> None:
        for handle in ("a", "b"):
            WHOSE.set(f"the task of {handle}")
            bench.add(handle)
        await asyncio.sleep(100)

    bench.run(act)
    assert bench.log.lines == [
        (f"the task of {handle}", f"{handle} could not be stopped yet: not now") for handle in ("a", "b")
    ]


def test_nothing_is_sent_and_nothing_left_once_it_is_closed() -> None:
    bench = Bench()
    bench.refused = {"a": 10**6}

    async def act(bench: Bench) -> None:
        bench.add("a")
        await asyncio.sleep(3)
        bench.stops.close()
        await asyncio.sleep(0.1)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    bench.run(act)
    assert len(bench.sent) == 2
