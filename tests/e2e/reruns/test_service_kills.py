"""What follows when the triggerer or the scheduler is killed or frozen while tasks sleep."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tests.e2e.reruns.runs import PENDING, RUNNING, TaskRun, stays
from tests.e2e.reruns.world import World

pytestmark = pytest.mark.timeout(900)

TERM, KILL = signal.SIGTERM, signal.SIGKILL
FROZEN_SECONDS = 45
AGAIN_SECONDS = 180
"""How long it may take until what was lost with a process is taken up again."""

ONE_LIVE = [["InProgress"], ["Stopped", "InProgress"]]

SLEEPERS = (("deferred", PENDING), ("deferred", RUNNING), ("queued", PENDING), ("queued", RUNNING))


@pytest.fixture
def asleep(world: World, request: pytest.FixtureRequest) -> Iterator[list[TaskRun]]:
    """Tasks that sleep in the triggerer, on jobs that wait and jobs that run, and one that waits in a worker.

    However the test ends, each of them can still be ended with its job.
    """
    name = request.node.name.replace("[", "-").rstrip("]")
    runs = [TaskRun(world, dag_id, f"{name}-{on}").begin(on=on) for dag_id, on in SLEEPERS]
    runs.append(TaskRun(world, "worker_retried", f"{name}-worker").begin(on=PENDING))
    for run in runs:
        run.until_waiting()
    yield runs
    for run in runs:
        run.until_waiting(AGAIN_SECONDS)
        run.mark("failed")
    for run in runs:
        run.eventually(lambda run=run: not run.live(), "no job", 90)
        run.check()


def unharmed(runs: list[TaskRun]) -> None:
    """Each has a job that somebody waits for: the one that it had, if it sleeps.

    Of one that waits in a worker, Airflow may tell the worker to end, which stops its job, before it begins the next.
    """
    for run in runs:
        run.until_waiting(AGAIN_SECONDS)
        assert run.statuses() in ([["InProgress"]] if (run.dag_id, PENDING) in SLEEPERS else ONE_LIVE)
        run.check()


def finishes(world: World, name: str) -> None:
    """A task that begins now comes to its end."""
    run = TaskRun(world, "deferred", name).begin(job="brief")
    run.until_state("success", seconds=AGAIN_SECONDS)
    assert run.statuses() == ["Completed"]


@pytest.mark.parametrize("number", [TERM, KILL], ids=lambda number: number.name)
@pytest.mark.parametrize("component", ["triggerer", "scheduler"])
def test_one_that_ends_is_followed_by_another(
    world: World, asleep: list[TaskRun], component: str, number: signal.Signals
) -> None:
    world.end(component, number)
    world.start(component)
    finishes(world, f"after-{component}-{number.name}")
    unharmed(asleep)


@pytest.mark.parametrize("component", ["triggerer", "scheduler"])
def test_what_a_killed_one_leaves_running_doubles_nothing(world: World, asleep: list[TaskRun], component: str) -> None:
    left = world.kill_alone(component)
    world.start(component)
    finishes(world, f"beside-what-{component}-left")
    unharmed(asleep)
    world.clean_up(left)


@pytest.mark.parametrize("component", ["triggerer", "scheduler"])
def test_one_that_freezes_and_thaws_doubles_nothing(world: World, asleep: list[TaskRun], component: str) -> None:
    world.freeze(component, FROZEN_SECONDS)
    finishes(world, f"after-the-frost-of-{component}")
    unharmed(asleep)


def test_a_triggerer_that_thaws_beside_another_stops_nothing(world: World, asleep: list[TaskRun]) -> None:
    world.start("triggerer-2")
    try:
        asleep[0].eventually(lambda: len(world.triggerers()) == 2, "two triggerers", 60)
        world.freeze("triggerer", FROZEN_SECONDS)
        for run in asleep[: len(SLEEPERS)]:
            stays({"deferred"}, run, 5)
        unharmed(asleep)
        finishes(world, "beside-two-triggerers")
    finally:
        world.end("triggerer-2", TERM)


@pytest.mark.parametrize("dag_id", ["deferred", "queued"])
def test_a_job_whose_task_is_marked_while_no_triggerer_lives_is_left_to_reconcile(world: World, dag_id: str) -> None:
    marked = TaskRun(world, dag_id, f"marked-without-triggerer-{dag_id}").begin(on=PENDING).until_waiting()
    cleared = TaskRun(world, dag_id, f"cleared-without-triggerer-{dag_id}").begin(on=PENDING).until_waiting()
    world.end("triggerer", KILL)
    marked.mark("failed")
    cleared.clear()
    world.start("triggerer")
    cleared.until_jobs("Stopped", "InProgress", seconds=AGAIN_SECONDS)
    cleared.until_waiting()
    cleared.mark("failed")
    cleared.until_jobs("Stopped", "Stopped")
    cleared.check()
    assert world.reconcile() <= {marked.jobs()[0]["name"]}
    marked.until_jobs("Stopped")
    marked.check()
