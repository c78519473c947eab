"""A package is upgraded while tasks sleep: what an earlier version wrote down is loaded, and the task goes on.

The files were written by the version in their name and are never changed. A new version adds its own.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from tests import virtual_time

from .harness import TRAINING, Airflow, TaskInstance, airflow_and_sandbox, rebuilt

DATA = Path(__file__).parent / "data"
LATER = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": [0, {"after": "20m", "count": 8}]}}
VERSIONS = sorted(path.stem.removeprefix("event-") for path in DATA.glob("event-*.json"))


def kept(what: str, version: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"{what}-{version}.json").read_text())
    return found


def operator() -> SageMakerPreferTrainingOperator:
    return SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer=list(LATER["capacity"]))


def resumed_from(airflow: Airflow, deferral: dict[str, Any], **later: Any) -> Any:
    """Have the triggerer load a row that an earlier version wrote, and take the task on to its end."""
    module, _, name = deferral["classpath"].rpartition(".")
    trigger = rebuilt(getattr(import_module(module), name)(**deferral["kwargs"], **later))

    async def first() -> Any:
        async for event in trigger.run():
            return json.loads(json.dumps(event.payload))
        raise AssertionError("the trigger ended without an event")

    event = virtual_time.run(first(), airflow.clock, airflow.server.sandbox.advance)
    return resumed_with(airflow, event, deferral["method"])


def resumed_with(airflow: Airflow, event: dict[str, Any], method: str = "resume") -> Any:
    """Have a worker go on with an event, to the task's end."""
    of, ti = operator(), TaskInstance()
    try:
        return getattr(of, method)(airflow.context(ti), event=event)
    except TaskDeferred as deferred:
        return airflow.finish(of, ti, deferred)


def chosen(result: Any) -> str:
    return str(result["decision"]["selected_instance_type"])


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("later", [{}, {"added_by_a_later_version": {"x": 1}}])
def test_a_trigger_goes_on_watching(version: str, later: dict[str, Any]) -> None:
    with airflow_and_sandbox(LATER) as airflow:
        airflow.begin(operator(), TaskInstance())
        assert chosen(resumed_from(airflow, kept("watching", version), **later)) == "ml.p4d.24xlarge"
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_trigger_goes_on_sleeping_and_its_task_submits(version: str) -> None:
    with airflow_and_sandbox(LATER) as airflow:
        assert chosen(resumed_from(airflow, kept("sleeping", version))) == "ml.p4d.24xlarge"
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_worker_takes_the_event_that_an_older_triggerer_sent(version: str) -> None:
    with airflow_and_sandbox(LATER) as airflow:
        airflow.begin(operator(), TaskInstance())
        assert chosen(resumed_with(airflow, kept("event", version))) == "ml.p4d.24xlarge"
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_a_retry_finds_its_job_by_what_an_older_try_wrote_down(version: str) -> None:
    with airflow_and_sandbox(LATER) as airflow:
        first = TaskInstance(max_tries=1)
        airflow.begin(operator(), first)
        assert airflow.store is not None
        airflow.store.clear()
        airflow.store.update(kept("store", version))
        assert chosen(airflow.run(operator(), first.retried())) == "ml.p4d.24xlarge"
        assert len(airflow.jobs()) == 1
