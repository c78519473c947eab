"""Runs at once while services of docker-compose.yaml are killed, by hand: python -m tests.e2e.compose.kills."""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.e2e.compose.load import DAG_ID, Load
from tests.e2e.compose.stack import Stack
from tests.e2e.conftest import until

KILLED = ("triggerer-1", "triggerer-2", "worker-1", "worker-2", "scheduler", "dag-processor", "api-server")
"""All but the databases and the sandbox, which stands for AWS."""

BETWEEN_KILLS = (5.0, 20.0)
DOWN = (0.0, 10.0)
"""Seconds from one kill to the next, and until the killed service is started again."""

OVER_SECONDS = 1500.0


@contextmanager
def kills(stack: Stack, seed: int) -> Iterator[list[str]]:
    """Kill one service after the other, with SIGKILL, and start each again, until the block ends.

    Gives the names of those that were killed so far.
    """
    ended, draw, killed = threading.Event(), random.Random(seed), []

    def go_on() -> None:
        while not ended.wait(draw.uniform(*BETWEEN_KILLS)):
            name = draw.choice(KILLED)
            _say(f"-- {name} is killed")
            stack.kill(name)
            killed.append(name)
            ended.wait(draw.uniform(*DOWN))
            stack.start(name)
            stack.restart_ended()

    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield killed
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Exit with 1 if a run has failed, a job was doubled, or one is left."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=50)
    arguments.add_argument("--kills", choices=["none", "triggerer", "random"], default="random")
    arguments.add_argument("--kill-seconds", type=float, default=120, help="for how long services are killed at random")
    arguments.add_argument("--seed", type=int, default=1)
    asked = arguments.parse_args()
    # As Ctrl-C does: everything that was started is ended.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="sm-prefer-compose-"))
    _say(f"everything is in {folder}")
    with Stack(folder) as stack:
        stack.until_healthy()
        until(lambda: stack.airflow.has_dag(DAG_ID))
        began = time.monotonic()
        load = Load(stack, asked.runs)
        load.begin()
        if asked.kills == "triggerer":
            stack.kill(load.busy_triggerer(asked.runs // 2, OVER_SECONDS))
        elif asked.kills == "random":
            with kills(stack, asked.seed) as killed:
                time.sleep(asked.kill_seconds)
            _say(f"killed: {len(killed)}")
        load.until_over(OVER_SECONDS)
        outcome = load.outcome()
        _say(f"seed {asked.seed}, after {time.monotonic() - began:.0f} s: {outcome}")
    sys.exit(bool(outcome.unsuccessful or outcome.doubled or outcome.live))


def _say(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
