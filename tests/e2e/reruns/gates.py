"""Operators that stop where a test tells it to, so that they can be killed or frozen exactly there.

A gate is a file: while it is there the task stands before it, and says which process it is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_sm_prefer import BatchPreferTrainingOperator, SageMakerPreferTrainingOperator
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind

FOLDER = "RERUNS_GATES"
"""The environment variable that says where the gates are."""

BEFORE_CREATE = "before-create"
AFTER_CREATE = "after-create"
BEFORE_DEFER = "before-defer"
RESUMED = "resumed"
ENDED = "ended"
GATES = (BEFORE_CREATE, AFTER_CREATE, BEFORE_DEFER, RESUMED, ENDED)

LOOK_SECONDS = 0.1


def gate_file(folder: Path, run_id: str, gate: str) -> Path:
    """Return the file that is a run's gate."""
    return folder / f"{run_id}.{gate}"


def visitor_file(folder: Path, run_id: str, gate: str) -> Path:
    """Return the file that says which process stands before a gate."""
    return folder / f"{run_id}.{gate}.pid"


def wait_at(gate: str) -> None:
    """Stand before a gate of this process's run until it is open."""
    folder, run_id = Path(os.environ[FOLDER]), os.environ["AIRFLOW_CTX_DAG_RUN_ID"]
    closed = gate_file(folder, run_id, gate)
    if closed.exists():
        visitor_file(folder, run_id, gate).write_text(str(os.getpid()))
    while closed.exists():
        time.sleep(LOOK_SECONDS)


class GatedCreate:
    """Calls with a gate on each side of a create."""

    def create(self, request: Mapping[str, Any]) -> str:
        wait_at(BEFORE_CREATE)
        arn: str = super().create(request)  # type: ignore[misc]
        wait_at(AFTER_CREATE)
        return arn


class GatedJobs(GatedCreate, JobsApi):
    """Calls about SageMaker's own jobs."""


class GatedRoutedJobs(GatedCreate, RoutedJobs):
    """Calls about jobs in queues and out of them."""


class GatedHook(SageMakerPreferHook):
    """A hook that gives such calls."""

    def jobs(self, kind: JobKind) -> JobsApi:
        if kind not in self._jobs:
            self._jobs[kind] = GatedJobs(self.conn, kind, self.pacing, self._clock)
        return self._jobs[kind]


class GatedBatchHook(BatchPreferHook):
    """One that knows queues."""

    def jobs(self, kind: JobKind) -> RoutedJobs:
        return GatedRoutedJobs(self.direct_jobs(kind), lambda: self.service_jobs)


class GatedSteps:
    """A training operator with gates at each step."""

    def defer(self, **arguments: Any) -> Any:
        wait_at(BEFORE_DEFER)
        super().defer(**arguments)  # type: ignore[misc]

    def resume(self, context: Any, event: Mapping[str, Any] | None = None) -> dict[str, Any]:
        wait_at(RESUMED)
        result: dict[str, Any] = super().resume(context, event)  # type: ignore[misc]
        wait_at(ENDED)
        return result


class GatedOperator(GatedSteps, SageMakerPreferTrainingOperator):
    """The operator whose jobs go to SageMaker itself."""

    aws_hook_class = GatedHook


class GatedBatchOperator(GatedSteps, BatchPreferTrainingOperator):
    """The one whose jobs go through queues."""

    aws_hook_class = GatedBatchHook
