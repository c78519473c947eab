"""Triggers as a triggerer has them: made of the JSON that a deferral has left. Needs Airflow's settings."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from airflow.providers.amazon.aws.triggers.sagemaker import SageMakerTrigger
from airflow.providers.common.compat.sdk import TaskDeferred
from airflow.triggers.base import BaseTrigger

from airflow_sm_prefer.operators.sagemaker import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from benchmarks.watch.jobs import CONFIG, Job

POLL_SECONDS = 30
Maker = Callable[[Job], BaseTrigger]

_OPERATORS = {"training": SageMakerPreferTrainingOperator, "processing": SageMakerPreferProcessingOperator}


def theirs(kinds: Iterable[str]) -> Maker:
    """Return what makes the provider's trigger for a job; it needs no deferral to go by."""
    del kinds

    def make(job: Job) -> BaseTrigger:
        arguments = {"job_name": job.name, "job_type": job.kind, "waiter_delay": POLL_SECONDS}
        return _rebuilt(SageMakerTrigger(**arguments))

    return make


def ours(kinds: Iterable[str]) -> Maker:
    """Return what makes our trigger for a job; our operator submits a job of each kind to learn it from."""
    models = {kind: _model(_deferral(kind).trigger) for kind in kinds}

    def make(job: Job) -> BaseTrigger:
        text, name = models[job.kind]
        return SageMakerPreferTrigger(**json.loads(text.replace(name, job.name)))

    return make


MAKERS = {"ours": ours, "theirs": theirs}


def _model(trigger: BaseTrigger) -> tuple[str, str]:
    """Return a trigger's stored form, and its job's name: another's differs in that alone, which is in the ARN too."""
    _, arguments = trigger.serialize()
    return json.dumps(arguments), arguments["state"]["job_name"]


def _rebuilt(trigger: BaseTrigger) -> BaseTrigger:
    _, arguments = trigger.serialize()
    return type(trigger)(**json.loads(json.dumps(arguments)))


def _deferral(kind: str) -> TaskDeferred:
    operator = _OPERATORS[kind](task_id=kind, config=CONFIG[kind], check_interval=POLL_SECONDS)
    ti = SimpleNamespace(
        dag_id="model",
        task_id=kind,
        run_id="manual",
        map_index=-1,
        id=str(uuid.uuid4()),
        try_number=1,
        max_tries=0,
        xcom_push=lambda **_: None,
    )
    run = SimpleNamespace(start_date=datetime.now(UTC), clear_number=0)
    kept: dict[str, Any] = {}
    store = SimpleNamespace(get=kept.get, set=kept.__setitem__)
    try:
        operator.execute({"ti": ti, "dag_run": run, "dag": SimpleNamespace(timezone=UTC), "task_state_store": store})
    except TaskDeferred as deferred:
        return deferred
    raise AssertionError("the job was over before the task deferred")
