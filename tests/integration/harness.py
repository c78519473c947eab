"""Runs an operator through execute, its trigger and resume, against a sandbox, as Airflow would; on a fake clock."""

from __future__ import annotations

import inspect
import itertools
import json
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.operators.base import SageMakerPreferOperator
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.scripted import ScriptedRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from tests import virtual_time
from tests.integration import aws

ROLE = "arn:aws:iam::123456789012:role/training"

TRAINING: dict[str, Any] = {
    "TrainingJobName": "nightly",
    "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
    "RoleArn": ROLE,
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
    "ResourceConfig": {"VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "Environment": {"DB_PASSWORD": "hunter2"},
    "HyperParameters": {"token": "hunter3"},
}

PROCESSING: dict[str, Any] = {
    "ProcessingJobName": "prepare",
    "AppSpecification": {"ImageUri": "processor:1"},
    "RoleArn": ROLE,
    "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 30}},
    "Environment": {"DB_PASSWORD": "hunter2"},
}


#: Ids of tries, which grow with time as Airflow's do.
_ids = (f"{number:08x}{str(uuid.uuid4())[8:]}" for number in itertools.count())


@dataclass
class TaskInstance:
    """What a context's ``ti`` gives; XComs are kept as Airflow keeps them."""

    dag_id: str = "dag"
    task_id: str = "train"
    run_id: str = "manual__2026-11-30T00:00:00+00:00"
    map_index: int = -1
    try_number: int = 1
    max_tries: int = 0
    id: str = field(default_factory=lambda: next(_ids))
    start_date: datetime | None = None
    xcoms: dict[str, Any] = field(default_factory=dict)

    def xcom_push(self, key: str, value: Any) -> None:
        self.xcoms[key] = json.loads(json.dumps(value))

    def retried(self) -> TaskInstance:
        return TaskInstance(self.dag_id, self.task_id, self.run_id, self.map_index, self.try_number + 1, self.max_tries)

    def cleared(self, retries: int = 0) -> TaskInstance:
        after = self.retried()
        after.max_tries = self.try_number + retries
        return after


class Store(dict[str, Any]):
    """Airflow's task state store."""

    def set(self, key: str, value: Any) -> None:
        self[key] = json.loads(json.dumps(value))


class Airflow:
    """A little of Airflow: one task at a time, with or without a task state store (3.3 has one)."""

    def __init__(self, server: SandboxServer, clock: FakeClock, *, store: bool = True) -> None:
        self.server = server
        self.clock = clock
        self.store = Store() if store else None
        self.control = SandboxControl(server.endpoint_url)
        self.deferrals = 0
        self.events: list[dict[str, Any]] = []
        self.timezone: tzinfo = UTC

    def context(self, ti: TaskInstance) -> dict[str, Any]:
        run = SimpleNamespace(start_date=datetime.fromtimestamp(self.clock.time() - 1e6, UTC), clear_number=0)
        context: dict[str, Any] = {"ti": ti, "dag_run": run, "dag": SimpleNamespace(timezone=self.timezone)}
        if self.store is not None:
            context["task_state_store"] = self.store
        return context

    def begin(self, operator: SageMakerPreferOperator, ti: TaskInstance) -> Any:
        """Run ``execute``: returns its result, or the deferral."""
        try:
            return operator.execute(self.context(ti))
        except TaskDeferred as deferred:
            self.deferrals += 1
            return deferred

    def run(self, operator: SageMakerPreferOperator, ti: TaskInstance | None = None) -> Any:
        """Run a task to its end, deferrals included."""
        ti = ti or TaskInstance()
        return self.finish(operator, ti, self.begin(operator, ti))

    def finish(self, operator: SageMakerPreferOperator, ti: TaskInstance, outcome: Any) -> Any:
        while isinstance(outcome, TaskDeferred):
            event = self.fire(outcome)
            try:
                # A worker has a new process, and so a new operator, for what follows.
                outcome = getattr(operator, outcome.method_name)(self.context(ti), event=event)
            except TaskDeferred as deferred:
                self.deferrals += 1
                outcome = deferred
        return outcome

    def fire(self, deferred: TaskDeferred) -> dict[str, Any]:
        """Run the trigger as a triggerer would have it: rebuilt from JSON, and with time left."""
        assert deferred.timeout is None or deferred.timeout > timedelta(hours=1), "Airflow would end this deferral"
        trigger = rebuilt(deferred.trigger)

        async def first() -> dict[str, Any]:
            async for event in trigger.run():
                return json.loads(json.dumps(event.payload))
            raise AssertionError("the trigger ended without an event")

        event = virtual_time.run(first(), self.clock, self.server.sandbox.advance)
        self.events.append(event)
        return event

    def test(self, dag: Any) -> Any:
        """Run ``dag.test()``, whose event loops go by the fake clock; returns the run."""

        def loop() -> virtual_time.VirtualTimeLoop:
            return virtual_time.VirtualTimeLoop(self.clock, self.server.sandbox.advance)

        with mock.patch("asyncio.events.new_event_loop", loop):
            return dag.test()

    def jobs(self) -> list[dict[str, Any]]:
        return self.control.jobs()

    def calls(self, operation: str) -> list[dict[str, Any]]:
        return [entry for entry in self.control.record("call") if entry["operation"] == operation]

    def most_live(self) -> int:
        return self.control.most_live(prefix="")


def rebuilt(trigger: Any) -> SageMakerPreferTrigger:
    path, kwargs = trigger.serialize()
    module, _, name = path.rpartition(".")
    found: SageMakerPreferTrigger = getattr(import_module(module), name)(**json.loads(json.dumps(kwargs)))
    return found


def environment(server: SandboxServer, speed: float) -> dict[str, str]:
    """Return what Airflow finds a sandbox by."""
    connection = {
        "conn_type": "aws",
        "login": "test",
        "password": "test",
        "extra": {"endpoint_url": server.endpoint_url, "region_name": "us-east-1"},
    }
    return {
        "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(connection),
        "AIRFLOW__SM_PREFER__CLOCK_SPEED": str(speed),
        "AIRFLOW__SM_PREFER__DEPLOYMENT": "tests",
    }


@contextmanager
def dags_in(folder: Path, file: str = "") -> Iterator[dict[str, Any]]:
    """Give the DAGs of a folder, or of a file in it, as a bundle that a database of their own knows."""
    try:
        from airflow.dag_processing.dagbag import DagBag
    except ImportError:  # before 3.2
        from airflow.models.dagbag import DagBag
    from airflow.utils.db import initdb

    bundle = {"name": "dags-folder", "kwargs": {"path": str(folder)}}
    bundle["classpath"] = "airflow.dag_processing.bundles.local.LocalDagBundle"
    with mock.patch.dict("os.environ", {"AIRFLOW__DAG_PROCESSOR__DAG_BUNDLE_CONFIG_LIST": json.dumps([bundle])}):
        initdb()
        # Airflow 3.1 finds the bundle by itself.
        named = {"bundle_name": "dags-folder"} if "bundle_name" in inspect.signature(DagBag).parameters else {}
        bag = DagBag(str(folder / file), **named)
        assert not bag.import_errors
        yield dict(bag.dags)


@contextmanager
def airflow_and_sandbox(
    scenario: Mapping[str, Any] | None = None,
    *,
    runner: ScriptedRunner | None = None,
    store: bool = True,
    speed: float = 1.0,
) -> Iterator[Airflow]:
    """Serve a sandbox on a fake clock, which every sleep of ours moves on."""
    clock = FakeClock()
    with SandboxServer(scenario, clock=clock, speed=speed, runner=runner) as server:
        sandbox = server.sandbox

        def sleep(seconds: float) -> None:
            sandbox.advance(max(0.0, seconds))

        with (
            mock.patch.dict("os.environ", environment(server, speed)),
            mock.patch.object(clock, "sleep", sleep),
            mock.patch.object(SageMakerPreferOperator, "clock", clock),
            mock.patch.object(SageMakerPreferTrigger, "clock", clock),
            mock.patch("airflow_sm_prefer.hooks.sagemaker.SystemClock", return_value=clock),
            mock.patch("airflow_sm_prefer.aws.pacing._shared", {}),
            mock.patch("airflow_sm_prefer.triggers.connection._jobs", {}),
            # One look in a poll: each is a call over the wire, and there are hours of them.
            mock.patch("airflow_sm_prefer.triggers.watch._LOOKS", 1.0),
        ):
            yield Airflow(server, clock, store=store)


def client(airflow: Airflow, service: str = "sagemaker") -> Any:
    return aws.client(airflow.server.endpoint_url, service)
