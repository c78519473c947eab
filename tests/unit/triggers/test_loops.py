"""Loops go on whatever happens in them, and end when nobody wants them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.triggers.loops import Loops, set_or
from tests import virtual_time
from tests.unit.triggers.builders import NOW


class Stage:
    """One loop that looks once in ten seconds, and may be told to fail."""

    def __init__(self) -> None:
        self.wanted, self.looks, self.errors = True, 0, 0
        self.failing: Exception | None = None
        self.loops = Loops("The stage", (self.loop,), lambda: self.wanted, self.after_error)

    async def loop(self) -> None:
        while self.wanted:
            self.looks += 1
            if self.failing:
                raise self.failing
            await self.loops.rest(10.0)

    def after_error(self) -> None:
        self.errors += 1


def run(act: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    return virtual_time.run(act(), FakeClock(NOW))


def test_a_loop_rests_for_so_long_and_less_when_it_is_stirred() -> None:
    async def act() -> list[int]:
        stage = Stage()
        stage.loops.keep_up()
        await asyncio.sleep(35)
        looks = [stage.looks]
        stage.loops.stir()
        await asyncio.sleep(0.1)
        looks.append(stage.looks)
        stage.wanted = False
        stage.loops.close()
        return looks

    assert run(act) == [4, 5]


def test_a_loop_that_raises_is_told_of_in_the_log_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    async def act() -> tuple[int, int]:
        stage = Stage()
        stage.failing = ValueError("odd")
        stage.loops.keep_up()
        await asyncio.sleep(1)
        stage.failing = None
        await asyncio.sleep(30)
        stage.wanted = False
        stage.loops.close()
        return stage.errors, stage.looks

    errors, looks = run(act)
    assert (errors, looks > 2) == (1, True)
    assert "The stage had an error, and goes on" in caplog.text


def test_a_loop_that_is_cancelled_begins_anew_and_one_that_is_not_wanted_does_not() -> None:
    async def act() -> tuple[int, int]:
        stage = Stage()
        stage.loops.keep_up()
        stage.loops.keep_up()
        await asyncio.sleep(1)
        stage.loops.close()
        await asyncio.sleep(1)
        begun_anew = stage.looks
        stage.wanted = False
        stage.loops.close()
        await asyncio.sleep(60)
        return begun_anew, stage.looks

    assert run(act) == (2, 2)


def test_a_loop_runs_in_nobodys_context() -> None:
    whose = contextvars.ContextVar("whose", default="nobody's")
    seen = []

    async def act() -> None:
        stage = Stage()

        async def loop() -> None:
            seen.append(whose.get())
            stage.wanted = False

        whose.set("a task's")
        Loops("The stage", (loop,), lambda: stage.wanted, stage.after_error).keep_up()
        await asyncio.sleep(1)

    run(act)
    assert seen == ["nobody's"]


def test_an_event_is_waited_for_and_no_longer_than_told() -> None:
    async def act() -> list[float]:
        event, now = asyncio.Event(), asyncio.get_running_loop().time
        began = now()
        await set_or(event, 7.0)
        asyncio.get_running_loop().call_later(2.0, event.set)
        waited = now() - began
        await set_or(event, 60.0)
        return [waited, now() - began]

    assert run(act) == pytest.approx([7.0, 9.0], abs=0.01)
