"""The services of docker-compose.yaml under load, as processes on real databases; a triggerer is killed meanwhile."""

from __future__ import annotations

import statistics
from collections.abc import Iterator

import pytest

from tests.e2e.compose.load import Load, Outcome
from tests.e2e.compose.stack import Stack
from tests.e2e.conftest import until

RUNS = 50
MORE_SECONDS = 3
"""By how much our task may hold worker slots for longer than an empty deferrable task does in the same run."""

pytestmark = pytest.mark.timeout(600)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(tmp_path_factory.mktemp("compose")) as started:
        started.until_healthy()
        until(lambda: all(started.airflow.has_dag(dag) for dag in ("load", "nightly_training")))
        yield started


@pytest.fixture(scope="module")
def outcome(stack: Stack) -> Outcome:
    """What came of all runs, whose triggers one triggerer has left to the other."""
    load = Load(stack, RUNS)
    load.begin()
    stack.kill(load.busy_triggerer(jobs=RUNS // 2, seconds=180))
    load.until_over(300)
    return load.outcome()


def test_every_run_succeeds(outcome: Outcome) -> None:
    assert outcome.unsuccessful == {}


def test_no_job_is_doubled(outcome: Outcome) -> None:
    assert len(outcome.jobs) == RUNS
    assert outcome.doubled == {}


def test_no_job_is_orphaned(outcome: Outcome) -> None:
    assert outcome.live == []


def test_a_worker_slot_is_held_hardly_longer_than_by_an_empty_task(outcome: Outcome) -> None:
    # Of most runs: what else this machine does falls on single ones, and AWS takes one new job a second.
    assert len(outcome.excess) == RUNS
    assert statistics.median(outcome.excess.values()) <= MORE_SECONDS, str(outcome)


def test_the_nightly_dag_runs(stack: Stack) -> None:
    stack.airflow.unpause("nightly_training")
    run = stack.airflow.trigger("nightly_training")
    ended = until(lambda: _ended(stack, run), 180)
    assert ended == "success"


def _ended(stack: Stack, run: str) -> str | None:
    state = stack.airflow.run("nightly_training", run).get("state")
    return state if state in {"success", "failed"} else None
