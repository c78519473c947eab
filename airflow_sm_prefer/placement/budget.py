"""How long a list may still wait for capacity, as arithmetic over the state."""

from __future__ import annotations

from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.placement.state import Phase, State

#: Where AWS itself ends a job at its pending limit, our stop waits this much longer, in AWS's seconds: one write less.
AWS_ENDS_FIRST = 60.0

#: The smallest and largest MaxPendingTimeInSeconds that AWS accepts
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html).
MIN_PENDING = 1800
MAX_PENDING = 2_419_200

#: How long a job may be there that still runs: 28 days to wait and 28 to run are the most that AWS takes.
LONGEST_LIFE = 60 * 86400.0


def spent(state: State, now: float) -> float:
    """Return the seconds of the budget that are gone, in AWS's seconds."""
    running = 0.0 if state.wait_began is None else max(0.0, now - state.wait_began)
    return state.pending_spent + running * state.limits.speed


def left(state: State, now: float) -> float:
    """Return the seconds of the budget that are left, in AWS's seconds; what ``start_by`` leaves if that is less."""
    remaining, by = state.limits.budget - spent(state, now), start_by(state)
    return remaining if by is None else min(remaining, (by - now) * state.limits.speed)


def start_by(state: State) -> float | None:
    """Return the instant by which the job must have started; one that waits again has started in time."""
    return None if state.recoveries or state.capacity_at is not None else state.limits.start_by


def deadline(state: State, now: float) -> float:
    """Return the instant at which the budget ends if no capacity is had before."""
    return now + left(state, now) / state.limits.speed


def charged(state: State, until: float) -> State:
    """Return the state with its waiting up to an instant written off, and the budget at rest."""
    return state.but(pending_spent=spent(state, until), wait_began=None)


def wait_ends(state: State, now: float) -> float:
    """Return the instant at which our own stop is due because the budget is over."""
    ends = deadline(state, now)
    if state.max_pending is None or state.submitted is None:
        return ends
    aws_ends = state.submitted + state.max_pending / state.limits.speed
    return ends + AWS_ENDS_FIRST / state.limits.speed if aws_ends <= ends + 1.0 else ends


def patience_ends(state: State) -> float | None:
    """Return when the current wave's patience ends; None if there is no other choice: then it waits out the budget."""
    if state.submitted is None or _is_only_choice(state):
        return None
    return state.submitted + patience(state) / state.limits.speed


def patience(state: State) -> float:
    """Return how long the current wave may wait, in AWS's seconds: longer where AWS took the request late."""
    return state.limits.patience + state.patience_more


def _is_only_choice(state: State) -> bool:
    """Whether nothing else on the list may ever be had; what a quota takes out of a list of one wave is no choice."""
    wave = set(state.in_flight) if state.one_by_one else set(state.waves[state.wave])
    return set(range(len(state.entries))) <= state.dropped | wave


def back_by(state: State) -> float | None:
    """Return when a job that has lost its instances must have some again, unless it is left to AWS for good.

    AWS brings an interrupted job back by itself, and Batch one that was preempted. Stopping it is worth while only for
    one that may be started again. One on a training plan waits for the plan's next block; and one in the only queue
    that is left keeps its place there, since a new job would go behind all that wait.
    """
    if state.lost_at is None or state.recoveries >= state.recover:
        return None
    if _is_only_choice(state) if state.is_queued else is_on_plan(state):
        return None
    return state.lost_at + state.limits.patience / state.limits.speed


def is_on_plan(state: State) -> bool:
    """Whether the job runs on a training plan, or ran on one."""
    return state.selected is not None and state.entries[state.selected].kind is CapacityKind.TRAINING_PLAN


def pending_limit(state: State, now: float) -> int:
    """Return the MaxPendingTimeInSeconds to send: what is left, within what AWS accepts."""
    return int(min(MAX_PENDING, max(MIN_PENDING, left(state, now))))


def total_ends(state: State) -> float | None:
    """Return the instant by which the job must have ended, if the author set one."""
    if state.limits.total is None or state.first_submit is None:
        return None
    return state.first_submit + state.limits.total / state.limits.speed


def is_too_long(state: State, now: float) -> bool:
    """Whether the author's limit for everything, from the first submission to the end, has passed."""
    ends = total_ends(state)
    return ends is not None and now >= ends


def next_deadline(state: State, now: float) -> float:
    """Return the first instant at which something about the job falls due, though AWS says nothing new."""
    due = [wait_ends(state, now) if state.wait_began is not None else None]
    due += [patience_ends(state) if state.capacity_at is None else back_by(state), total_ends(state)]
    return min((instant for instant in due if instant is not None), default=run_ends(state, now))


def deferral_ends(state: State, now: float) -> float:
    """Return an instant by which a task that sleeps now has surely woken, if all goes well.

    A job in a queue may be preempted and run again any number of times: it gets the longest life that a job can have.
    """
    if state.is_queued:
        return now + LONGEST_LIFE
    due = next_deadline(state, now) + state.limits.max_runtime / state.limits.speed
    ends = [state.entries[n].ends for n in state.waves[state.wave] if state.entries[n].ends is not None]
    if state.phase is Phase.SLEEPING:
        return max(state.wake_at or now, now)
    return max([due, *(end for end in ends if end is not None)])


def run_ends(state: State, now: float) -> float:
    """Return an instant, an hour behind its MaxRuntimeInSeconds, by which a running job has surely ended.

    Of a job that another try submitted, and that is only stopped, nobody knows when it began: it counts from now.
    """
    began = state.capacity_at or state.submitted or now
    return began + (state.limits.max_runtime + 3600.0) / state.limits.speed
