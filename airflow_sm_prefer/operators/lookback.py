"""What this task instance has submitted before."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.aws.queues_there import name_in
from airflow_sm_prefer.model.job import resources_of
from airflow_sm_prefer.model.service_job import arn_of, observe, training_request
from airflow_sm_prefer.operators.plan import Plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.events import Begun, Found
from airflow_sm_prefer.placement.naming import differing_parts
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.request import max_runtime, sent_pending_limit
from airflow_sm_prefer.placement.state import State


def look_back(jobs: PatientJobs, plan: Plan, this: Try, stored: State | None) -> tuple[Begun | Found, int]:
    """Find the last job that this task instance submitted, by the names that it may have: no List call is needed.

    Args:
        jobs: The calls.
        plan: What would be submitted now.
        this: This try.
        stored: What an earlier try wrote down before it submitted, where Airflow keeps that.

    Returns:
        What the machine is told, and the highest number that was used.
    """
    last: tuple[int, dict[str, Any]] | None = None
    if this.try_number == 1 and (stored is None or not stored.job_name):
        # Nobody has submitted anything: if a name was used, the create itself will say so.
        return Begun(), stored.submission if stored else 0
    where = _everywhere(jobs, plan, stored)
    for number, name in _names(plan, this, stored):
        described = _earlier_job(jobs, plan, name, where, stored)
        if described is not None:
            last = (number, described)
        elif number > (stored.submission if stored else 0):
            break
    used = max(last[0] if last else 0, stored.submission if stored else 0)
    if last is None:
        return Begun(), used
    found = found_job(jobs, plan, this, last[1])
    return (found, max(used, found.submission)) if found else (Begun(), used)


def found_job(jobs: PatientJobs, plan: Plan, this: Try, described: dict[str, Any]) -> Found | None:
    """Read whose a job is; None if its tags don't say that it is this task instance's."""
    arn = arn_of(plan.kind, described)
    owner = Ownership.from_tags(jobs.tags(arn))
    if owner is None or owner.task != Ownership.task_tag(this.identity):
        return None
    seen = observe(plan.kind, described)
    return Found(
        seen=seen,
        arn=arn,
        submission=owner.submission,
        is_retry=this.is_retry_of(owner, seen.created),
        differs=tuple(differing_parts(plan.fingerprint, owner.fingerprint)),
        first_submit=owner.first_submit,
        pending_spent=owner.pending_spent,
        max_pending=sent_pending_limit(described),
        max_runtime=max_runtime(described),
        recoveries=owner.recoveries,
        wave=_wave_of(plan, owner.wave, described),
        waits=owner.waits,
    )


def _wave_of(plan: Plan, written: int, described: dict[str, Any]) -> int:
    """Return the wave of today's list that a job was sent for: the one that its tags say, if it has the job's types.

    The list may have changed since; a job that fits none of its waves counts as the first's.
    """
    resources = resources_of(plan.kind, training_request(described))
    listed = resources.get("InstancePreferences") or [resources]
    types = {entry["InstanceType"] for entry in listed if "InstanceType" in entry}
    queue = name_in(described.get("jobQueue") or "")
    fitting = [
        number
        for number, wave in enumerate(plan.waves)
        if name_in(wave.queue.name if wave.queue else "") == queue
        and types <= {entry.instance_type for entry in wave.preferences}
    ]
    return written if written in fitting else next(iter(fitting), 0)


def _earlier_job(
    jobs: PatientJobs, plan: Plan, name: str, where: Iterable[str | None], stored: State | None
) -> dict[str, Any] | None:
    if stored is not None and stored.is_queued and stored.job_name == name:
        return describe_if_there(jobs, stored.handle)
    return find_job(jobs, plan, name, where)


def _everywhere(jobs: PatientJobs, plan: Plan, stored: State | None) -> list[str | None]:
    """Return where an earlier try may have sent its jobs: the list may have changed since, and lost all of these."""
    if stored is not None:
        return [*dict.fromkeys((*plan.queues, *stored.queues)), None]
    # Nobody has written down where they went.
    return [*dict.fromkeys((*plan.queues, *jobs.queues())), None] if plan.queues else [None]


def find_job(jobs: PatientJobs, plan: Plan, name: str, where: Iterable[str | None]) -> dict[str, Any] | None:
    """Return what AWS says of the job of a name in some places; of several one that lives."""
    over: dict[str, Any] | None = None
    for place in where:
        described = jobs.find(name, place)
        if described is not None and not observe(plan.kind, described).is_terminal:
            return described
        over = over or described
    return over


def places(plan: Plan) -> list[str | None]:
    """Return where jobs of a list may be: its queues, and None for SageMaker itself."""
    return [*plan.queues, *([None] if plan.is_direct else [])]


def describe_if_there(jobs: PatientJobs, handle: str) -> dict[str, Any] | None:
    """Return a job's description; None if AWS doesn't know it."""
    try:
        return jobs.describe(handle)
    except CallFailed as failed:
        if failed.failure.kind is FailureKind.NOT_FOUND:
            return None
        raise


def _names(plan: Plan, this: Try, stored: State | None) -> Iterator[tuple[int, str]]:
    """Give the names to ask for: the ones that were written down, and those that may have come after."""
    number = stored.submission if stored else 0
    if stored and stored.job_name:
        yield stored.submission, stored.job_name
    while True:
        number += 1
        yield number, plan.job_name(this, number)
