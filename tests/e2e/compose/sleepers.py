"""A thousand deferred tasks in one triggerer of docker-compose.yaml: python -m tests.e2e.compose.sleepers --tasks 1000.

The triggerer is a real one, with the file's environment and limits, on PostgreSQL. No worker puts the tasks to sleep,
since that would take half an hour: the operator runs in this program, and what it defers with is written into the
database as the execution API would. Their jobs go on as a script says, on a sandbox with AWS's rates for what looks at
them, and all end in the same second. A task is resumed when the triggerer has given it back to the scheduler.

Prints what the triggerer's processes take while all sleep, and how long after the jobs' end the tasks are resumed.
"""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.e2e.compose.load import DAG_ID, OURS
from tests.e2e.compose.stack import ROOT, Stack
from tests.e2e.conftest import until
from tests.e2e.reruns.world import scripted_sandbox
from tests.integration.harness import TaskInstance

TRIGGERER = "triggerer-1"
NEEDED = ("migrate", "api-server", "dag-processor", "sandbox", "event-queues", TRIGGERER)
SETTLE_SECONDS = 30.0
TAKEN_A_SECOND = 20
"""How many tasks a triggerer takes up at least: Airflow's 50 at once, when it comes to that every two seconds."""

SLEEP_SECONDS = 60.0
"""For how long all of them sleep while it is measured what they take."""

UP_SECONDS = 1200.0


def put_to_sleep(count: int) -> None:
    """Make so many runs whose training task sleeps; works in an environment of the compose file's."""
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils import timezone
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState
    from airflow.utils.types import DagRunTriggeredByType, DagRunType

    with create_session() as session:
        dag = SerializedDagModel.get_dag(DAG_ID, session=session)
        for number in range(count):
            run = dag.create_dagrun(
                run_id=f"long-{number}",
                run_after=timezone.utcnow(),
                run_type=DagRunType.MANUAL,
                triggered_by=DagRunTriggeredByType.TEST,
                state=DagRunState.RUNNING,
                session=session,
            )
            _defer(run.get_task_instance(OURS, session=session), session)
            session.commit()


def _defer(instance: Any, session: Any) -> None:
    """Have the operator defer, and write down what it defers with."""
    from airflow.models.trigger import Trigger
    from airflow.sdk.exceptions import TaskDeferred
    from airflow.utils import timezone
    from airflow.utils.state import TaskInstanceState

    from tests.e2e.compose.dags.load import train

    now = datetime.now(UTC)
    ti = TaskInstance(instance.dag_id, instance.task_id, instance.run_id, id=str(instance.id))
    context = {"ti": ti, "dag_run": SimpleNamespace(start_date=now), "dag": SimpleNamespace(timezone=UTC)}
    try:
        train.execute(context)
    except TaskDeferred as deferred:
        path, kwargs = deferred.trigger.serialize()
        trigger = Trigger(classpath=path, kwargs={}, created_date=timezone.utcnow())
        trigger.encrypted_kwargs = json.dumps(kwargs)
        session.add(trigger)
        session.flush()
        instance.trigger_id, instance.state = trigger.id, TaskInstanceState.DEFERRED
        instance.next_method, instance.next_kwargs = deferred.method_name, deferred.kwargs or {}


class Sleepers:
    """So many tasks that sleep in one triggerer.

    Args:
        stack: With that triggerer.
        count: How many.
    """

    def __init__(self, stack: Stack, count: int) -> None:
        self._stack, self._count = stack, count

    def put_to_sleep(self) -> None:
        """Put all to sleep, and wait until the triggerer has them."""
        environment = self._stack.environment(TRIGGERER) | {"AIRFLOW__SM_PREFER__CREATE_RATE": "1000"}
        program = [sys.executable, "-m", __spec__.name, "--put-to-sleep", "--tasks", str(self._count)]
        with (self._stack.logs / "put-to-sleep.log").open("wb") as log:
            subprocess.run(program, env=environment, check=True, cwd=ROOT, stdout=log, stderr=log)

    def asleep(self) -> int:
        """Return how many tasks Airflow has as deferred."""
        return self._stack.airflow.count_instances(DAG_ID, "deferred")

    def taken(self) -> dict[str, float]:
        """Return what the triggerer's processes take: memory, the most open files of one, and seconds of CPU."""
        processes = self._stack.processes(TRIGGERER)
        return {
            "MB": sum(process.memory_info().rss for process in processes) / 1e6,
            "MB of its own": sum(process.memory_full_info().uss for process in processes) / 1e6,
            "open files": max(process.num_fds() for process in processes),
            "CPU seconds": sum(sum(process.cpu_times()[:2]) for process in processes),
        }


def main() -> None:
    """Measure, and exit with 1 if a task isn't resumed."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--tasks", type=int, default=1000)
    arguments.add_argument("--put-to-sleep", action="store_true", help="what the program starts itself for")
    asked = arguments.parse_args()
    if asked.put_to_sleep:
        put_to_sleep(asked.tasks)
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = Path(tempfile.mkdtemp(prefix="sm-prefer-compose-"))
    _say(f"everything is in {folder}")
    with Stack(folder, only=NEEDED, sandbox=scripted_sandbox) as stack:
        stack.until_healthy()
        until(lambda: stack.airflow.has_dag(DAG_ID))
        sys.exit(_measure(stack, Sleepers(stack, asked.tasks)))


def _measure(stack: Stack, sleepers: Sleepers) -> bool:
    empty = sleepers.taken()
    _say(f"without tasks: {_shown(empty)}")
    sleepers.put_to_sleep()
    count = sleepers.asleep()
    _say(f"{count} tasks sleep")
    time.sleep(max(SETTLE_SECONDS, count / TAKEN_A_SECOND))
    before = sleepers.taken()
    time.sleep(SLEEP_SECONDS)
    after = sleepers.taken()
    _say(f"with them, {SLEEP_SECONDS:.0f} s later: {_shown(after)}")
    _say(f"CPU of a second: {(after['CPU seconds'] - before['CPU seconds']) / SLEEP_SECONDS:.3f} s")
    stack.sandbox.advance("25h")
    ended = time.monotonic()
    until(lambda: sleepers.asleep() <= count / 2, UP_SECONDS)
    _say(f"half of them are resumed {time.monotonic() - ended:.0f} s after their jobs have ended")
    until(lambda: sleepers.asleep() == 0, UP_SECONDS)
    _say(f"all of them are resumed {time.monotonic() - ended:.0f} s after their jobs have ended")
    return False


def _shown(taken: dict[str, float]) -> str:
    return ", ".join(f"{value:.0f} {name}" for name, value in taken.items())


def _say(line: str) -> None:
    sys.stdout.write(f"{time.strftime('%H:%M:%S')} {line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
