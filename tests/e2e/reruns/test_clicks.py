"""What follows each click, at a DAG run of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import replace

import pytest

from tests.e2e.reruns.cases import Cases
from tests.e2e.reruns.runs import PENDING, RUNNING, SCHEDULED, TaskRun, stays

cases = Cases()


# -- marks ---------------------------------------------------------------------------------------------------


def stopped_after(act: Callable[[TaskRun], None], run: TaskRun, on: str = RUNNING) -> None:
    """Do something to a task that waits for its job, and see the job stopped."""
    run.begin(on=on).until_waiting()
    act(run)
    run.until_jobs("Stopped")
    run.check()


@cases.on("deferred", "worker", "queued", "queued_worker")
def marked_failed_while_it_waits_for_capacity_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark("failed"), run, on=PENDING)
    assert run.state() == "failed"


@cases.on("deferred", "worker", "deferred_retried", "queued", "queued_worker", "queued_retried")
def marked_failed_while_the_job_runs_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark("failed"), run)
    assert run.state() == "failed"


@cases.on("queued")
def marked_failed_while_the_queue_waits_for_capacity_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark("failed"), run, on=SCHEDULED)


@cases.on("deferred", "worker", "queued")
def marked_success_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark("success"), run)
    assert run.state() == "success"


@cases.on("deferred", "worker", "queued")
def the_run_marked_failed_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark_run("failed"), run, on=PENDING)


@cases.on("deferred", "worker", "queued", "queued_worker")
def the_run_marked_success_the_job_is_stopped(run: TaskRun) -> None:
    stopped_after(lambda run: run.mark_run("success"), run)


@cases.on("hurried", "hurried_worker", "queued_hurried")
def the_run_times_out_the_job_is_stopped(run: TaskRun) -> None:
    run.begin(on=PENDING)
    run.until_state("skipped", "failed")
    run.reconcile_where_triggers_are_not_told()
    run.until_jobs("Stopped")
    run.check()


# -- clears --------------------------------------------------------------------------------------------------


@cases.on("deferred", "worker", "queued", "queued_worker")
def cleared_while_it_waits_a_new_job_comes_when_the_old_one_has_ended(run: TaskRun) -> None:
    run.begin(job="slow-to-stop").until_waiting()
    run.clear()
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.check()
    run.mark("failed")
    run.until_jobs("Stopped", "Stopped")
    run.check()


@cases.on("deferred", "worker", "queued", "queued_worker")
def cleared_without_resetting_the_run_a_new_job_comes_too(run: TaskRun) -> None:
    run.begin(on=PENDING).until_waiting()
    run.clear(reset_run=False)
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.check()
    run.mark("failed")
    run.until_jobs("Stopped", "Stopped")


@cases.on("deferred", "queued")
def cleared_three_times_in_a_row_one_job_is_left(run: TaskRun) -> None:
    run.begin(on=PENDING).until_waiting()
    for _ in range(3):
        run.clear()
    run.eventually(
        lambda: run.state() == "deferred" and [j["live"] for j in run.jobs()].count(True) == 1, "one job", 120
    )
    stays({"deferred"}, run, 5)
    run.check()
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)


@cases.on("deferred", "worker", "queued")
def another_task_cleared_the_job_goes_on(run: TaskRun) -> None:
    run.begin().until_waiting()
    run.clear("before", after=False)
    stays({"deferred", "running"}, run, 8)
    assert run.statuses() == ["InProgress"]
    run.mark("failed")
    run.until_jobs("Stopped")


@cases.on("deferred", "worker", "queued")
def cleared_after_success_a_new_job_is_run(run: TaskRun) -> None:
    run.begin(job="brief")
    run.until_state("success")
    run.until_over()
    run.clear()
    run.until_jobs("Completed", "Completed")
    run.until_state("success")
    run.check()


@cases.on("deferred", "worker", "queued")
def cleared_after_a_failure_a_new_job_is_run(run: TaskRun) -> None:
    run.begin(job="fails-once")
    run.until_state("failed")
    run.until_over()
    run.clear()
    run.until_jobs("Failed", "Completed")
    run.until_state("success")
    run.check()


@cases.on("deferred", "queued")
def cleared_after_it_was_marked_success_a_new_job_is_run(run: TaskRun) -> None:
    run.begin(on=PENDING).until_waiting()
    run.mark("success")
    run.until_jobs("Stopped")
    run.until_over()
    run.clear()
    run.until_jobs("Stopped", "InProgress")
    run.until_waiting()
    run.mark_run("failed")
    run.until_jobs("Stopped", "Stopped")
    run.check()


@cases.on("mixed")
def marked_failed_on_its_way_through_several_places_nothing_is_left(run: TaskRun) -> None:
    run.begin(on=PENDING)
    run.eventually(lambda: len(run.jobs()) > 3, "four jobs", 240)
    run.until_waiting()
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)
    assert set(run.statuses()) == {"Stopped"}
    run.check()


@cases.on("mixed")
def cleared_on_its_way_through_several_places_it_goes_on_with_one_job(run: TaskRun) -> None:
    run.begin(on=PENDING)
    run.eventually(lambda: len(run.jobs()) > 1, "two jobs", 240)
    run.until_waiting()
    run.clear()
    run.until_waiting()
    run.check()
    run.mark("failed")
    run.eventually(lambda: not run.live(), "no job", 60)
    run.check()


# -- Airflow's own doing -------------------------------------------------------------------------------------


@cases.on("deferred_retried", "worker_retried", "queued_retried", "queued_worker_retried")
def a_retry_after_a_failed_job_runs_a_new_one(run: TaskRun) -> None:
    run.begin(job="fails-once")
    run.until_state("success")
    assert run.statuses() == ["Failed", "Completed"]
    run.check()


@cases.on("unwaited", "unwaited_worker", "queued_unwaited")
def a_job_submitted_without_waiting_is_never_stopped(run: TaskRun) -> None:
    run.begin()
    run.until_state("success")
    run.mark("failed")
    run.mark_run("failed")
    stays({"failed"}, run, 8)
    assert run.statuses() == ["InProgress"]


@cases.on("mapped")
def one_of_several_mapped_tasks_marked_failed_the_others_go_on(run: TaskRun) -> None:
    runs = [replace(run, map_index=index) for index in range(3)]
    run.begin()
    for each in runs:
        each.until_waiting()
    runs[1].mark("failed")
    runs[1].until_jobs("Stopped")
    assert [each.statuses() for each in runs] == [["InProgress"], ["Stopped"], ["InProgress"]]
    runs[1].clear()
    runs[1].until_jobs("Stopped", "InProgress")
    runs[1].until_waiting()
    run.mark_run("failed")
    for each in runs:
        each.eventually(lambda each=each: not each.live(), "no job", 90)
        each.check()


# -- all of them ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cases.names)
@pytest.mark.timeout(1800)
def test_click(outcomes: Mapping[str, Future[None]], name: str) -> None:
    outcomes[name].result()
