"""Two processes that both run one task: one was frozen, or cut off, until Airflow gave its task to another."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from airflow_sm_prefer.aws.jobs import JobsApi

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


def test_the_job_of_a_run_that_was_deleted_is_not_anothers_try(monkeypatch: pytest.MonkeyPatch) -> None:
    with airflow_and_sandbox(store=False) as airflow:
        airflow.run(training(), began_now(TaskInstance(), airflow))
        airflow.clock.sleep(1)
        again = airflow.run(training(), began_now(TaskInstance(), airflow))
        assert again["decision"]["submissions"] == 2
