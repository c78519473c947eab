"""What follows each click, at a DAG run of its own; one after the other, since SQLite has one writer."""

from __future__ import annotations

import inspect
from collections.abc import Callable

import pytest

from tests.e2e.reruns.runs import PENDING, RUNNING, TaskRun, stays
from tests.e2e.reruns.world import World

Click = Callable[[World, str], None]

_clicks: dict[str, tuple[Click, str]] = {}


def on(*dag_ids: str) -> Callable[[Click], Click]:
    """Have a click tried on these DAGs."""

    def note(click: Click) -> Click:
        for dag_id in dag_ids:
            _clicks[f"{click.__name__}-{dag_id}"] = click, dag_id
        return click

    return note


def run_of(world: World, dag_id: str) -> TaskRun:
    """Return the run that the calling click is about."""
    return TaskRun(world, dag_id, inspect.stack()[1].function)


# -- marks ---------------------------------------------------------------------------------------------------


def stopped_after(act: Callable[[TaskRun], None], run: TaskRun, on: str = RUNNING) -> None:
    """Do something to a task that waits for its job, and see the job stopped."""
    run.begin(on=on).until_waiting()
    act(run)
    run.until_jobs("Stopped")
    run.check()


@on("deferred", "worker")
def marked_failed_while_it_waits_for_capacity_the_job_is_stopped(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id)
    stopped_after(lambda run: run.mark("failed"), run, on=PENDING)
    assert run.state() == "failed"


@on("deferred", "worker", "deferred_retried")
def marked_failed_while_the_job_runs_the_job_is_stopped(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id)
    stopped_after(lambda run: run.mark("failed"), run)
    assert run.state() == "failed"


@on("deferred", "worker")
def marked_success_the_job_is_stopped(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id)
    stopped_after(lambda run: run.mark("success"), run)
    assert run.state() == "success"


@on("deferred", "worker")
def the_run_marked_failed_the_job_is_stopped(world: World, dag_id: str) -> None:
    stopped_after(lambda run: run.mark_run("failed"), run_of(world, dag_id), on=PENDING)


@on("deferred", "worker")
def the_run_marked_success_the_job_is_stopped(world: World, dag_id: str) -> None:
    stopped_after(lambda run: run.mark_run("success"), run_of(world, dag_id))


@on("hurried", "hurried_worker")
def the_run_times_out_the_job_is_stopped(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(on=PENDING)
    run.until_state("skipped", "failed")
    run.until_jobs("Stopped")
    run.check()


# -- clears --------------------------------------------------------------------------------------------------


@on("deferred", "worker")
def cleared_while_it_waits_a_new_job_comes_when_the_old_one_has_ended(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(job="slow-to-stop").until_waiting()
    run.clear()
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.check()
    run.mark("failed")
    run.until_jobs("Stopped", "Stopped")
    run.check()


@on("deferred", "worker")
def cleared_without_resetting_the_run_a_new_job_comes_too(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(on=PENDING).until_waiting()
    run.clear(reset_run=False)
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.check()
    run.mark("failed")
    run.until_jobs("Stopped", "Stopped")


@on("deferred")
def cleared_three_times_in_a_row_one_job_is_left(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(on=PENDING).until_waiting()
    for _ in range(3):
        run.clear()
    run.eventually(
        lambda: run.state() == "deferred" and [j["live"] for j in run.jobs()].count(True) == 1, "one job", 120
    )
    stays({"deferred"}, run, 5)
    run.check()
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)


@on("deferred", "worker")
def another_task_cleared_the_job_goes_on(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin().until_waiting()
    run.clear("before", after=False)
    stays({"deferred", "running"}, run, 8)
    assert run.statuses() == ["InProgress"]
    run.mark("failed")
    run.until_jobs("Stopped")


@on("deferred", "worker")
def cleared_after_success_a_new_job_is_run(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(job="brief")
    run.until_state("success")
    run.until_over()
    run.clear()
    run.until_jobs("Completed", "Completed")
    run.until_state("success")
    run.check()


@on("deferred", "worker")
def cleared_after_a_failure_a_new_job_is_run(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(job="fails-once")
    run.until_state("failed")
    run.until_over()
    run.clear()
    run.until_jobs("Failed", "Completed")
    run.until_state("success")
    run.check()


@on("deferred")
def cleared_after_it_was_marked_success_a_new_job_is_run(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(on=PENDING).until_waiting()
    run.mark("success")
    run.until_jobs("Stopped")
    run.until_over()
    run.clear()
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.mark_run("failed")
    run.until_jobs("Stopped", "Stopped")
    run.check()


# -- Airflow's own doing -------------------------------------------------------------------------------------


@on("deferred_retried", "worker_retried")
def a_retry_after_a_failed_job_runs_a_new_one(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin(job="fails-once")
    run.until_state("success")
    assert run.statuses() == ["Failed", "Completed"]
    run.check()


@on("unwaited", "unwaited_worker")
def a_job_submitted_without_waiting_is_never_stopped(world: World, dag_id: str) -> None:
    run = run_of(world, dag_id).begin()
    run.until_state("success")
    run.mark("failed")
    run.mark_run("failed")
    stays({"failed"}, run, 8)
    assert run.statuses() == ["InProgress"]


@on("mapped")
def one_of_several_mapped_tasks_marked_failed_the_others_go_on(world: World, dag_id: str) -> None:
    first = run_of(world, dag_id)
    runs = [TaskRun(world, dag_id, first.name, index) for index in range(3)]
    first.begin()
    for run in runs:
        run.until_waiting()
    runs[1].mark("failed")
    runs[1].until_jobs("Stopped")
    assert [run.statuses() for run in runs] == [["InProgress"], ["Stopped"], ["InProgress"]]
    runs[1].clear()
    runs[1].until_jobs("Stopped", "InProgress")
    runs[1].until_waiting()
    first.mark_run("failed")
    for run in runs:
        run.eventually(lambda run=run: not run.live(), "no job", 90)
        run.check()


# -- all of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", _clicks)
def test_click(world: World, name: str) -> None:
    click, dag_id = _clicks[name]
    click(world, dag_id)
