"""Reconcile for jobs in queues, against the sandbox, with the states from the REST API."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer import on_demand, queued
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.service_jobs import ServiceJobsApi
from airflow_sm_prefer.operators.creation import Creation
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from tests.unit.hooks.fake_airflow import FakeAirflow, serving

from .harness import TaskInstance, airflow_and_sandbox
from .queues import batch, occupy, queue, service_jobs, training
from .test_reconcile import Stage

P5 = "ml.p5.48xlarge"
TEN_MINUTES = 600.0


class QueueStage(Stage):
    """The same with a queue of one instance."""

    def submit(self, ti: TaskInstance | None = None, state: str | None = "deferred", **arguments: Any) -> TaskInstance:
        ti = ti or TaskInstance()
        listed = arguments.pop("prefer", [queued(P5, job_queue="p5")])
        self.airflow.begin(training(listed, task_id=ti.task_id, **arguments), ti)
        self.put(ti, state)
        return ti

    def statuses(self) -> list[str]:
        return [job["status"] for job in service_jobs(self.airflow, "p5")]


@pytest.fixture
def stage() -> Iterator[QueueStage]:
    fake = FakeAirflow()
    runner = ScriptedRunner(default=Script(seconds=1e6))
    with serving(fake), airflow_and_sandbox(store=False, runner=runner) as airflow:
        queue(airflow, "p5")
        yield QueueStage(airflow, fake, "rest")


@pytest.mark.parametrize("waits", [True, False])
def test_a_service_job_whose_task_is_over_is_terminated_with_the_reason(stage: QueueStage, *, waits: bool) -> None:
    if waits:
        occupy(stage.airflow, "p5", instance_type=P5)
    stage.submit(state="failed")
    stage.airflow.server.sandbox.advance(60)
    report = stage.run()
    assert [finding.done.value for finding in report.findings] == ["stopped"]
    stage.airflow.server.sandbox.advance(300)
    job = service_jobs(stage.airflow, "p5")[-1]
    assert job["status"] == "FAILED"
    assert job["statusReason"] == "airflow_sm_prefer reconcile: its task is over: failed."
    assert stage.run().findings == ()


@pytest.mark.parametrize("state", ["deferred", "running", "up_for_retry", "queued"])
def test_one_whose_task_goes_on_is_left_alone(stage: QueueStage, state: str) -> None:
    stage.submit(state=state)
    assert stage.done() == ["kept"]
    assert "FAILED" not in stage.statuses()


def test_the_training_job_behind_a_service_job_is_nobodys_by_itself(stage: QueueStage) -> None:
    stage.submit()
    stage.airflow.server.sandbox.advance(60)
    assert [job["status"] for job in stage.airflow.jobs()] == ["InProgress"]
    assert [finding.job.arn for finding in stage.run().findings] == [service_jobs(stage.airflow, "p5")[0]["jobArn"]]


def test_one_whose_task_is_gone_is_noted_and_terminated_ten_minutes_later(stage: QueueStage) -> None:
    ti = stage.submit()
    stage.remove(ti)
    assert stage.done() == ["noted"]
    stage.airflow.server.sandbox.advance(TEN_MINUTES)
    assert stage.done() == ["stopped"]


def test_one_that_was_submitted_without_waiting_is_never_terminated(stage: QueueStage) -> None:
    stage.submit(state="failed", wait_for_completion=False)
    assert stage.done() == ["kept"]


def test_one_that_a_later_try_did_not_see_is_terminated(stage: QueueStage, monkeypatch: pytest.MonkeyPatch) -> None:
    ti = stage.submit()
    # As with another operator, or rights that were lost: the next try looks into no queue, and uses the number again.
    monkeypatch.setattr(ServiceJobsApi, "queues", lambda _: [])
    queue(stage.airflow, "other")
    later = ti.cleared()
    monkeypatch.setattr(Creation, "_settle_with_others", lambda *_: None)
    stage.submit(later, prefer=[on_demand("ml.g5.xlarge"), queued(P5, job_queue="other")])
    monkeypatch.undo()
    assert sorted(stage.done()) == ["kept", "stopped"]
    stage.airflow.server.sandbox.advance(300)
    assert stage.statuses() == ["FAILED"]


def test_a_try_finds_the_job_of_the_one_before_though_its_queue_has_left_the_list(stage: QueueStage) -> None:
    ti = stage.submit()
    queue(stage.airflow, "other")
    stage.submit(ti.cleared(), prefer=[queued(P5, job_queue="other")])
    stage.airflow.server.sandbox.advance(300)
    assert stage.statuses() == ["FAILED"]
    assert service_jobs(stage.airflow, "other") == [], "it is submitted when the old one has ended"


def test_a_role_that_may_not_look_at_queues_is_told_so_and_direct_jobs_are_looked_at(
    stage: QueueStage, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def denied(_: ServiceJobsApi) -> list[str]:
        raise CallFailed(CallFailure(FailureKind.DENIED, "AccessDeniedException", "no", "DescribeJobQueues"))

    occupy(stage.airflow, "p5", instance_type=P5)
    ti = stage.submit(TaskInstance(task_id="direct"), prefer=[on_demand("ml.g5.xlarge"), queued(P5, job_queue="p5")])
    stage.put(ti, "failed")
    monkeypatch.setattr(ServiceJobsApi, "queues", denied)
    with caplog.at_level(logging.WARNING):
        assert stage.done() == ["stopped"]
    assert "Jobs in queues of AWS Batch are not looked at" in caplog.text


def test_a_task_that_sleeps_past_the_end_of_its_service_job_is_told(stage: QueueStage) -> None:
    stage.submit()
    stage.airflow.server.sandbox.advance(60)
    batch(stage.airflow).terminate_service_job(jobId=service_jobs(stage.airflow, "p5")[0]["jobId"], reason="by hand")
    stage.airflow.server.sandbox.advance(3000)
    (sleeper,) = stage.run().sleepers
    assert sleeper.status == "Failed"
