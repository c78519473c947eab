"""Random clicks and kills at one task after the other, and what the sandbox's record says of each afterwards.

``python -m tests.e2e.reruns.sequences --count 1000 --database postgresql`` prints a line for each sequence, and a sum.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.error
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tests.e2e.reruns.databases import database
from tests.e2e.reruns.runs import COMING, PENDING, RUNNING, SCHEDULED, WAITED_FOR, TaskRun, signal_worker
from tests.e2e.reruns.world import World

DIRECT = ("deferred", "deferred_retried", "worker", "worker_retried")
QUEUED = ("queued", "queued_retried", "queued_worker", "queued_worker_retried", "mixed", "mixed_retried")
DAGS = {"all": DIRECT + QUEUED, "direct": DIRECT, "queued": QUEUED}
JOBS = ("brief", "long", "fails-once", "slow-to-stop")
MOST_ACTS = 5
LONGEST_PAUSE = 8.0
FROZEN_SECONDS = 45.0
SETTLED_SECONDS = 240.0
SERVICES = ("triggerer", "scheduler")
BETWEEN_SERVICE_KILLS = (40.0, 120.0)


@dataclass
class Outcome:
    """What came of one sequence.

    Attributes:
        seed: What it was drawn from.
        what: What was done, in order.
        most_live: How many of its jobs were ever live at once.
        orphaned: Whether a job was left to reconcile.
        lost: Whether reconcile didn't find that one.
        stuck: What the sequence didn't come to the end of; empty if nothing.
    """

    seed: int
    what: list[str] = field(default_factory=list)
    most_live: int = 0
    orphaned: bool = False
    lost: bool = False
    stuck: str = ""

    @property
    def is_right(self) -> bool:
        """Whether nothing happened that must never happen."""
        return self.most_live <= 1 and not self.lost and not self.stuck

    def __str__(self) -> str:
        marks = {"DOUBLED": self.most_live > 1, "LOST": self.lost, "STUCK": self.stuck, "reconciled": self.orphaned}
        said = " ".join(word for word, is_so in marks.items() if is_so) or "ok"
        return f"{self.seed:5d} {said:10s} {' '.join(self.what)} {self.stuck}"


class Sequence:
    """A task instance, and some things that are done to it."""

    def __init__(self, world: World, seed: int, dags: str) -> None:
        self._world, self._draw, self._outcome = world, random.Random(seed), Outcome(seed)
        self._run = TaskRun(world, self._draw.choice(DAGS[dags]), f"sequence-{seed}")

    def play(self) -> Outcome:
        """Do it all, wait until it has settled, and count."""
        run, done = self._run, self._outcome
        job, on = self._draw.choice(JOBS), self._draw.choice((PENDING, RUNNING, SCHEDULED))
        done.what.append(f"{run.dag_id}:{job}:{on}")
        try:
            run.begin(job, on)
            for _ in range(self._draw.randint(1, MOST_ACTS)):
                time.sleep(self._draw.uniform(0.0, LONGEST_PAUSE))
                self._act()
            self._settle()
        except (AssertionError, OSError) as error:
            done.stuck = f"{type(error).__name__}: {error}"
        done.most_live = run.most_live()
        return done

    def _act(self) -> None:
        name = self._draw.choice(list(ACTS))
        self._outcome.what.append(name)
        # What isn't there, or is in no state for it, can't be clicked at.
        with suppress(urllib.error.HTTPError):
            ACTS[name](self._run)

    def _settle(self) -> None:
        """Wait until somebody waits for each job, end the task, and look for what is left."""
        run = self._run
        run.eventually(self._is_at_rest, "rest", SETTLED_SECONDS)
        if run.state() in WAITED_FOR:
            run.mark("failed")
        with suppress(AssertionError):
            run.eventually(lambda: not run.live(), "no job", 45)
        for job in run.live():
            self._outcome.orphaned = True
            self._world.reconcile()
            with suppress(AssertionError):
                run.eventually(lambda: not run.live(), "no job", 45)
            self._outcome.lost |= job["name"] in {left["name"] for left in run.live()}

    def _is_at_rest(self) -> bool:
        run = self._run
        state = run.state()
        if state in COMING:
            # In a run that is over, nothing comes any more.
            return run.is_over() and not run.live()
        if state == "running" and "worker" not in run.dag_id:
            return False
        if state not in WAITED_FOR:
            return True
        if not run.live():
            return False
        if state == "deferred":
            run.until_triggered(SETTLED_SECONDS)
        else:
            run.until_looked_at(SETTLED_SECONDS)
        return run.state() == state and bool(run.live())


# -- what is done ------------------------------------------------------------------------------------------


def _processes(run: TaskRun) -> Iterator[psutil.Process]:
    """Give the processes that run the task's current try."""
    instance = run.world.clicks.instance(run.dag_id, run.name, "train", run.map_index)
    for process in psutil.process_iter(["cmdline"]):
        if instance and instance["id"] in " ".join(process.info["cmdline"] or ()):
            yield process


def _signal_task(run: TaskRun, number: signal.Signals) -> None:
    for process in _processes(run):
        with suppress(ProcessLookupError):
            os.kill(process.pid, number)


def _kill_worker(run: TaskRun) -> None:
    for process in _processes(run):
        with suppress(psutil.NoSuchProcess):
            signal_worker(process.pid, signal.SIGKILL)


def _freeze_worker(run: TaskRun) -> None:
    frozen = [process.pid for process in _processes(run)]
    for number, seconds in ((signal.SIGSTOP, FROZEN_SECONDS), (signal.SIGCONT, 0.0)):
        for pid in frozen:
            with suppress(psutil.NoSuchProcess):
                signal_worker(pid, number)
        time.sleep(seconds if frozen else 0.0)


ACTS: dict[str, Callable[[TaskRun], None]] = {
    "mark-failed": lambda run: run.mark("failed"),
    "mark-success": lambda run: run.mark("success"),
    "run-failed": lambda run: run.mark_run("failed"),
    "run-success": lambda run: run.mark_run("success"),
    "clear": lambda run: run.clear(),
    "clear-without-run": lambda run: run.clear(reset_run=False),
    "clear-other": lambda run: run.clear("before", after=False),
    "kill-task": lambda run: _signal_task(run, signal.SIGKILL),
    "end-task": lambda run: _signal_task(run, signal.SIGTERM),
    "kill-worker": _kill_worker,
    "freeze-worker": _freeze_worker,
}


@contextmanager
def unrest(world: World, seed: int, *, kills: bool) -> Iterator[None]:
    """Kill and freeze Airflow's services now and then, and start what has ended, as a supervisor does."""
    ended, draw = threading.Event(), random.Random(seed)

    def go_on() -> None:
        due = time.monotonic() + draw.uniform(*BETWEEN_SERVICE_KILLS)
        while not ended.wait(2.0):
            world.revive()
            if kills and time.monotonic() > due:
                _disturb(world, draw)
                due = time.monotonic() + draw.uniform(*BETWEEN_SERVICE_KILLS)

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _disturb(world: World, draw: random.Random) -> None:
    name, how = draw.choice(SERVICES), draw.choice(("SIGTERM", "SIGKILL", "freeze"))
    _say(f"      -- {name} {how}")
    if how == "freeze":
        world.freeze(name, FROZEN_SECONDS)
    else:
        world.end(name, signal.Signals[how])
        world.start(name)


def play(world: World, seeds: range, *, kills: bool, dags: str = "all") -> list[Outcome]:
    """Play sequences, a few at once where the database can take that, and print what came of each."""
    outcomes: list[Outcome] = []
    pool = ThreadPoolExecutor(world.database.at_once)
    with unrest(world, seeds.start, kills=kills):
        try:
            for future in as_completed([pool.submit(Sequence(world, seed, dags).play) for seed in seeds]):
                outcomes.append(future.result())
                _say(str(outcomes[-1]))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return outcomes


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    """Play what the command line asks for; exit with 1 if something happened that must never happen."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--count", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--database", default="postgresql", choices=["postgresql", "sqlite"])
    arguments.add_argument("--dags", default="all", choices=DAGS, help="where the jobs go: queues or SageMaker itself")
    asked = arguments.parse_args()
    # As Ctrl-C does: everything that was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="sm-prefer-sequences-"))
    with World(folder, database(asked.database, folder)) as world:
        seeds = range(asked.seed, asked.seed + asked.count)
        outcomes = play(world, seeds, kills=asked.database != "sqlite", dags=asked.dags)
    wrong = [outcome for outcome in outcomes if not outcome.is_right]
    doubled, lost = sum(one.most_live > 1 for one in outcomes), sum(one.lost for one in outcomes)
    stuck, orphaned = sum(bool(one.stuck) for one in outcomes), sum(one.orphaned for one in outcomes)
    _say(f"{len(outcomes)} sequences: {doubled} doubled, {lost} lost, {stuck} stuck, {orphaned} left to reconcile")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
