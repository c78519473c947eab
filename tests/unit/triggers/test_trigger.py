"""The trigger: what it hears, what it does about it, and the one event that it yields."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.failures import FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark
from airflow_sm_prefer.placement.state import Limits, Phase, State
from airflow_sm_prefer.triggers import sagemaker, watch
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from tests import virtual_time
from tests.unit.triggers.builders import NOW, STATE, trigger
from tests.unit.triggers.cloud import COMPLETED, FAILED, STOPPED, TRAINING, Cloud, failed


async def events(trigger: SageMakerPreferTrigger) -> list[dict[str, Any]]:
    return [event.payload async for event in trigger.run()]


def fire(trigger: SageMakerPreferTrigger, clock: FakeClock) -> list[dict[str, Any]]:
    return virtual_time.run(events(trigger), clock)


# -- watching ------------------------------------------------------------------------------------------------


def test_one_event_comes_when_the_job_is_over_with_the_state_before_it(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (60, COMPLETED))
    (event,) = fire(trigger(), clock)
    assert event["task"] == "digest"
    state = State.from_json(json.loads(json.dumps(event["state"])))
    assert state.phase is Phase.WATCHING
    assert state.status == "InProgress (Pending)"
    assert NOW + 60 <= clock.time() < NOW + 70


def test_the_first_look_lets_the_deferral_settle(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (0, COMPLETED))
    fire(trigger(), clock)
    assert min(call.at for call in cloud.calls) >= NOW + 5


def test_a_job_that_runs_for_a_day_is_no_limit(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (86_400, COMPLETED))
    running = STATE.but(capacity_at=NOW, wait_began=None, limits=Limits(600.0, max_runtime=1e9))
    fire(trigger(running, poll_interval=600.0), clock)
    assert clock.time() >= NOW + 86_400


@pytest.mark.parametrize(
    "blip", [failed(kind) for kind in FailureKind] + [RuntimeError("Airflow's API is away")], ids=str
)
@pytest.mark.parametrize("operation", ["page", "describe", "connect"])
def test_nothing_that_goes_wrong_once_ends_the_wait(
    cloud: Cloud, clock: FakeClock, blip: Exception, operation: str
) -> None:
    cloud.has("job-1", (60, TRAINING), (200, COMPLETED))
    blips, left = iter([blip, blip]), 2

    def next_blip() -> Exception | None:
        nonlocal left
        left -= 1
        return next(blips, None)

    cloud.failing[operation] = next_blip
    (event,) = fire(trigger(), clock)
    assert left < 2
    assert event["state"]["phase"] == "watching"
    assert NOW + 200 <= clock.time() < NOW + 300


def test_the_budgets_end_sends_a_stop_and_the_jobs_end_wakes_the_worker(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1")
    (event,) = fire(trigger(), clock)
    assert cloud.count("stop") == 1
    assert event["state"]["phase"] == "stopping"
    assert NOW + 600 <= clock.time() < NOW + 615


def test_no_stop_is_sent_without_a_describe_right_before_it(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1")
    fire(trigger(), clock)
    place = next(n for n, call in enumerate(cloud.calls) if call.operation == "stop")
    before = [call for call in cloud.calls[:place] if call.operation == "describe"][-1]
    assert before.at >= NOW + 600
    assert cloud.calls[place].at - before.at < 2


def test_a_job_that_gets_its_capacity_in_the_last_second_is_not_stopped(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (599.9, TRAINING), (2000, COMPLETED))
    fire(trigger(), clock)
    assert cloud.count("stop") == 0
    assert clock.time() >= NOW + 2000


def test_a_stop_of_the_workers_that_had_no_effect_is_sent_again_after_a_minute(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1")
    stopping = STATE.but(phase=Phase.STOPPING, stop_sent=NOW, status="InProgress (Pending)")
    fire(trigger(stopping.but(limits=Limits(budget=1e6))), clock)
    assert [call.at - NOW for call in cloud.calls if call.operation == "stop"] == [pytest.approx(60, abs=2)]


def test_a_trigger_never_creates(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (0, FAILED), FailureReason="CapacityError: none")
    fire(trigger(), clock)
    assert set(cloud.told()) <= {"page", "describe"}


def test_an_instant_is_slept_for(cloud: Cloud, clock: FakeClock) -> None:
    (event,) = fire(trigger(STATE.but(phase=Phase.SLEEPING, wake_at=NOW + 900)), clock)
    assert clock.time() >= NOW + 900
    assert event["state"]["phase"] == "sleeping"
    assert not cloud.calls


def test_chance_is_handed_to_the_machine_as_the_clock_is(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (30, TRAINING), (60, COMPLETED))
    with (
        mock.patch.object(SageMakerPreferTrigger, "draw", return_value=0.25),
        mock.patch.object(sagemaker, "step", side_effect=sagemaker.step) as step,
    ):
        fire(trigger(), clock)
    assert {call.args[3] for call in step.call_args_list} == {0.25}


def test_the_event_loop_is_never_the_one_that_calls(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (0, COMPLETED))
    fire(trigger(), clock)
    assert threading.current_thread().name not in {call.thread for call in cloud.calls}


def test_triggers_of_one_connection_share_a_client(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (30, COMPLETED))

    async def many() -> None:
        triggers = [trigger() for _ in range(50)] + [trigger(region_name="eu-west-1") for _ in range(50)]
        await asyncio.gather(*map(events, triggers))

    virtual_time.run(many(), clock)
    assert cloud.built == 2


def test_a_cancelled_wait_ends_quietly_and_touches_nothing(
    cloud: Cloud, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    cloud.has("job-1")

    async def cancel() -> None:
        each = trigger(STATE.but(limits=Limits(budget=1e9)))
        task = asyncio.ensure_future(anext(each.run()))
        await asyncio.sleep(100)
        assert cloud.count("page") > 3
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await each.cleanup()

    with caplog.at_level(logging.ERROR):
        virtual_time.run(cancel(), clock)
    assert cloud.count("stop") == 0
    assert not caplog.records


@pytest.mark.parametrize("after", [1.0, 100.0], ids=["while it settles", "while it watches"])
def test_what_a_wait_is_cancelled_with_goes_through(cloud: Cloud, clock: FakeClock, after: float) -> None:
    cloud.has("job-1")

    async def cancel() -> tuple[Any, ...]:
        task = asyncio.ensure_future(anext(trigger(STATE.but(limits=Limits(budget=1e9))).run()))
        await asyncio.sleep(after)
        task.cancel("a person")
        with pytest.raises(asyncio.CancelledError) as cancelled:
            await task
        return cancelled.value.args

    assert virtual_time.run(cancel(), clock) == ("a person",)


def test_a_state_that_can_not_be_read_fails_this_one_task_in_words(cloud: Cloud, clock: FakeClock) -> None:
    with pytest.raises(StateUnreadable, match="can't be read"):
        fire(SageMakerPreferTrigger(state={"version": 1, "kind": "dancing"}), clock)


def test_a_stop_by_someone_else_is_an_end_like_any_other(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (30, STOPPED))
    fire(trigger(), clock)
    assert cloud.count("stop") == 0


def test_without_credentials_only_those_tasks_fail_whose_budget_is_over(
    cloud: Cloud, clock: FakeClock, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("job-1", "job-2"):
        cloud.has(name, (3000, COMPLETED))
    ends: dict[str, float] = {}

    async def one(name: str, budget: float) -> None:
        await events(trigger(STATE.but(job_name=name, limits=Limits(budget=budget))))
        ends[name] = clock.time() - NOW

    async def main() -> None:
        waits = [asyncio.ensure_future(one("job-1", 300.0)), asyncio.ensure_future(one("job-2", 9000.0))]
        await asyncio.sleep(60)
        cloud.failing["page"] = cloud.failing["describe"] = failed(FailureKind.CREDENTIALS)
        await asyncio.sleep(1000)
        cloud.failing.clear()
        await asyncio.gather(*waits)

    virtual_time.run(main(), clock)
    assert 360 <= ends["job-1"] < 480
    assert 3000 <= ends["job-2"] < 3020
    assert cloud.count("stop") == 0
    said = capsys.readouterr().out
    assert all(f"{name} can't be seen" in said for name in ends)
    assert "job-2 can be seen again" in said


# -- what is left to do and to say ---------------------------------------------------------------------------


def test_nothing_is_left_when_the_event_has_come(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (60, COMPLETED))

    async def main() -> set[Any]:
        await events(trigger())
        await asyncio.sleep(1.0)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert virtual_time.run(main(), clock) == set()
    assert watch._watchers == {}


# -- the job's log in the task's -------------------------------------------------------------------------------


class Logs:
    """The reader of logs; each following hands out one line, and has come to an instant."""

    def __init__(self) -> None:
        self.followed: list[tuple[Any, ...]] = []
        self.closed = 0

    def follow(self, group: str, name: str, write: Any, *since: Any) -> Any:
        self.followed.append((group, name, *since))
        write(f"a line of {name}")
        return SimpleNamespace(close=self._close, noted=lambda state: state.but(logged=LOGGED))

    def _close(self) -> None:
        self.closed += 1


@pytest.fixture
def logs() -> Iterator[Logs]:
    logs = Logs()
    with mock.patch("airflow_sm_prefer.triggers.copied_log.logs_for", return_value=logs):
        yield logs


GROUP = "/aws/sagemaker/TrainingJobs"
LOGGED = Handed((Mark(7, 9, "algo-1-1"),))
RUNNING = STATE.but(capacity_at=NOW, wait_began=None, status="InProgress (Training)", logged=LOGGED)


def test_a_jobs_lines_come_into_the_tasks_log_once_it_runs(
    cloud: Cloud, clock: FakeClock, logs: Logs, capsys: pytest.CaptureFixture[str]
) -> None:
    cloud.has("job-1", (60, TRAINING), (120, COMPLETED))
    (event,) = fire(trigger(print_log=True), clock)
    assert logs.followed == [(GROUP, "job-1", NOTHING)]
    assert "a line of job-1" in capsys.readouterr().out
    assert State.from_json(event["state"]).logged == LOGGED
    assert logs.closed == 1


def test_a_job_that_runs_already_has_its_log_read_on_at_once_from_where_it_was(
    cloud: Cloud, clock: FakeClock, logs: Logs
) -> None:
    cloud.has("job-1", (0, TRAINING), (120, COMPLETED))
    fire(trigger(RUNNING, print_log=True), clock)
    assert logs.followed == [(GROUP, "job-1", LOGGED)]
    assert cloud.count("describe") == 0


def test_a_log_that_nobody_wants_is_not_read(cloud: Cloud, clock: FakeClock, logs: Logs) -> None:
    cloud.has("job-1", (60, TRAINING), (120, COMPLETED))
    (event,) = fire(trigger(), clock)
    assert logs.followed == []
    assert State.from_json(event["state"]).logged == NOTHING


def test_a_wait_that_is_cancelled_closes_its_log(cloud: Cloud, clock: FakeClock, logs: Logs) -> None:
    cloud.has("job-1", (0, TRAINING))

    async def cancel() -> None:
        task = asyncio.ensure_future(anext(trigger(RUNNING, print_log=True).run()))
        await asyncio.sleep(30)
        assert logs.closed == 0
        task.cancel()
        await asyncio.wait([task])

    virtual_time.run(cancel(), clock)
    assert logs.closed == 1


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
