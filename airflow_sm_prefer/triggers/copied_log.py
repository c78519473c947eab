"""The log of a job in the log of its task, from when the job has capacity until its task's trigger ends."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.aws.log_groups import log_group
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.placement.handed import NOTHING
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.job_logs import Following, logs_for


class CopiedLog:
    """What one trigger copies; a service job has a training job, and so a log, for each of its attempts."""

    def __init__(self, connection: Connection, log: Any, clock: Clock) -> None:
        """Take how to reach AWS, the task's log, and the time."""
        self._connection, self._log, self._clock = connection, log, clock
        self._followings: dict[str, Following] = {}

    def keep_up(self, state: State, shown: Observation | None = None) -> None:
        """See that the current job's log is copied, once it can have one.

        Args:
            state: What is known of the job.
            shown: The last look at it, which names the training job of a service job.
        """
        name = state.job_name if not state.is_queued else shown and shown.training_job
        if state.capacity_at is None or not name or name in self._followings:
            return
        # What an earlier wait has copied is known of the first that is followed.
        since = state.logged if not self._followings else NOTHING
        logs, group = logs_for(self._connection, self._clock), log_group(state.kind)
        self._followings[name] = logs.follow(group, name, self._write, since)

    def noted(self, state: State) -> State:
        """Return a state that says how far the log was copied, for the worker to go on from there."""
        latest = list(self._followings.values())[-1:]
        return latest[0].noted(state) if latest else state

    def close(self) -> None:
        """Copy nothing more."""
        for following in self._followings.values():
            following.close()

    def _write(self, line: str) -> None:
        self._log.info("%s", line)
