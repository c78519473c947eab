"""Airflow's own ``dag.test()``, which runs triggers in line and loses what a deferral keeps for itself."""

from __future__ import annotations

import textwrap
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer import SageMakerReconcileOperator
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger

from .harness import TRAINING, airflow_and_sandbox, dags_in

DAGS = """
    from airflow.sdk import DAG, task

    from airflow_sm_prefer import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator, on_demand
    from airflow_sm_prefer import SageMakerReconcileOperator
    from tests.integration.harness import PROCESSING, TRAINING

    with DAG("nightly_test", params={"second": "ml.p4d.24xlarge"}, schedule=None) as nightly:
        prepared = SageMakerPreferProcessingOperator(task_id="prepare", config=PROCESSING, prefer=["ml.m5.xlarge"])
        trained = SageMakerPreferTrainingOperator(
            task_id="train", config=TRAINING, prefer=["ml.p5.48xlarge", on_demand("{{ params.second }}", count="2")]
        )

        @task
        def check(result):
            return [result["decision"]["selected_instance_type"], result["Training"]["ModelArtifacts"]]

        prepared >> trained >> check(trained.output)

    with DAG("mapped_test", schedule=None, render_template_as_native_obj=True) as mapped:

        @task
        def lists():
            return [["ml.p5.48xlarge", "ml.p4d.24xlarge"], ["ml.g5.xlarge"], [on_demand("ml.g6.xlarge", count=3)]]

        @task
        def several(config):
            return [{**config, "HyperParameters": {"fold": str(n)}} for n in range(2)]

        SageMakerPreferTrainingOperator.partial(task_id="by_list", config=TRAINING).expand(prefer=lists())
        SageMakerPreferTrainingOperator.partial(task_id="by_config", prefer="{{ ['ml.g5.xlarge'] }}").expand(
            config=several(TRAINING)
        )

    with DAG("failing_test", schedule=None) as failing:
        SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer=["ml.g5.xlarge"])

    with DAG("reconcile_test", schedule=None) as reconciling:
        SageMakerReconcileOperator(task_id="reconcile", stop=True)
"""

LATER = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": [0, {"after": "20m", "count": 8}]}}


@pytest.fixture(scope="module")
def dags(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """The DAGs, in a folder that a database of their own knows."""
    folder: Path = tmp_path_factory.mktemp("dags")
    (folder / "dags_under_test.py").write_text(textwrap.dedent(DAGS))
    with dags_in(folder) as dags:
        yield dags


def states(run: Any) -> dict[str, str]:
    return {f"{ti.task_id}[{ti.map_index}]": str(ti.state) for ti in run.get_task_instances()}


def results(run: Any, task_id: str) -> list[Any]:
    found = [ti for ti in run.get_task_instances() if ti.task_id == task_id]
    return [ti.xcom_pull(task_ids=task_id, map_indexes=ti.map_index) for ti in found]


def test_a_dag_with_deferred_tasks_ends_green_and_its_results_go_downstream(
    dags: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    watched, watch = [], SageMakerPreferTrigger.run

    async def run_and_note(trigger: SageMakerPreferTrigger) -> AsyncIterator[Any]:
        watched.append(trigger.state["kind"])
        async for event in watch(trigger):
            yield event

    monkeypatch.setattr(SageMakerPreferTrigger, "run", run_and_note)
    with airflow_and_sandbox(LATER, runner=ScriptedRunner(default=Script(seconds=120))) as airflow:
        run = airflow.test(dags["nightly_test"])
        assert states(run) == {"prepare[-1]": "success", "train[-1]": "success", "check[-1]": "success"}
        (chosen,) = results(run, "check")
        assert chosen[0] == "ml.p4d.24xlarge"
        assert chosen[1]["S3ModelArtifacts"].startswith("s3://bucket/models/nightly")
        assert sorted(job["kind"] for job in airflow.jobs()) == ["processing", "training"]
    assert watched == ["processing", "training"]


def test_mapped_tasks_each_have_a_job_of_their_own(dags: dict[str, Any]) -> None:
    with airflow_and_sandbox(LATER) as airflow:
        run = airflow.test(dags["mapped_test"])
        assert set(states(run).values()) == {"success"}
        chosen = {
            (result["decision"]["selected_instance_type"], result["decision"]["selected_instance_count"])
            for result in results(run, "by_list")
        }
        assert chosen == {("ml.p4d.24xlarge", 1), ("ml.g5.xlarge", 1), ("ml.g6.xlarge", 3)}
        assert len({job["name"] for job in airflow.jobs()}) == 5


def test_a_failed_job_fails_its_task(dags: dict[str, Any]) -> None:
    script = ScriptedRunner(default=Script.fails("AlgorithmError: , exit code: 1"))
    with airflow_and_sandbox(runner=script) as airflow:
        run = airflow.test(dags["failing_test"])
        assert states(run) == {"train[-1]": "failed"}
        assert len(airflow.jobs()) == 1


def test_reconcile_hears_of_the_states_from_airflow_itself(dags: dict[str, Any]) -> None:
    script = ScriptedRunner({"left-*": Script(seconds=1e6)}, default=Script.fails("AlgorithmError: , exit code: 1"))
    with airflow_and_sandbox(runner=script) as airflow:
        failed = airflow.test(dags["failing_test"]).run_id
        jobs = SageMakerPreferHook(aws_conn_id="aws_default", clock=airflow.clock).jobs(JobKind.TRAINING)
        for run_id in (failed, "gone"):
            task = TaskIdentity("tests", "failing_test", run_id, "train")
            owner = Ownership(Ownership.task_tag(task), "tests", "earlier", 0, "", 7, airflow.clock.time())
            resources = {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}
            named = {"TrainingJobName": job_name(task, "left", 7), "ResourceConfig": resources}
            jobs.create({**TRAINING, **named, "Tags": owner.to_tags()})
        with mock.patch.object(SageMakerReconcileOperator, "clock", airflow.clock):
            run = airflow.test(dags["reconcile_test"])
        (report,) = results(run, "reconcile")
    assert states(run) == {"reconcile[-1]": "success"}
    assert {job["task"].split("/")[1]: job["done"] for job in report["jobs"]} == {failed: "stopped", "gone": "noted"}
