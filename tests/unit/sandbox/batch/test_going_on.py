"""Service jobs and their queues after the sandbox was killed and started again with its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.state import keeper as keeping
from tests.unit.sandbox.batch.kept import KeptBatch
from tests.unit.sandbox.builders import CPU, single, training

LONG = {"AWSBatch*": Script(seconds=100, stop_seconds=50)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "state"


def begun(folder: Path, **scenario) -> KeptBatch:
    return KeptBatch(folder, {"rates": False, **scenario}, scripts=LONG)


def test_objects_are_as_they_were(folder):
    bench = begun(folder)
    bench.managed()
    arn = bench.share("red", borrowLimit=50)
    bench.call("TagResource", {"resourceArn": arn, "tags": {"a": "1"}})
    again = bench.killed()
    for operation, request in (
        ("DescribeServiceEnvironments", {}),
        ("DescribeJobQueues", {}),
        ("ListSchedulingPolicies", {}),
        ("DescribeQuotaShare", {"quotaShareArn": arn}),
    ):
        assert again.call(operation, request) == bench.call(operation, request)


def test_waiting_and_running_jobs_go_on(folder):
    bench = begun(folder)
    bench.fifo()
    running, waiting = bench.submit("a"), bench.submit("b", tags={"x": "1"})
    bench.advance(50)
    again = bench.killed()
    assert again.describe(waiting) == bench.describe(waiting)
    assert again.statuses(running, waiting) == ["RUNNING", "RUNNABLE"]
    again.advance(100)
    assert again.statuses(running, waiting) == ["SUCCEEDED", "RUNNING"]
    assert len(again.describe(running)["attempts"]) == 1
    last = again.killed()
    assert last.describe(running) == again.describe(running)
    last.advance(100)
    assert last.status(waiting) == "SUCCEEDED"


def test_a_job_that_was_just_submitted_is_there(folder):
    bench = begun(folder)
    bench.fifo()
    job = bench.submit(clientToken="once")
    again = bench.killed()
    assert again.status(job) == "RUNNING"
    with pytest.raises(ApiError, match="already submitted"):
        again.submit(clientToken="once")
    assert len(again.call("ListTrainingJobs")["TrainingJobSummaries"]) == 1


def test_a_termination_a_preemption_and_a_timeout_come_to_their_end(folder):
    bench = begun(folder)
    bench.managed(2)
    bench.share("red", 1)
    bench.share("blue", 1)
    red = [bench.submit("red", "managed", quotaShareName="red") for _ in range(2)]
    bench.advance(10)
    blue = bench.submit("blue", "managed", quotaShareName="blue", timeoutConfig={"attemptDurationSeconds": 30})
    kept, victim = red
    bench.call("TerminateServiceJob", {"jobId": kept, "reason": "enough"})
    bench.advance(1)
    again = bench.killed()
    again.advance(1)
    assert again.status(kept) == "FAILED"
    assert again.describe(kept)["statusReason"] == "enough"
    assert again.describe(victim)["preemptionSummary"]["preemptedAttemptCount"] == 1
    assert again.statuses(victim, blue) == ["RUNNING", "RUNNING"]
    last = again.killed()
    last.advance(100)
    assert last.describe(blue)["statusReason"] == "Job attempt duration exceeded timeout"


def test_the_next_try_after_a_shortage_comes_when_it_would_have_come(folder):
    bench = begun(folder, capacity={CPU: 0})
    bench.fifo()
    job = bench.submit(payload=training("job", single(CPU)))
    bench.advance(30)
    again = bench.killed()
    first = again.describe(job)["latestAttempt"]
    again.advance(29)
    assert again.describe(job)["latestAttempt"] == first
    again.advance(2)
    assert again.describe(job)["latestAttempt"] != first


def test_a_journal_that_is_written_anew_has_them_all(folder, monkeypatch):
    monkeypatch.setattr(keeping, "COMPACT_BYTES", 0)
    bench = begun(folder)
    bench.fair(1, red=1.0)
    ids = [bench.submit(queue="fair", shareIdentifier="red") for _ in range(3)]
    bench.sandbox._keeper._compact_at = 0
    bench.advance(110)
    again = bench.killed()
    assert again.statuses(*ids) == ["SUCCEEDED", "RUNNING", "RUNNABLE"]
    assert again.sandbox.dispatcher.numbers == 3
