"""How long a task stays in a worker."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.plan import Plan, make_plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.operators.worker import Worker
from airflow_sm_prefer.placement.events import Begun, Sleep
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.state import Limits

CONFIG = {
    "TrainingJobName": "nightly",
    "AlgorithmSpecification": {"TrainingImage": "image"},
    "ResourceConfig": {"VolumeSizeInGB": 1},
}


class Throttled:
    """Jobs whose creates take their time and are refused."""

    kind = JobKind.TRAINING

    def __init__(self, clock: FakeClock, seconds: float) -> None:
        self.creates, self._clock, self._seconds = 0, clock, seconds

    def create(self, _: Any) -> str:
        self.creates += 1
        self._clock.sleep(self._seconds)
        raise CallFailed(CallFailure(FailureKind.THROTTLED, "ThrottlingException", "slow down", "CreateTrainingJob"))


class Taken:
    """Jobs whose creates are taken."""

    kind = JobKind.TRAINING

    def create(self, request: Any) -> str:
        return f"arn:{request['TrainingJobName']}"


def a_worker(jobs: Any, plan: Plan, clock: FakeClock) -> Any:
    return Worker(
        planner=lambda: plan,
        this=Try(TaskIdentity("prod", "dag", "run", "train"), "mine", 1, 0),
        jobs=jobs,
        clock=clock,
        log=logging.getLogger("worker"),
        remember=lambda _: None,
        draw=lambda: 0.5,
    )


def a_plan() -> Plan:
    return make_plan(
        JobKind.TRAINING, CONFIG, ["ml.g5.xlarge"], known=lambda _: True, allow_unknown_types=False, native=True
    )


def test_what_was_said_of_the_job_before_is_not_taken_for_the_new_ones() -> None:
    worker = a_worker(Taken(), a_plan(), FakeClock())
    worker.described = {"TrainingJobName": "before"}
    worker.run(a_plan().start(Limits(budget=1e6)), Begun())
    assert worker.described is None


@pytest.mark.parametrize(("seconds", "creates"), [(0.0, 2), (0.5, 1)])
def test_what_its_calls_take_counts_like_its_pauses(seconds: float, creates: int) -> None:
    """A throttled task pauses for 1 and 2 s with this jitter: the first fits into a second by itself."""
    clock = FakeClock()
    jobs = Throttled(clock, seconds)
    plan = a_plan()
    worker = a_worker(jobs, plan, clock)
    began = clock.time()
    _, pause = worker.run(plan.start(Limits(budget=1e6)), Begun())
    assert isinstance(pause, Sleep)
    assert jobs.creates == creates
    assert clock.time() - began <= 1.0
