"""The trigger for lists with job queues watches what the job's handle says."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.state import Entry, Limits, State, StopReason
from airflow_sm_prefer.triggers.batch import BatchPreferTrigger
from airflow_sm_prefer.triggers.connection import Connection
from tests.unit.triggers.builders import NOW, STATE, Jobs

ARN = "arn:aws:batch:us-east-1:123456789012:service-job/7b5f"
NEVER = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) can't."
QUEUED = STATE.but(
    entries=(Entry("ml.p5.48xlarge", 1, queue="p5"), Entry("ml.g5.xlarge", 1, queue="g5")),
    waves=((0,), (1,)),
    limits=Limits(budget=6000.0, patience=600.0),
    job_arn=ARN,
)


class Handles(Jobs):
    """Jobs that note what they are called by; one that is stopped has failed, as Batch shows it."""

    def __init__(self, *looks: Any) -> None:
        super().__init__(*looks)
        self.handles: list[str] = []
        self.why = ""

    def describe(self, name: str) -> dict[str, Any]:
        self.handles.append(name)
        found: dict[str, Any] = super().describe(name)
        return {**found, "status": "FAILED", "isTerminated": True, "statusReason": self.why} if self.why else found

    def stop(self, handle: str, why: str = "") -> bool:
        self.handles.append(handle)
        self.why = why
        return super().stop(handle, why)


def described(status: str = "RUNNABLE", **more: Any) -> dict[str, Any]:
    return {"jobName": "job-1", "jobArn": ARN, "serviceJobType": "SAGEMAKER_TRAINING", "status": status, **more}


def fire(jobs: Jobs, state: State = QUEUED) -> State:
    made = BatchPreferTrigger(state=state.to_json(), task="digest", poll_interval=30.0)
    path, kwargs = made.serialize()
    assert path == "airflow_sm_prefer.triggers.batch.BatchPreferTrigger"
    again = BatchPreferTrigger(**json.loads(json.dumps(kwargs)))

    async def events() -> list[Any]:
        return [event.payload async for event in again.run()]

    with mock.patch.object(Connection, "hook", return_value=SimpleNamespace(jobs=lambda _: jobs)):
        (event,) = asyncio.run(events())
    return State.from_json(event["state"])


def test_a_service_job_is_watched_by_its_arn_until_it_is_over(clock: FakeClock) -> None:
    jobs = Handles(
        described(), described("SCHEDULED"), described("RUNNING", startedAt=(NOW + 60) * 1000), described("SUCCEEDED")
    )
    state = fire(jobs)
    assert set(jobs.handles) == {ARN}
    assert state.capacity_at == NOW + 60


def test_past_its_patience_it_is_terminated_by_its_arn_with_the_reason(clock: FakeClock) -> None:
    jobs = Handles(described("RUNNABLE"))
    state = fire(jobs)
    assert set(jobs.handles) == {ARN}
    assert jobs.calls.count("stop") == 1
    assert jobs.why.startswith("airflow_sm_prefer: patience. ")
    assert state.stop is StopReason.PATIENCE
    assert clock.time() >= NOW + 600


def test_a_queue_that_can_never_run_the_job_is_left_long_before(clock: FakeClock) -> None:
    jobs = Handles(described(), described(statusReason=NEVER))
    state = fire(jobs)
    assert state.stop is StopReason.QUEUE_UNFIT
    assert NEVER in jobs.why
    assert clock.time() < NOW + 120


def test_a_job_of_sagemakers_own_is_watched_by_its_name(clock: FakeClock) -> None:
    jobs = Handles({"TrainingJobName": "job-1", "TrainingJobStatus": "Completed", "SecondaryStatus": "Completed"})
    fire(jobs, QUEUED.but(job_arn="arn:aws:sagemaker:us-east-1:123456789012:training-job/job-1"))
    assert jobs.handles == ["job-1"]


def test_a_jobs_place_is_told_though_it_went_to_and_fro_before(clock: FakeClock) -> None:
    class InLine(Handles):
        def place(self, arn: str, queue: str) -> int:
            assert (arn, queue) == (ARN, "p5")
            self.calls.append("place")
            return 3

    jobs = InLine(described(), described("SCHEDULED"), *[described()] * 25, described("SUCCEEDED"))
    with mock.patch("airflow_sm_prefer.triggers.watch.RoutedJobs", InLine):
        fire(jobs, QUEUED.but(limits=Limits(budget=6000.0, patience=6000.0)))
    assert jobs.calls.count("place") == 2, "at once, and ten minutes later, though SCHEDULED was told last"
