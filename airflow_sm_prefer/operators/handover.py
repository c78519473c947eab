"""Whose a job is by now, when the process that has it is told to end, and how the next one takes it over.

A worker that was frozen hears that it must end when Airflow has long begun the next try, which may have taken up this
one's job: its tags say so then. And a task that has just deferred has nothing to end any more: Airflow says so.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

from airflow_sm_prefer.aws.failures import CallFailed
from airflow_sm_prefer.hooks.airflow_state import task_state
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.ownership import TRY_TAG, Ownership

#: Real seconds that Airflow may take to answer: it kills a task five seconds after it has told it to end.
_PATIENCE = 2.0


def take_over(jobs: Any, arn: str, this: Try, log: Any) -> None:
    """Write down that a job is this try's now, so that the process of an earlier one that still lives leaves it alone.

    Args:
        jobs: The calls.
        arn: The job.
        this: This try.
        log: The task's log: what AWS refuses is only said there.
    """
    try:
        jobs.add_tags(arn, {TRY_TAG: this.ti_id})
    except CallFailed as failed:
        log.warning("The job's tags still name an earlier try, whose worker may stop it: %s", failed.failure)


def is_left(jobs: Any, arn: str, this: Try | None) -> bool:
    """Return whether a job is somebody else's affair by now: another try's, or that of the triggerer.

    What can't be found out in time counts as no. The tags are read last: another try may take the job up in the time
    that Airflow takes to answer.

    Args:
        jobs: The calls.
        arn: The job.
        this: This try; None if the process never got to know it.
    """
    return this is not None and (_is_deferred(this.identity) or _is_anothers(jobs, arn, this))


def _is_anothers(jobs: Any, arn: str, this: Try) -> bool:
    try:
        owner = Ownership.from_tags(jobs.tags(arn))
    except CallFailed:
        return False
    return owner is not None and owner.ti_id != this.ti_id


def _is_deferred(identity: TaskIdentity) -> bool:
    """Ask Airflow, in a thread: the signal may have come in the middle of another question, which holds the line."""
    answers: list[str | None] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(task_state(identity.dag_id, identity.run_id, identity.task_id, identity.map_index))

    asking = threading.Thread(target=ask, daemon=True, name="sm-prefer-handover")
    asking.start()
    asking.join(_PATIENCE)
    return answers == ["deferred"]
