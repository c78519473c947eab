"""Old jobs and other Airflows' jobs under the same DAG, run and task: nobody's own, and nobody's success."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.e2e.reruns.databases import Sqlite
from tests.e2e.reruns.runs import PENDING, RUNNING, TRIGGERS_ARE_TOLD, TaskRun
from tests.e2e.reruns.world import World

pytestmark = pytest.mark.timeout(900)

DAGS = ("deferred", "queued")
on_each_dag = pytest.mark.parametrize("dag_id", DAGS)


@pytest.fixture(scope="module")
def neighbour(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """Another Airflow that uses the same AWS account."""
    folder = tmp_path_factory.mktemp("neighbour")
    with World(folder, Sqlite(folder), deployment="neighbour", sandbox=world) as made:
        yield made


@on_each_dag
def test_two_airflows_with_the_same_runs_have_a_job_each(world: World, neighbour: World, dag_id: str) -> None:
    ours, theirs = (TaskRun(airflow, dag_id, "same").begin(on=PENDING) for airflow in (world, neighbour))
    for run in (ours, theirs):
        run.until_waiting()
    ours.mark("failed")
    ours.until_jobs("Stopped")
    assert theirs.statuses() == ["InProgress"]
    assert (world.reconcile(), neighbour.reconcile()) == (set(), set())
    ours.clear()
    ours.until_jobs("Stopped", "InProgress")
    ours.until_waiting()
    theirs.clear()
    theirs.until_jobs("Stopped", "InProgress")
    theirs.until_waiting()
    assert ours.statuses() == ["Stopped", "InProgress"]
    for run in (ours, theirs):
        run.mark("failed")
        run.until_jobs("Stopped", "Stopped")


def test_no_airflow_goes_green_on_anothers_job(world: World, neighbour: World) -> None:
    TaskRun(world, "deferred", "green").begin(job="brief").until_state("success")
    theirs = TaskRun(neighbour, "deferred", "green").begin(job="brief")
    theirs.until_state("success")
    assert theirs.statuses() == ["Completed"]


@pytest.mark.skipif(not TRIGGERS_ARE_TOLD, reason="reconcile takes ten minutes to be sure that a run is gone")
@on_each_dag
def test_a_run_that_was_deleted_leaves_no_job_and_one_made_again_runs_its_own(world: World, dag_id: str) -> None:
    run = TaskRun(world, dag_id, "deleted").begin(on=PENDING).until_waiting()
    # Airflow deletes no run that goes on.
    run.mark_run("failed")
    run.delete()
    run.until_jobs("Stopped")
    run.begin(on=RUNNING).until_waiting()
    assert run.statuses() == ["Stopped", "InProgress"]
    run.mark("failed")
    run.until_jobs("Stopped", "Stopped")
    run.check()


@on_each_dag
def test_a_run_that_was_deleted_after_its_success_is_no_success_of_one_made_again(world: World, dag_id: str) -> None:
    run = TaskRun(world, dag_id, "deleted-green").begin(job="brief")
    run.until_state("success")
    run.until_over()
    run.delete()
    run.begin(job="brief").until_state("success")
    assert run.statuses() == ["Completed", "Completed"]
    run.check()


def test_with_the_database_made_anew_old_jobs_are_left_to_reconcile(world: World) -> None:
    left = [TaskRun(world, dag_id, "left").begin(on=PENDING) for dag_id in DAGS]
    green = [TaskRun(world, dag_id, "was-green").begin(job="brief") for dag_id in DAGS]
    for run in left:
        run.until_waiting()
    for run in green:
        run.until_state("success")
    world.forget()
    for run in green:
        run.begin(job="brief").until_state("success")
        assert run.statuses() == ["Completed", "Completed"]
    for run in left:
        run.begin(on=RUNNING).until_waiting()
        assert run.statuses() == ["InProgress", "InProgress"]
    assert world.reconcile() == {run.jobs()[0]["name"] for run in left}
    for run in left:
        run.until_jobs("Stopped", "InProgress")
        run.mark("failed")
        run.until_jobs("Stopped", "Stopped")
