"""What follows when a person ends a task that sleeps."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import threading
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from airflow.jobs import triggerer_job_runner
from airflow.triggers.base import BaseTrigger

from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers import kill, sagemaker
from airflow_sm_prefer.triggers.connection import Connection
from tests.unit.triggers.builders import STATE, Jobs, failed, made_of, trigger

TI = SimpleNamespace(dag_id="dag", run_id="run", task_id="train", map_index=-1)


@pytest.mark.skipif(not hasattr(BaseTrigger, "on_kill"), reason="Airflow tells triggers of people since 3.3")
def test_a_person_is_told_by_what_airflow_says_of_one() -> None:
    assert kill.USER_ACTION == triggerer_job_runner._USER_ACTION_CANCEL_MSG


@pytest.mark.parametrize(("said", "calls"), [(kill.USER_ACTION, ["stop"]), ("EOF - shutting down", []), (None, [])])
async def test_a_cancelled_wait_stops_the_job_itself_if_a_person_is_behind_it(
    said: str | None, calls: list[str]
) -> None:
    """Airflow may be kept from calling on_kill by its own second cancellation."""
    jobs, each = Jobs(), trigger()
    each.task_instance = TI
    with mock.patch.object(kill, "task_state", return_value="failed"), made_of(jobs):
        task = asyncio.ensure_future(anext(each.run()))
        await asyncio.sleep(0)
        task.cancel(said)
        with pytest.raises(asyncio.CancelledError):
            await task
        await kills_done()
    assert jobs.calls == calls


async def test_a_wait_that_is_cancelled_while_airflow_looks_for_the_connection_stops_the_job_too() -> None:
    jobs, each = Jobs(), trigger()
    each.task_instance = TI
    asked, go = threading.Event(), threading.Event()

    def slow(_: Connection) -> Any:
        asked.set()
        assert go.wait(10)
        return SimpleNamespace(jobs=lambda kind: jobs)

    with (
        mock.patch.object(kill, "task_state", return_value="failed"),
        mock.patch.object(Connection, "hook", slow),
        mock.patch.object(sagemaker, "_SETTLE", 0.0),
    ):
        task = asyncio.ensure_future(anext(each.run()))
        await asyncio.to_thread(asked.wait, 10)
        task.cancel(kill.USER_ACTION)
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        go.set()
        await kills_done()
    assert cancelled.value.args == (kill.USER_ACTION,), "Airflow reads it too"
    assert jobs.calls == ["stop"]


async def test_airflows_on_kill_after_that_adds_nothing() -> None:
    jobs, each = Jobs(), trigger()
    each.task_instance = TI
    with mock.patch.object(kill, "task_state", return_value="failed"), made_of(jobs):
        task = asyncio.ensure_future(anext(each.run()))
        await asyncio.sleep(0)
        task.cancel(kill.USER_ACTION)
        await asyncio.wait([task])
        await each.on_kill()
        await kills_done()
    assert jobs.calls == ["stop"]


async def test_what_is_said_of_a_kill_goes_to_the_tasks_log() -> None:
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody's")
    whose.set("the task's")
    seen: list[str] = []
    each = trigger()
    each.task_instance = TI
    with mock.patch.object(kill, "task_state", side_effect=lambda *_: seen.append(whose.get()) or "deferred"):
        await each.on_kill()
        await kills_done()
    assert seen == ["the task's"]


async def killed(state: str | None, jobs: Jobs, ti: Any = TI, now: State = STATE) -> None:
    each = trigger(now)
    each.task_instance = ti
    with mock.patch.object(kill, "task_state", return_value=state), made_of(jobs):
        await each.on_kill()
        await kills_done()


async def kills_done() -> None:
    for thread in threading.enumerate():
        if thread.name == "sm-prefer-kill":
            await asyncio.to_thread(thread.join)


@pytest.mark.parametrize("state", ["failed", "success", "skipped", "removed", None, "no_status", "scheduled", "queued"])
async def test_a_job_is_stopped_whose_task_is_over_gone_or_not_yet_begun_anew(state: str | None) -> None:
    jobs = Jobs()
    await killed(state, jobs)
    assert jobs.calls == ["stop"]


@pytest.mark.parametrize("state", ["deferred", "running"])
async def test_a_job_is_left_alone_whose_task_is_watched_or_runs_again(state: str) -> None:
    jobs = Jobs()
    await killed(state, jobs)
    assert jobs.calls == []


async def test_without_a_task_instance_or_a_job_nothing_is_stopped() -> None:
    jobs = Jobs()
    await killed("failed", jobs, ti=None)
    await killed("failed", jobs, now=STATE.but(job_name=""))
    assert jobs.calls == []


async def test_a_slow_stop_is_sent_though_airflow_cancels_after_a_second() -> None:
    begun, go = threading.Event(), threading.Event()

    class Slow(Jobs):
        def stop(self, handle: str, why: str = "") -> bool:
            begun.set()
            assert go.wait(10)
            self.calls.append("stop")
            return True

    jobs, each = Slow(), trigger()
    each.task_instance = TI
    with mock.patch.object(kill, "task_state", return_value="failed"), made_of(jobs):
        task = asyncio.ensure_future(each.on_kill())
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        go.set()
        await kills_done()
    assert jobs.calls == ["stop"]


async def test_a_stop_is_sent_though_airflow_cancels_before_it_has_said_what_state_the_task_is_in() -> None:
    asked, go = threading.Event(), threading.Event()

    def slow(*_: Any) -> str:
        asked.set()
        assert go.wait(10)
        return "failed"

    jobs, each = Jobs(), trigger()
    each.task_instance = TI
    with mock.patch.object(kill, "task_state", slow), made_of(jobs):
        task = asyncio.ensure_future(each.on_kill())
        await asyncio.to_thread(asked.wait, 10)
        task.cancel()
        go.set()
        await kills_done()
    assert jobs.calls == ["stop"]


def test_airflow_is_asked_again_what_state_the_task_is_in() -> None:
    jobs, answers = Jobs(), iter([ConnectionError("busy"), ConnectionError("busy"), "failed"])

    def task_state(*_: Any) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    with mock.patch.object(kill, "task_state", task_state), made_of(jobs):
        kill.stop_unless_wanted(TI, STATE, Connection(), logging.getLogger(), FakeClock())
    assert jobs.calls == ["stop"]


def test_nothing_is_stopped_while_nobody_knows_what_state_the_task_is_in(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs()
    with mock.patch.object(kill, "task_state", side_effect=ConnectionError("busy")), made_of(jobs):
        kill.stop_unless_wanted(TI, STATE, Connection(), logging.getLogger("kill"), FakeClock())
    assert jobs.calls == []
    assert "is not stopped: nobody knows" in caplog.text


def test_a_stop_is_repeated_until_aws_takes_it() -> None:
    jobs = Jobs(stops=(failed(FailureKind.THROTTLED), failed(FailureKind.NETWORK), True))
    clock = FakeClock(0.0)
    with made_of(jobs):
        assert kill.stop_until_taken(STATE, Connection(), logging.getLogger(), clock)
    assert jobs.calls == ["stop"] * 3
    assert clock.time() == 3.0


def test_a_stop_that_aws_never_takes_is_given_up_in_words(caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(stops=(failed(FailureKind.DENIED),))
    with made_of(jobs):
        assert not kill.stop_until_taken(STATE, Connection(), logging.getLogger("kill"), FakeClock())
    assert "may still be running" in caplog.text
