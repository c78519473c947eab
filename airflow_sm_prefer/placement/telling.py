"""What the task's log says, so that a person can follow the wait as a story."""

from __future__ import annotations

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.model.words import ordinal, shortened, span
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.events import Tell
from airflow_sm_prefer.placement.state import State

_REASON_LENGTH = 500


def submitted(state: State, now: float) -> str:
    """Say what was submitted, in which order it may be had, and how long that may take."""
    wave = [n for n in state.waves[state.wave] if n not in state.dropped | state.left_out]
    choices = ", else ".join(str(state.entries[n]) for n in wave)
    waiting = f"for at most {span(budget.left(state, now))}"
    patience = budget.patience_ends(state)
    if patience is not None:
        waiting += f", the next choice after {span(state.limits.patience)}"
    return f"Submitted {state.job_name}: {choices}. Waiting for capacity, {waiting}."


def progress(state: State, job: Observation, now: float) -> list[Tell]:
    """Say what has changed since the last look; nothing if nothing has."""
    told = []
    if job.has_capacity and state.capacity_at is None:
        told.append(Tell(_capacity(state, job, now)))
    if status_of(job) != state.status:
        told.append(Tell(_status(job)))
    return told


def status_of(job: Observation) -> str:
    """Write a job's status: ``InProgress (Pending)``."""
    return f"{job.status} ({job.secondary})" if job.secondary not in {None, job.status} else job.status


def chosen(state: State, job: Observation) -> int | None:
    """Return which entry of the list got the capacity, by its index; None if that can't be said."""
    wave = [n for n in state.waves[state.wave] if n not in state.dropped | state.left_out]
    if job.selected_type is None:
        return wave[0] if len(wave) == 1 else None
    return next((n for n in wave if state.entries[n].instance_type == job.selected_type), None)


def out_of_budget(state: State, now: float) -> str:
    """Say that nothing had capacity in time."""
    limits = state.limits
    if limits.start_by is not None and now >= limits.start_by - 1.0:
        by = "by start_by"
    else:
        by = f"within max_pending ({span(limits.budget)})"
    choices = ", ".join(map(str, state.entries)) or "the instances of the request"
    text = f"Nothing had capacity {by}: {choices}. Waited {span(budget.spent(state, now))}."
    refused = [past for past in state.attempts if past.verdict is Verdict.QUOTA_BUSY]
    return text + (f" AWS said: {refused[-1].reason}" if refused else "")


def out_of_patience(state: State) -> str:
    """Say that a wave had its time."""
    return f"No capacity within the patience of {span(state.limits.patience)}."


def too_long(state: State) -> str:
    """Say that everything together took longer than the author allows."""
    return (
        f"Not over within {span(state.limits.total or 0)} (max_ingestion_time, or max_attempts times check_interval)."
    )


def summary(state: State, now: float) -> str:
    """Say how far it had come, since the trigger's own log may be lost by the time that this is read.

    Empty for a job that had nothing when it was last seen: what has changed since is told by itself.
    """
    waited = span(budget.spent(state, now))
    if not state.job_name:
        return f"Waited {waited} for capacity so far; the list is gone through again now."
    if state.capacity_at is None:
        return ""
    if state.selected is None:
        return f"{state.job_name} got capacity after {waited}."
    place = ordinal(state.selected + 1)
    chosen = f"{state.entries[state.selected]}, the {place} of {len(state.entries)} on the list"
    return f"{state.job_name} got {chosen}, after {waited}."


def left_out(state: State, named: set[int], judgement: Judgement) -> str:
    """Say which entries a quota takes out of the list."""
    entries = ", ".join(str(state.entries[n]) for n in sorted(named))
    until = "for this round" if judgement.verdict is Verdict.QUOTA_BUSY else "for good"
    return f"Left out {until}: {entries}. AWS said: {shortened(judgement.text, _REASON_LENGTH)}"


def unseen(state: State, judgement: Judgement, now: float) -> str:
    """Say that AWS can't be asked, and since when."""
    since = span(now - (state.unseen_since or now))
    return f"{state.job_name} can't be seen for {since} ({judgement.verdict}): {judgement.text} Still trying."


def seen_again(state: State, now: float) -> str:
    """Say that AWS can be asked again."""
    return f"{state.job_name} can be seen again, after {span(now - (state.unseen_since or now))}."


def _capacity(state: State, job: Observation, now: float) -> str:
    waited = span(budget.spent(state, job.capacity_at or now))
    index = chosen(state, job)
    if index is None:
        what = f" on {job.selected_count} x {job.selected_type}" if job.selected_type else ""
        return f"{job.name} has capacity{what}, after {waited}."
    which = (
        "the only choice" if len(state.entries) == 1 else f"the {ordinal(index + 1)} of {len(state.entries)} choices"
    )
    return f"{job.name} has capacity: {state.entries[index]}, {which}, after {waited}."


def _status(job: Observation) -> str:
    reason = f": {shortened(job.failure_reason, _REASON_LENGTH)}" if job.is_terminal and job.failure_reason else ""
    return f"{job.name} is {status_of(job)}{reason}"
