"""Whatever the settings say, jobs end, and end in one of AWS's ways; each setting changes what it says it does."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox import Sandbox, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.settings import Settings
from tests.unit.sandbox.builders import CPU, G5, P5, PLAN, Bench, prefer, processing, single, training

VALUES: dict[str, list[Any]] = {
    "pending_expiry": ["stopped", "failed", "failed_ice"],
    "pending_expiry_secondary": ["MaxPendingTimeExceeded", "PendingTimeout"],
    "default_pending_seconds": ["2d", "30m"],
    "plan_expiry": ["stopped", "failed"],
    "processing_shortage": ["waits", "fails"],
    "modified_filter": ["after_paging", "before_paging"],
    "list_delay_seconds": [0, 5],
    "double_events_every": [0, 1, 3],
    "lose_events_every": [0, 1, 3],
    "event_delay_seconds": [0, 30],
    "late_events_every": [0, 1, 2],
    "launch_seconds": [0, "3m"],
    "max_preferences": [1, 5, 10],
    "allow_unknown_types": [False, True],
    "batch_object_seconds": [0, 30],
    "batch_retry_seconds": [0, 60],
    "batch_token_repeat": ["refused", "first_job"],
    "batch_preferences": ["reject", "pass", "misconfig"],
}
EACH = [(name, value) for name, values in VALUES.items() for value in values]
OTHERWISE = {
    ("pending_expiry", "failed"): {"starved": ("Failed", "Failed")},
    ("pending_expiry", "failed_ice"): {"starved": ("Failed", "Failed")},
    ("pending_expiry_secondary", "PendingTimeout"): {"starved": ("Stopped", "PendingTimeout")},
    ("plan_expiry", "failed"): {"long-plan": ("Failed", "Failed")},
}
"""The endings that a setting changes."""

PLANS = [{"name": "december", "type": P5, "count": 1, "blocks": [{"lasts": "2h"}]}]
SPOT = {"EnableManagedSpotTraining": True}


def test_every_setting_is_tried_with_its_default():
    assert VALUES.keys() == {field.name for field in dataclasses.fields(Settings)}


@pytest.mark.parametrize(("name", "value"), EACH, ids=[f"{name}={value}" for name, value in EACH])
def test_every_sort_of_job_ends_in_its_own_way(name, value):
    scripts = {"bad": Script.fails("AlgorithmError: , exit code: 1", 50), "long*": Script(seconds=9000)}
    bench = Bench(scripts, plans=PLANS, spot={G5: 0}, capacity={CPU: 1, "ml.p3.2xlarge": 0}, settings={name: value})
    limits = {"MaxRuntimeInSeconds": 3600, "MaxWaitTimeInSeconds": 7200}
    bench.train("good", prefer(G5))
    bench.train("bad", prefer(G5))
    bench.train("long", prefer(G5))
    bench.train("long-stopped", prefer(G5))
    bench.train("starved", prefer("ml.p3.2xlarge"))
    bench.train("long-plan", single(P5, TrainingPlanArn=PLAN), StoppingCondition={"MaxRuntimeInSeconds": 90_000})
    bench.train("spot", single(G5), **SPOT, StoppingCondition=limits)
    bench.process("processed")
    bench.advance(300)
    bench.call("StopTrainingJob", {"TrainingJobName": "long-stopped"})
    bench.advance(3 * 86_400)
    expected = {
        "good": ("Completed", "Completed"),
        "bad": ("Failed", "Failed"),
        "long": ("Stopped", "MaxRuntimeExceeded"),
        "long-stopped": ("Stopped", "Stopped"),
        "starved": ("Stopped", "MaxPendingTimeExceeded"),
        "long-plan": ("Stopped", "Stopped"),
        "spot": ("Stopped", "MaxWaitTimeExceeded"),
    }
    expected |= OTHERWISE.get((name, value), {})
    assert {job: bench.state(job) for job in expected} == expected
    assert bench.processing("processed")["ProcessingJobStatus"] == "Completed"
    assert len(bench.call("ListTrainingJobs")["TrainingJobSummaries"]) == 7


def sent(**settings: Any) -> list[tuple[float, str]]:
    """Run one job to its end; return when each event was sent, from the beginning, and what it told."""
    clock = FakeClock()
    begin = clock.time()
    events: list[tuple[float, str]] = []

    def emit(_account: str, _region: str, event: dict[str, Any]) -> None:
        events.append((clock.time() - begin, json.loads(event["Detail"])["SecondaryStatus"]))

    runner = ScriptedRunner(default=Script(seconds=100))
    sandbox = Sandbox({"rates": False, "settings": settings}, clock=clock, runner=runner, emit=emit)
    sandbox.call("CreateTrainingJob", training())
    sandbox.advance(300)
    return [(round(at), told) for at, told in events]


RUN = ["Starting", "Downloading", "Training", "Completed"]


@pytest.mark.parametrize(
    ("every", "told"),
    [
        (0, RUN),
        (1, [status for status in RUN for _ in range(2)]),
        (3, ["Starting", "Downloading", "Training", "Training", "Completed"]),
    ],
)
def test_every_so_many_events_is_sent_twice(every, told):
    assert [status for _, status in sent(double_events_every=every)] == told


@pytest.mark.parametrize(("every", "told"), [(0, RUN), (1, []), (3, ["Starting", "Downloading", "Completed"])])
def test_every_so_many_events_is_lost(every, told):
    assert [status for _, status in sent(double_events_every=0, lose_events_every=every)] == told


@pytest.mark.parametrize(
    ("every", "events"),
    [
        (0, [(0, "Starting"), (0, "Downloading"), (0, "Training"), (100, "Completed")]),
        (1, [(30, "Starting"), (30, "Downloading"), (30, "Training"), (130, "Completed")]),
        (2, [(0, "Starting"), (0, "Training"), (30, "Downloading"), (130, "Completed")]),
    ],
)
def test_every_so_many_events_is_late(every, events):
    assert sent(double_events_every=0, event_delay_seconds=30, late_events_every=every) == events


class TestLaggingLists:
    def names(self, bench: Bench, kind: str = "Training", **request: Any) -> dict[str, str]:
        rows = bench.call(f"List{kind}Jobs", request)[f"{kind}JobSummaries"]
        return {row[f"{kind}JobName"]: row[f"{kind}JobStatus"] for row in rows}

    def test_a_new_job_is_not_listed_yet_though_it_can_be_described(self):
        bench = Bench(settings={"list_delay_seconds": 5})
        bench.train()
        assert (self.names(bench), bench.state()[0]) == ({}, "InProgress")
        bench.advance(4)
        assert self.names(bench) == {}
        bench.advance(2)
        assert self.names(bench) == {"job": "InProgress"}

    def test_an_old_status_is_listed_and_filtered_by(self):
        bench = Bench(seconds=10, settings={"list_delay_seconds": 5})
        bench.train()
        bench.advance(12)
        assert bench.state()[0] == "Completed"
        assert self.names(bench) == {"job": "InProgress"}
        assert self.names(bench, StatusEquals="Completed") == {}
        bench.advance(4)
        assert self.names(bench, StatusEquals="Completed") == {"job": "Completed"}

    def test_processing_jobs_lag_too(self):
        bench = Bench(settings={"list_delay_seconds": 5})
        bench.call("CreateProcessingJob", processing())
        assert self.names(bench, "Processing") == {}
        bench.advance(6)
        assert self.names(bench, "Processing") == {"job": "InProgress"}
