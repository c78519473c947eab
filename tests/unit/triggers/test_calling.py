"""How a watcher reaches AWS: in turns, in threads, and with one answer for whatever goes wrong."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowNotFoundException
from botocore.exceptions import NoCredentialsError

from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.triggers.calling import Caller, Failed
from airflow_sm_prefer.triggers.connection import Connection
from tests import virtual_time
from tests.unit.triggers.builders import NOW
from tests.unit.triggers.cloud import Cloud, failed


def run(clock: FakeClock, act: Callable[[Caller], Coroutine[Any, Any, Any]]) -> Any:
    async def main() -> Any:
        caller = Caller(Connection(), JobKind.TRAINING, clock)
        try:
            return await act(caller)
        finally:
            caller.close()

    return virtual_time.run(main(), clock)


def test_turns_come_at_the_rate_at_which_jobs_are_watched(cloud: Cloud, clock: FakeClock) -> None:
    async def act(caller: Caller) -> None:
        for _ in range(15):
            await caller.turn()

    run(clock, act)
    assert clock.time() == pytest.approx(NOW + 14, abs=0.1)


def test_two_callers_of_an_account_share_its_turns(cloud: Cloud, clock: FakeClock) -> None:
    async def act(caller: Caller) -> None:
        other = Caller(Connection(), JobKind.PROCESSING, clock)
        for _ in range(7):
            await asyncio.gather(caller.turn(), other.turn())
        other.close()

    run(clock, act)
    assert clock.time() >= NOW + 9


def test_a_call_is_made_in_a_thread_of_the_watcher(cloud: Cloud, clock: FakeClock) -> None:
    name = run(clock, lambda caller: caller.answer(lambda _: threading.current_thread().name))
    assert name.startswith("sm-prefer-watch")


@pytest.mark.parametrize(
    ("error", "kind", "verdict"),
    [
        (failed(FailureKind.THROTTLED), FailureKind.THROTTLED, "unreachable"),
        (failed(FailureKind.NOT_FOUND), FailureKind.NOT_FOUND, "lost"),
        (failed(FailureKind.DENIED), FailureKind.DENIED, "credentials"),
        (failed(FailureKind.CREDENTIALS), FailureKind.CREDENTIALS, "credentials"),
        (NoCredentialsError(), FailureKind.CREDENTIALS, "credentials"),
        (AirflowNotFoundException("no such connection"), FailureKind.CREDENTIALS, "credentials"),
        (LookupError("a bug"), FailureKind.OTHER, "unreachable"),
    ],
    ids=str,
)
@pytest.mark.parametrize("where", ["page", "connect"])
def test_whatever_goes_wrong_is_an_answer(
    cloud: Cloud, clock: FakeClock, error: Exception, kind: FailureKind, verdict: str, where: str
) -> None:
    cloud.failing[where] = error
    answer = run(clock, lambda caller: caller.answer(lambda jobs: jobs._called("page", "")))  # type: ignore[union-attr]
    assert isinstance(answer, Failed)
    assert (answer.kind, answer.unseen.judgement.verdict) == (kind, verdict)
    assert answer.is_about_credentials is (verdict == "credentials")
    assert str(error) in answer.unseen.judgement.text


def test_a_client_that_could_not_be_made_is_made_with_the_next_call(cloud: Cloud, clock: FakeClock) -> None:
    cloud.failing["connect"] = ConnectionError("no API server")

    async def act(caller: Caller) -> Any:
        await caller.turn()
        assert isinstance(await caller.answer(lambda _: 1), Failed)
        del cloud.failing["connect"]
        return await caller.answer(lambda _: 1)

    assert run(clock, act) == 1


def test_a_client_is_made_once_for_all_who_ask_at_the_same_time(cloud: Cloud, clock: FakeClock) -> None:
    async def act(caller: Caller) -> None:
        await asyncio.gather(*[caller.answer(lambda _: 1) for _ in range(20)])

    run(clock, act)
    assert cloud.built == 1


def test_a_client_is_made_anew_once_a_minute_at_most(cloud: Cloud, clock: FakeClock) -> None:
    async def act(caller: Caller) -> list[int]:
        built = []
        for _ in range(5):
            await caller.answer(lambda _: 1)
            caller.begin_anew()
            built.append(cloud.built)
            await asyncio.sleep(25)
        return built

    assert run(clock, act) == [1, 1, 1, 1, 2]


def test_who_is_cancelled_while_the_client_is_made_learns_with_what_and_the_others_go_on(
    cloud: Cloud, clock: FakeClock
) -> None:
    go = threading.Event()

    def slow() -> None:
        assert go.wait(10)

    cloud.failing["connect"] = slow

    async def act(caller: Caller) -> int | Failed:
        one, two = (asyncio.ensure_future(caller.answer(lambda _: 1)) for _ in range(2))
        await asyncio.sleep(0)
        one.cancel("a person")
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await one
        assert cancelled.value.args == ("a person",)
        go.set()
        return await two

    assert run(clock, act) == 1
