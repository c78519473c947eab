from __future__ import annotations

import asyncio
import json
import logging
import threading
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.state import Limits, Phase, State
from airflow_sm_prefer.triggers import watch
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from tests.unit.triggers.builders import NOW, STATE, Jobs, described, failed, made_of, trigger


class Stoppable(Jobs):
    """A job that waits until AWS has taken a stop."""

    taken = False

    def describe(self, name: str) -> dict[str, Any]:
        super().describe(name)
        return described("Stopped", "Stopped") if self.taken else described()

    def stop(self, handle: str, why: str = "") -> bool:
        self.taken = super().stop(handle, why)
        return self.taken


def fire(trigger: SageMakerPreferTrigger) -> list[dict[str, Any]]:
    async def events() -> list[dict[str, Any]]:
        return [event.payload async for event in trigger.run()]

    return asyncio.run(events())


# -- watching ------------------------------------------------------------------------------------------------


def test_one_event_comes_when_the_job_is_over_with_the_state_before_it(clock: FakeClock) -> None:
    jobs = Jobs(described(), described(), described("Completed", "Completed"))
    with made_of(jobs):
        (event,) = fire(trigger())
    assert event["task"] == "digest"
    state = State.from_json(json.loads(json.dumps(event["state"])))
    assert state.phase is Phase.WATCHING
    assert state.status == "InProgress (Pending)"
    assert jobs.calls == ["describe"] * 3


def test_the_first_look_lets_the_deferral_settle(clock: FakeClock) -> None:
    with made_of(Jobs(described("Completed", "Completed"))):
        fire(trigger())
    assert clock.time() >= NOW + 5


def test_ten_thousand_looks_are_no_limit(clock: FakeClock) -> None:
    jobs = Jobs(*[described("InProgress", "Training")] * 10_000, described("Completed", "Completed"))
    with made_of(jobs):
        fire(trigger(STATE.but(capacity_at=NOW, wait_began=None, limits=Limits(600.0, max_runtime=1e9))))
    assert len(jobs.calls) == 10_001


@pytest.mark.parametrize(
    "blip", [failed(kind) for kind in FailureKind] + [RuntimeError("Airflow's API is away")], ids=str
)
def test_nothing_that_goes_wrong_once_ends_the_wait(clock: FakeClock, blip: Exception) -> None:
    jobs = Jobs(described(), blip, blip, described("Completed", "Completed"))
    with made_of(jobs):
        (event,) = fire(trigger())
    assert jobs.calls == ["describe"] * 4
    assert event["state"]["unseen_since"] > NOW


def test_the_budgets_end_sends_a_stop_and_the_jobs_end_wakes_the_worker(clock: FakeClock) -> None:
    jobs = Stoppable(described())
    with made_of(jobs):
        (event,) = fire(trigger())
    assert jobs.calls.count("stop") == 1
    assert event["state"]["phase"] == "stopping"


def test_a_stop_that_aws_does_not_take_is_sent_again_at_the_next_look(clock: FakeClock) -> None:
    jobs = Stoppable(described(), stops=(failed(FailureKind.THROTTLED), True))
    with made_of(jobs):
        fire(trigger())
    assert jobs.calls.count("stop") == 2


def test_a_trigger_never_creates(clock: FakeClock) -> None:
    jobs = Jobs(described("Failed", "Failed", FailureReason="CapacityError: none"))
    with made_of(jobs):
        fire(trigger())
    assert set(jobs.calls) == {"describe"}


def test_an_instant_is_slept_for(clock: FakeClock) -> None:
    with made_of(Jobs()):
        (event,) = fire(trigger(STATE.but(phase=Phase.SLEEPING, wake_at=NOW + 900)))
    assert clock.time() >= NOW + 900
    assert event["state"]["phase"] == "sleeping"


def test_the_event_loop_is_never_the_one_that_calls(clock: FakeClock) -> None:
    jobs = Jobs(described(), described("Completed", "Completed"))
    with made_of(jobs):
        fire(trigger())
    assert threading.current_thread().name not in jobs.threads


def test_triggers_of_one_connection_share_a_client(clock: FakeClock) -> None:
    built = []

    def hook(self: Connection, *args: Any) -> Any:
        built.append(self)
        return SimpleNamespace(jobs=lambda kind: Jobs(described("Completed", "Completed")))

    async def many() -> None:
        triggers = [trigger() for _ in range(50)] + [trigger(region_name="eu-west-1") for _ in range(50)]

        async def one(each: SageMakerPreferTrigger) -> None:
            async for _ in each.run():
                pass

        await asyncio.gather(*map(one, triggers))

    with mock.patch.object(Connection, "hook", hook):
        asyncio.run(many())
    assert len(built) == 2


def test_a_cancelled_wait_ends_quietly_and_touches_nothing(clock: FakeClock, caplog: pytest.LogCaptureFixture) -> None:
    jobs = Jobs(described())

    async def cancel() -> None:
        each = trigger(STATE.but(limits=Limits(budget=1e9)))
        task = asyncio.ensure_future(anext(each.run()))
        while len(jobs.calls) < 3:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await each.cleanup()

    with made_of(jobs), caplog.at_level(logging.ERROR):
        asyncio.run(cancel())
    assert "stop" not in jobs.calls
    assert not caplog.records


def test_a_state_that_can_not_be_read_fails_this_one_task_in_words(clock: FakeClock) -> None:
    with pytest.raises(StateUnreadable, match="can't be read"):
        fire(SageMakerPreferTrigger(state={"version": 1, "kind": "dancing"}))


# -- the wire ------------------------------------------------------------------------------------------------


def test_what_is_serialised_is_plain_json_and_makes_the_same_trigger() -> None:
    made = trigger(
        aws_conn_id="other",
        region_name="eu-west-1",
        verify="/ca.pem",
        botocore_config={"retries": {"mode": "adaptive"}},
    )
    path, kwargs = made.serialize()
    assert path == "airflow_sm_prefer.triggers.sagemaker.SageMakerPreferTrigger"
    assert json.loads(json.dumps(kwargs)) == kwargs
    assert SageMakerPreferTrigger(**kwargs).serialize() == (path, kwargs)
    hook = made.connection.hook()
    assert (hook.aws_conn_id, hook._region_name, hook._verify) == ("other", "eu-west-1", "/ca.pem")


def test_a_row_of_an_earlier_version_makes_a_trigger() -> None:
    assert SageMakerPreferTrigger(state=STATE.to_json()).poll_interval == 30.0


def test_a_connection_that_can_not_be_made_is_a_look_that_shows_nothing(clock: FakeClock) -> None:
    def hook(self: Connection, *args: Any) -> Any:
        raise ConnectionError("no API server")

    with mock.patch.object(Connection, "hook", hook):
        seen = asyncio.run(watch.Watcher(Connection(), JobKind.TRAINING).look("job-1"))
    assert seen.judgement.verdict == "credentials"
