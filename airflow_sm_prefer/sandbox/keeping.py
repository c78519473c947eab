"""Who is told what has changed, so that it outlives the process; without a state folder, nobody."""

from __future__ import annotations

from typing import Protocol

from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.pace import Moment


class Keeper(Protocol):
    """Is told of every change, under the engine's lock."""

    def job_changed(self, job: Job) -> None:
        """Note that something about a job is another than before."""

    def job_deleted(self, job: Job) -> None:
        """Note that a job was deleted."""

    def service_job_changed(self, job: ServiceJob) -> None:
        """Note that something about a service job of Batch's is another than before."""

    def world_changed(self) -> None:
        """Note that something else is another than before: capacity, plans, quotas, rates, faults, the pace."""

    def commit(self, now: Moment) -> None:
        """Keep all that was noted, as one change; when this returns, nothing of it can be lost.

        Raises:
            ApiError: it can't be kept; whoever waits for an answer gets that one.
        """


class Forgetful:
    """Keeps nothing."""

    def job_changed(self, job: Job) -> None:
        """Do nothing."""

    def job_deleted(self, job: Job) -> None:
        """Do nothing."""

    def service_job_changed(self, job: ServiceJob) -> None:
        """Do nothing."""

    def world_changed(self) -> None:
        """Do nothing."""

    def commit(self, now: Moment) -> None:
        """Do nothing."""
