"""Whether a task that is told to end in this worker sleeps in the triggerer by now, as another try's."""

from __future__ import annotations

import threading
from contextlib import suppress

from airflow_sm_prefer.hooks.airflow_state import task_state
from airflow_sm_prefer.placement.naming import TaskIdentity

#: Real seconds that Airflow may take to answer: it kills a task five seconds after it has told it to end.
_PATIENCE = 2.0


def is_deferred(identity: TaskIdentity | None) -> bool:
    """Return whether Airflow has the task instance as deferred; False where it doesn't say in time.

    A worker that was frozen hears that it must end when Airflow has long begun the next try, which may have taken up
    this one's job. And a task that has just deferred has nothing to end any more.

    Airflow is asked in a thread: the signal may have come in the middle of another question, which holds the line.

    Args:
        identity: The task instance, None if this process never got to know it.
    """
    if identity is None:
        return False
    answers: list[str | None] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(task_state(identity.dag_id, identity.run_id, identity.task_id, identity.map_index))

    asking = threading.Thread(target=ask, daemon=True, name="sm-prefer-handover")
    asking.start()
    asking.join(_PATIENCE)
    return answers == ["deferred"]
