"""The trigger for lists with job queues watches what the job's handle says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.handed import Handed, Mark
from airflow_sm_prefer.placement.state import Entry, Limits, State, StopReason
from airflow_sm_prefer.triggers.batch import BatchPreferTrigger
from tests import virtual_time
from tests.unit.triggers.builders import NOW, STATE
from tests.unit.triggers.cloud import COMPLETED, Cloud, QueuedCloud

ARN = f"{QueuedCloud.ARN}7b5f"
NEVER = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) can't."
QUEUED = STATE.but(
    entries=(Entry("ml.p5.48xlarge", 1, queue="p5"), Entry("ml.g5.xlarge", 1, queue="g5")),
    waves=((0,), (1,)),
    limits=Limits(budget=6000.0, patience=600.0),
    job_arn=ARN,
)


@pytest.fixture
def queue(clock: FakeClock) -> Iterator[QueuedCloud]:
    queue = QueuedCloud(clock)
    with queue.connected():
        yield queue


def is_now(status: str) -> tuple[str, str]:
    return "", status


def fire(clock: FakeClock, state: State = QUEUED, **more: Any) -> State:
    made = BatchPreferTrigger(state=state.to_json(), task="digest", poll_interval=30.0, **more)
    path, kwargs = made.serialize()
    assert path == "airflow_sm_prefer.triggers.batch.BatchPreferTrigger"
    again = BatchPreferTrigger(**json.loads(json.dumps(kwargs)))

    async def events() -> list[Any]:
        return [event.payload async for event in again.run()]

    (event,) = virtual_time.run(events(), clock)
    return State.from_json(event["state"])


def waits_in(queue: QueuedCloud, *changes: tuple[float, tuple[str, str]], **more: Any) -> None:
    """Have the job wait in its queue, and become something else."""
    queue.has(ARN, *changes, **more).script[0] = (NOW, is_now("RUNNABLE"))


def test_a_service_job_is_watched_by_its_arn_and_queue_until_it_is_over(queue: QueuedCloud, clock: FakeClock) -> None:
    waits_in(
        queue,
        (40, is_now("SCHEDULED")),
        (60, is_now("RUNNING")),
        (120, is_now("SUCCEEDED")),
        startedAt=(NOW + 60) * 1000,
    )
    state = fire(clock)
    assert {call.handle for call in queue.calls if call.operation == "describe"} == {ARN}
    assert {call.handle for call in queue.calls if call.operation == "page"} == {"p5"}
    assert state.capacity_at == NOW + 60
    assert clock.time() < NOW + 130


def test_past_its_patience_it_is_terminated_by_its_arn_with_the_reason(queue: QueuedCloud, clock: FakeClock) -> None:
    waits_in(queue)
    state = fire(clock)
    assert queue.count("stop", ARN) == queue.count("stop") == 1
    assert queue.jobs[ARN].more["statusReason"].startswith("airflow_sm_prefer: patience. ")
    assert state.stop is StopReason.PATIENCE
    assert NOW + 600 <= clock.time() < NOW + 620


def test_a_queue_that_can_never_run_the_job_is_left_long_before(queue: QueuedCloud, clock: FakeClock) -> None:
    waits_in(queue, statusReason=NEVER)
    state = fire(clock)
    assert state.stop is StopReason.QUEUE_UNFIT
    assert NEVER in queue.jobs[ARN].more["statusReason"]
    assert clock.time() < NOW + 120


def test_a_job_of_sagemakers_own_is_watched_by_its_name(cloud: Cloud, clock: FakeClock) -> None:
    cloud.has("job-1", (60, COMPLETED))
    fire(clock, QUEUED.but(job_arn="arn:aws:sagemaker:us-east-1:123456789012:training-job/job-1"))
    assert {call.handle for call in cloud.calls} <= {"job-1", ""}


def test_a_jobs_place_is_told_at_once_and_every_ten_minutes_when_it_has_changed(
    queue: QueuedCloud, clock: FakeClock
) -> None:
    waits_in(queue, (700, is_now("SCHEDULED")), (760, is_now("RUNNABLE")), (2500, is_now("SUCCEEDED")))
    queue.front = ["ahead", "next", ARN]
    places, told = queue.places, []

    def moving(name: str) -> dict[str, int]:
        found = places(name)
        queue.front = queue.front[1:] if len(queue.front) > 2 else queue.front
        return found

    with (
        mock.patch.object(queue, "places", moving),
        mock.patch.object(BatchPreferTrigger, "log", mock.Mock(info=lambda _, *of: told.append(str(of[0])))),
    ):
        fire(clock, QUEUED.but(limits=Limits(budget=6000.0, patience=6000.0)))
    looks = [call.at - NOW for call in queue.calls if call.operation == "places"]
    assert looks[0] < 15
    assert [round(after - before, -1) for before, after in itertools.pairwise(looks)] == [600] * 4
    lines = [line for line in told if "in line" in line]
    assert ["the 3rd" in lines[0], "the 2nd" in lines[1], len(lines)] == [True, True, 2]


def test_the_log_of_a_service_job_that_runs_already_is_that_of_the_run_that_a_describe_names(
    queue: QueuedCloud, clock: FakeClock
) -> None:
    latest = {"serviceResourceId": {"value": "arn:aws:sagemaker:us-east-1:123456789012:training-job/run-2"}}
    waits_in(queue, (0, is_now("RUNNING")), (120, is_now("SUCCEEDED")), latestAttempt=latest)
    running = QUEUED.but(capacity_at=NOW, wait_began=None, status="InProgress (RUNNING)")
    logged = Handed((Mark(3, 2, "algo-1-1"),))
    following = mock.Mock(noted=lambda state: state.but(logged=logged))
    with mock.patch("airflow_sm_prefer.triggers.copied_log.logs_for") as logs_for:
        logs_for.return_value.follow.return_value = following
        state = fire(clock, running, print_log=True)
    assert [call.args[1] for call in logs_for.return_value.follow.call_args_list] == ["run-2"]
    assert [call.at - NOW < 15 for call in queue.calls if call.operation == "describe"] == [True]
    assert state.logged == logged
