"""What the task's log says, so that a person can follow the wait as a story."""

from __future__ import annotations

from collections.abc import Mapping

from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.model.words import ordinal, shortened, span
from airflow_sm_prefer.placement import budget
from airflow_sm_prefer.placement.events import Tell
from airflow_sm_prefer.placement.plans import Standing
from airflow_sm_prefer.placement.state import Entry, State

_REASON_LENGTH = 500

#: What a service job goes to and fro between while there is no capacity, and how its status begins then.
_TO_AND_FRO = ("RUNNABLE", "SCHEDULED")
_WAITING = tuple(f"InProgress ({status}" for status in _TO_AND_FRO)

#: What a service job waits for, by its status, where Batch gives no reason.
_WAITS_FOR: Mapping[str | None, str] = {
    "RUNNABLE": "it waits for room in its queue",
    "SCHEDULED": "it has its turn, and SageMaker has no instances for it yet",
}

_REMEDIES: Mapping[Verdict, str] = {
    Verdict.QUEUE_REFUSED: "See that the queue exists, is enabled and for training, and takes the entry's share.",
    Verdict.QUEUE_UNFIT: "Ask for fewer instances, or raise the limits of its service environment and quota share.",
}


def submitted(state: State, now: float) -> str:
    """Say what was submitted, in which order it may be had, and how long that may take."""
    choices = ", else ".join(str(state.entries[n]) for n in state.in_flight)
    waiting = f"for at most {span(budget.left(state, now))}"
    patience = budget.patience_ends(state)
    if patience is not None and patience < budget.deadline(state, now):
        waiting += f", the next choice after {span(budget.patience(state))}"
    return f"Submitted {state.job_name}: {choices}. Waiting for capacity, {waiting}."


def progress(state: State, job: Observation, now: float) -> list[Tell]:
    """Say what has changed since the last look; nothing if nothing has."""
    told = []
    if job.has_capacity and state.capacity_at is None:
        told.append(Tell(_capacity(state, job, now)))
        told += [Tell(text, warning=True) for text in _not_as_meant(state, job)]
    if state.is_queued and job.priority not in {None, state.priority or 0}:
        told.append(Tell(f"The scheduling priority of {job.name} is {job.priority} now, and is kept."))
    if status_of(state, job) != state.status:
        told.append(Tell(_status(job)))
    return told


def status_of(state: State, job: Observation) -> str:
    """Write a job's status: ``InProgress (Pending)``; of one that a queue holds up, also what for.

    Between RUNNABLE and SCHEDULED a service job goes to and fro for as long as there is no capacity. Nothing about that
    is new but the first time that it is SCHEDULED, and another reason: else the status stays as it was told last.
    """
    status, why = _written_status(job), _held_up(job)
    if job.secondary not in _TO_AND_FRO or not state.status.startswith(_WAITING):
        return status
    is_scheduled_first = state.status == _WAITING[0] + ")" and job.secondary == "SCHEDULED"
    is_news = is_scheduled_first or (why and why not in state.status)
    return status if is_news else state.status


def _written_status(job: Observation) -> str:
    why = f", {_held_up(job)}" if job.held_up_by else ""
    return f"{job.status} ({job.secondary}{why})" if job.secondary not in {None, job.status} else job.status


def _held_up(job: Observation) -> str:
    """Return why a queue holds a job up, without AWS's explanation of it."""
    return job.held_up_by.partition(" - ")[0]


def chosen(state: State, job: Observation) -> int | None:
    """Return which entry of the list got the capacity, by its index; None if that can't be said."""
    if job.selected_type is None:
        return state.in_flight[0] if len(state.in_flight) == 1 else None
    return next((n for n in state.in_flight if state.entries[n].instance_type == job.selected_type), None)


def out_of_budget(state: State, now: float) -> str:
    """Say that nothing had capacity in time."""
    limits, start_by = state.limits, budget.start_by(state)
    if start_by is not None and now >= start_by - 1.0:
        by = "by start_by"
    else:
        by = f"within max_pending ({span(limits.budget)})"
    choices = ", ".join(map(str, state.entries)) or "the instances of the request"
    again = " again" if state.recoveries else ""
    text = f"Nothing had capacity{again} {by}: {choices}. Waited {span(budget.spent(state, now))}."
    refused = [past for past in state.attempts if past.verdict is Verdict.QUOTA_BUSY]
    return text + (f" AWS said: {refused[-1].reason}" if refused else "")


def out_of_patience(state: State) -> str:
    """Say that a wave had its time."""
    return f"No capacity within the patience of {span(budget.patience(state))}."


def place_in_queue(state: State, place: int) -> str:
    """Say how far a job has come in its queue."""
    entry = state.entries[state.in_flight[0]]
    return f"{state.job_name} is {'next' if place == 1 else f'the {ordinal(place)}'} in line for {entry}."


def queue_unfit(state: State, said: str) -> str:
    """Say that a queue will never run the job as it is set up."""
    entry = state.entries[state.in_flight[0]]
    return f"{entry} can't be run as the queue is set up. AWS said: {shortened(said, _REASON_LENGTH)}"


def not_back(state: State) -> str:
    """Say that an interrupted job has not come back."""
    return f"Without instances since it was interrupted, for the patience of {span(state.limits.patience)}."


def reservation_ended(said: str) -> str:
    """Say that a job has lost the training plan's instances that it ran on."""
    return f"The reservation that it ran on has ended. AWS said: {said}"


def started_again(ended: State, judgement: Judgement) -> str:
    """Say that the job is started again, and why."""
    number = f"{ended.recoveries + 1} of {ended.recover}"
    why = f"{judgement.verdict.replace('_', ' ')}: {shortened(judgement.text, _REASON_LENGTH)}"
    dropped = ""
    if judgement.verdict is Verdict.UNFIT_TYPE and ended.selected is not None:
        dropped = f" {ended.entries[ended.selected]} is dropped."
    return f"{ended.job_name} is started again ({number}), from its checkpoints if it writes any. {why}{dropped}"


def no_more_recoveries(ended: State) -> str:
    """Say that the job was started again as often as it may be."""
    return f"It was started again {ended.recoveries} times, which is as often as recover={ended.recover} allows."


def nothing_fits(ended: State) -> str:
    """Say that the last entry has turned out to be unfit."""
    return f"Nothing else is left on the list that {ended.job_name} could be started again on."


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
    if not state.job_name and state.wait_began is None:
        return "The training plan that was waited for is to begin now."
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
    said = shortened(judgement.text, _REASON_LENGTH)
    who = "" if "AWS said: " in said else "AWS said: "
    return f"Left out {until}: {entries}. {who}{said} {remedy(judgement.verdict)}".rstrip()


def remedy(verdict: Verdict) -> str:
    """Say what a person can do about a queue that doesn't take the job, or can't run it; empty for other verdicts."""
    return _REMEDIES.get(verdict, "")


def one_by_one(judgement: Judgement) -> str:
    """Say that a quota doesn't tell which entries it refuses."""
    said = shortened(judgement.text, _REASON_LENGTH)
    return f"A quota refuses the request and names none of its entries: they are sent one by one. AWS said: {said}"


def plan(state: State, index: int, how: Standing, what: str) -> str:
    """Say what is done about an entry for how its training plan stands."""
    return f"{state.entries[index]} {what}: {plan_why(state, index, how)}."


def plan_why(state: State, index: int, how: Standing) -> str:
    """Say how an entry's training plan stands."""
    begins = f" (next at {_instant(how.begins)})" if how.begins is not None else ""
    return f"training plan {_plan_name(state.entries[index])} {how.why}{begins}"


def waits_for_plan(state: State, index: int, how: Standing, now: float) -> str:
    """Say until when the task sleeps for a plan."""
    ahead = span(((how.begins or now) - now) * state.limits.speed)
    why = plan_why(state, index, how)
    return f"{state.entries[index]} is waited for, which max_pending isn't charged for: {why}, in {ahead}."


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


def _not_as_meant(state: State, job: Observation) -> list[str]:
    """Say in what a job runs on other capacity than it was sent for, as far as AWS shows that."""
    index = chosen(state, job)
    if index is None:
        listed = job.selected_type is None or not state.entries[0].count
        return [] if listed else [f"{job.name} runs on {job.selected_type}, which was not asked for."]
    entry, told = state.entries[index], []
    if job.selected_count not in {None, entry.count}:
        told.append(f"{job.name} runs on {job.selected_count} instances, and {entry.count} were asked for.")
    if job.training_plan_arn not in {None, entry.plan}:
        asked = f"training plan {_plan_name(entry)}" if entry.plan else "none"
        told.append(f"{job.name} runs on training plan {job.training_plan_arn}, and {asked} was asked for.")
    return told


def _plan_name(entry: Entry) -> str:
    return (entry.plan or "").rpartition("/")[2]


def _instant(instant: float) -> str:
    return f"{utc(instant):%Y-%m-%d %H:%M} UTC"


def _status(job: Observation) -> str:
    status = _written_status(job)
    said = job.failure_reason if job.is_terminal else job.held_up_by or _WAITS_FOR.get(job.secondary, "")
    is_new = said and not status.endswith(f"{said})")  # a short reason is all in the status
    return f"{job.name} is {status}" + (f": {shortened(said, _REASON_LENGTH)}" if is_new else "")
