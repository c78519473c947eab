"""How a job ends that waited in vain or outlived its training plan: AWS's pages disagree, so settings say it."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.sandbox.settings import PendingExpiry, PlanExpiry, Settings

STOP_GRACE_SECONDS = 120
"""From SIGTERM to SIGKILL (StopTrainingJob)."""

NO_CAPACITY = (
    "CapacityError: Unable to provision requested ML compute capacity. Please retry using a different ML instance type."
)
PENDING_OVER = "InsufficientCapacityError: Unable to provision requested ML compute capacity in time."
PLAN_OVER = "InsufficientCapacityError: The training plan of the job has ended."


def expire(job: Job, settings: Settings, now: Moment) -> None:
    """End a job whose pending limit is over."""
    ending = settings.pending_expiry
    if ending is PendingExpiry.STOPPED:
        job.stop(settings.pending_expiry_secondary, now)
    else:
        job.fail(NO_CAPACITY if ending is PendingExpiry.FAILED else PENDING_OVER, now)


def outlive_plan(job: Job, settings: Settings, now: Moment) -> None:
    """End a job that waits for plans of which none will have capacity any more."""
    if settings.plan_expiry is PlanExpiry.STOPPED:
        job.stop("Stopped", now)
    else:
        job.fail(PLAN_OVER, now)
