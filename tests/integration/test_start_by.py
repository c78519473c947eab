"""``start_by``: from the first submission on, whatever try it was in; a clear begins anew."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from airflow_sm_prefer.errors import CapacityTimeout, UserCodeError
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import TRAINING, Airflow, TaskInstance, airflow_and_sandbox

P5 = "ml.p5.48xlarge"
NOTHING = {"capacity": {P5: 0}}
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")


@contextmanager
def airflow_at(moment: str, zone: ZoneInfo, scenario: Any = None, **how: Any) -> Iterator[Airflow]:
    """Give an Airflow whose DAGs have a time zone, at a moment of that zone's."""
    with airflow_and_sandbox(scenario, **how) as airflow:
        airflow.timezone = zone
        wait_until(airflow, moment)
        yield airflow


def wait_until(airflow: Airflow, moment: str) -> None:
    due = datetime.fromisoformat(moment).replace(tzinfo=airflow.timezone).timestamp()
    airflow.server.sandbox.advance(due - airflow.clock.time())


def now(airflow: Airflow) -> str:
    """Return what a clock on the wall shows in the DAG's time zone, to the minute."""
    return datetime.fromtimestamp(airflow.clock.time(), airflow.timezone).strftime("%Y-%m-%d %H:%M")


def training(**arguments: Any) -> SageMakerPreferTrainingOperator:
    arguments = {"start_by": "06:00", "prefer": [P5], "config": TRAINING, "check_interval": 300, **arguments}
    return SageMakerPreferTrainingOperator(task_id="train", **arguments)


@pytest.mark.parametrize(
    ("zone", "began", "ends"),
    [
        (BERLIN, "2027-02-01 02:00", "2027-02-01 06:0"),
        # A run by hand after it means the next day's.
        (BERLIN, "2027-02-01 07:30", "2027-02-02 06:0"),
        (NEW_YORK, "2027-02-01 02:00", "2027-02-01 06:0"),
        # Nights that are an hour shorter and longer.
        (BERLIN, "2027-03-27 23:00", "2027-03-28 06:0"),
        (BERLIN, "2027-10-30 23:00", "2027-10-31 06:0"),
        (NEW_YORK, "2027-03-13 23:00", "2027-03-14 06:0"),
    ],
)
def test_the_wait_ends_at_the_next_such_time_of_the_dags_zone(zone: ZoneInfo, began: str, ends: str) -> None:
    with airflow_at(began, zone, NOTHING) as airflow:
        with pytest.raises(CapacityTimeout, match="by start_by"):
            airflow.run(training())
        assert now(airflow).startswith(ends)


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_past_it_fails_without_submitting(store: bool) -> None:
    with airflow_at("2027-02-01 02:00", BERLIN, NOTHING, store=store) as airflow:
        ti = TaskInstance(max_tries=1)
        with pytest.raises(CapacityTimeout):
            airflow.run(training(), ti)
        with pytest.raises(CapacityTimeout, match="by start_by"):
            airflow.run(training(), ti.retried())
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_before_it_has_what_is_left(store: bool) -> None:
    failing = ScriptedRunner(default=Script.fails("AlgorithmError: , exit code: 1", seconds=60))
    with airflow_at("2027-02-01 05:00", BERLIN, runner=failing, store=store) as airflow:
        ti = TaskInstance(max_tries=1)
        with pytest.raises(UserCodeError):
            airflow.run(training(), ti)
        airflow.control.set_capacity({P5: 0})
        with pytest.raises(CapacityTimeout, match="by start_by"):
            airflow.run(training(), ti.retried())
        assert now(airflow).startswith("2027-02-01 06:0")


def test_a_retry_past_it_fails_though_aws_never_took_a_job() -> None:
    busy = {"quotas": {f"{P5} for training job usage": 1}}
    endless = ScriptedRunner(default=Script(seconds=20 * 3600))
    with airflow_at("2027-02-01 02:00", BERLIN, busy, runner=endless) as airflow:
        airflow.begin(training(start_by=None), TaskInstance(task_id="other"))
        ti = TaskInstance(max_tries=1)
        with pytest.raises(Exception, match="by start_by"):
            airflow.run(training(), ti)
        with pytest.raises(Exception, match="by start_by"):
            airflow.run(training(), ti.retried())
        assert now(airflow).startswith("2027-02-01 06:0")


def test_a_job_that_started_in_time_is_not_ended_by_it() -> None:
    long = ScriptedRunner(default=Script(seconds=8 * 3600))
    with airflow_at("2027-02-01 05:00", BERLIN, runner=long) as airflow:
        assert airflow.run(training())["decision"]["verdict"] == "succeeded"
        assert now(airflow) >= "2027-02-01 13:00"


def test_a_clear_begins_anew_and_means_the_next_such_time() -> None:
    with airflow_at("2027-02-01 02:00", BERLIN, NOTHING) as airflow:
        ti = TaskInstance()
        with pytest.raises(CapacityTimeout):
            airflow.run(training(), ti)
        wait_until(airflow, "2027-02-01 09:00")
        with pytest.raises(CapacityTimeout, match="by start_by"):
            airflow.run(training(), ti.cleared())
        assert now(airflow).startswith("2027-02-02 06:0")
        assert len(airflow.jobs()) == 2
