"""Two processes that both run one task: one was frozen, or cut off, until Airflow gave its task to another."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.operators import handover
from airflow_sm_prefer.operators.execution import Execution

from .harness import TRAINING, Airflow, TaskInstance, airflow_and_sandbox

NOTHING = {"capacity": {"ml.p5.48xlarge": 0}}


def training(**arguments: Any) -> SageMakerPreferTrainingOperator:
    return SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer=["ml.p5.48xlarge"], **arguments)


def freezes_before_its_create(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Have the next create wait until something else has been done."""
    create = JobsApi.create

    def frozen(jobs: JobsApi, request: dict[str, Any]) -> str:
        monkeypatch.setattr(JobsApi, "create", create)
        meanwhile()
        return create(jobs, request)

    monkeypatch.setattr(JobsApi, "create", frozen)


def began_now(ti: TaskInstance, airflow: Airflow) -> TaskInstance:
    ti.start_date = datetime.fromtimestamp(airflow.clock.time(), UTC)
    return ti


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("next_try", [TaskInstance.retried, TaskInstance.cleared])
def test_one_that_thaws_before_its_create_leaves_the_task_to_the_next_try(
    monkeypatch: pytest.MonkeyPatch, store: bool, next_try: Callable[[TaskInstance], TaskInstance]
) -> None:
    with airflow_and_sandbox(NOTHING, store=store) as airflow:
        ti = began_now(TaskInstance(), airflow)

        def meanwhile() -> None:
            airflow.clock.sleep(300)
            airflow.begin(training(), began_now(next_try(ti), airflow))

        freezes_before_its_create(monkeypatch, meanwhile)
        with pytest.raises(AirflowFailException, match="Another try of this task has submitted nightly-"):
            airflow.begin(training(), ti)
        assert [job["status"] for job in airflow.jobs()] == ["InProgress"]


def test_the_job_of_a_run_that_was_deleted_is_not_anothers_try() -> None:
    with airflow_and_sandbox(store=False) as airflow:
        airflow.run(training(), began_now(TaskInstance(), airflow))
        airflow.clock.sleep(1)
        again = airflow.run(training(), began_now(TaskInstance(), airflow))
        assert again["decision"]["submissions"] == 2


@pytest.mark.parametrize("deferrable", [True, False])
@pytest.mark.parametrize("state", ["deferred", "running", None])
def test_one_that_thaws_when_a_retry_has_taken_its_job_up_leaves_it_alone(deferrable: bool, state: str | None) -> None:
    """Whatever Airflow answers, if it answers at all: a worker that is being ended may have no line to it."""
    with airflow_and_sandbox(NOTHING) as airflow, mock.patch.object(handover, "task_state", return_value=state):
        frozen, ti = training(), TaskInstance()
        airflow.begin(frozen, ti)
        retry = training(deferrable=deferrable)
        with mock.patch.object(Execution, "_wait", side_effect=InterruptedError), suppress(InterruptedError):
            airflow.begin(retry, ti.retried())
        frozen.on_kill()
        assert not airflow.calls("StopTrainingJob")
        with mock.patch.object(handover, "task_state", return_value="failed"):
            retry.on_kill()
        assert len(airflow.calls("StopTrainingJob")) == 1


def test_a_retry_that_may_not_change_tags_takes_the_job_up_all_the_same() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)
        refused = CallFailed(CallFailure(FailureKind.DENIED, "AccessDeniedException", "no", "AddTags"))
        with mock.patch.object(JobsApi, "add_tags", side_effect=refused):
            airflow.begin(training(), ti.retried())
        assert [job["status"] for job in airflow.jobs()] == ["InProgress"]
