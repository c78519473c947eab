"""What to do when Airflow says that a deferred task was ended.

Airflow cancels a trigger and calls ``on_kill`` when a person marks a task or clears it, but also on a triggerer that
froze and has lost the trigger to another; it may come after the next try has begun. It cancels again each second, which
ends ``on_kill`` before a busy triggerer has answered its first question, and keeps it from being called at all where
the line that Airflow logs before takes that long. So the first cancellation counts too, and everything is done in a
thread that outlives the others: the task's state is asked for first (no AWS call), then the stop is sent.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any, Final

from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed
from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.errors import TaskStatesUnavailable
from airflow_sm_prefer.hooks.airflow_state import NOT_TAKEN_UP, TERMINAL, task_state
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers.connection import Connection, shared_jobs

#: What Airflow cancels a trigger with when a person has ended its task; to end a triggerer it says something else.
USER_ACTION: Final = "__airflow_user_action__"

#: What AWS Batch is to show as the reason.
_WHY: Final = "airflow_sm_prefer: the task was ended, or cleared, by a person."

#: Seconds between attempts to send a stop, until AWS takes it.
_PAUSES = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0, 60.0, 60.0)

#: Seconds between attempts to hear of the task's state. Few: a triggerer that is ending answers no more.
_QUESTIONS = (1.0, 2.0, 4.0, 8.0)


def is_by_a_person(cancelled: asyncio.CancelledError) -> bool:
    """Whether a trigger is cancelled since its task was ended, and not since the triggerer ends or moves it."""
    return USER_ACTION in cancelled.args


def stop_if_abandoned(task_instance: Any, state: State, connection: Connection, log: Any) -> None:
    """Begin to stop a job unless its task is still, or again, somebody's; returns at once.

    Args:
        task_instance: The task instance, as the triggerer gives it; None in ``airflow dags test``.
        state: The machine's state, with the job's name.
        connection: How to reach AWS.
        log: The task's log.
    """
    if task_instance is not None:
        # Airflow knows by the context whose log a line belongs to.
        run = contextvars.copy_context().run
        arguments = (stop_unless_wanted, task_instance, state, connection, log)
        threading.Thread(target=run, args=arguments, name="sm-prefer-kill").start()


def stop_unless_wanted(
    task_instance: Any, state: State, connection: Connection, log: Any, clock: Clock | None = None
) -> None:
    """Ask what the task is now, and stop its job if nobody is there for it."""
    clock = clock or SystemClock()
    try:
        now = _state_of(task_instance, log, clock)
    except TaskStatesUnavailable:
        log.error("%s is not stopped: nobody knows whether its task still wants it.", state.job_name)
        return
    if not is_abandoned(now):
        log.info("The task is %s: its job %s is left to that try.", now, state.job_name)
        return
    log.info("The task is %s: stopping %s.", now or "gone", state.job_name)
    stop_until_taken(state, connection, log, clock)


def is_abandoned(state: str | None) -> bool:
    """Whether a job that a trigger watched is nobody's any more, by the state of its task; None is a task that is gone.

    A try that is to come finds a job that is being stopped, waits for its end, and submits its own.
    """
    return state is None or state in TERMINAL | NOT_TAKEN_UP


def _state_of(task_instance: Any, log: Any, clock: Clock) -> str | None:
    ti = task_instance
    for pause in _QUESTIONS:
        try:
            return task_state(ti.dag_id, ti.run_id, ti.task_id, ti.map_index)
        except Exception as error:
            log.warning("Airflow doesn't say what state the task is in: %s: %s", type(error).__name__, error)
            clock.sleep(pause)
    raise TaskStatesUnavailable


def stop_until_taken(state: State, connection: Connection, log: Any, clock: Clock | None = None) -> bool:
    """Send a stop until AWS takes it, for about four minutes; returns whether it did."""
    clock = clock or SystemClock()
    for pause in _PAUSES:
        try:
            shared_jobs(connection, state.kind).stop(state.handle, _WHY)
        except (CallFailed, *CALL_ERRORS) as error:
            log.warning("%s could not be stopped yet: %s", state.job_name, error)
            clock.sleep(pause)
        else:
            log.info("AWS has been asked to stop %s.", state.job_name)
            return True
    log.error("%s could not be stopped: it may still be running.", state.job_name)
    return False
