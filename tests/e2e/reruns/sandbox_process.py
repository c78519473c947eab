"""A sandbox as a process of its own, whose jobs take the time, and the ending, that their names say."""

from __future__ import annotations

import signal
import sys
import threading

from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

SPEED = 60

NONE_FREE = "ml.p4d.24xlarge"
ONE_FREE = "ml.g5.xlarge"

SCENARIO = {
    "capacity": {NONE_FREE: 0},
    # The limits are other tests' business, and would have these wait for each other.
    "rates": {"CreateTrainingJob": 20, "StopTrainingJob": 20, "DescribeTrainingJob": 50},
}

SCRIPTS = {
    "fails-once-*-1": Script.fails("AlgorithmError: , exit code: 1", seconds=60),
    "brief-*": Script(seconds=120),
    "fails-once-*": Script(seconds=120),
    # A container that takes its time to go, as one that writes a last checkpoint does.
    "slow-to-stop-*": Script(seconds=86_400, stop_seconds=110),
}
LONG = Script(seconds=86_400)


def main(port: int) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    runner = ScriptedRunner(SCRIPTS, LONG)
    with SandboxServer(SCENARIO, port=port, speed=SPEED, runner=runner) as server:
        sys.stdout.write(f"sandbox ready at {server.endpoint_url}\n")
        sys.stdout.flush()
        ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
