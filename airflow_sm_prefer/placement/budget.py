"""How long a list may still wait for capacity, as arithmetic over the state."""

from __future__ import annotations

from airflow_sm_prefer.placement.state import State

#: Where AWS itself ends a job at its pending limit, our stop waits this much longer, in AWS's seconds: one write less.
AWS_ENDS_FIRST = 60.0

#: The smallest and largest MaxPendingTimeInSeconds that AWS accepts
#: (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_StoppingCondition.html).
MIN_PENDING = 1800
MAX_PENDING = 2_419_200


def spent(state: State, now: float) -> float:
    """Return the seconds of the budget that are gone, in AWS's seconds."""
    running = 0.0 if state.wait_began is None else max(0.0, now - state.wait_began)
    return state.pending_spent + running * state.limits.speed


def left(state: State, now: float) -> float:
    """Return the seconds of the budget that are left, in AWS's seconds; what ``start_by`` leaves if that is less."""
    remaining = state.limits.budget - spent(state, now)
    if state.limits.start_by is not None:
        remaining = min(remaining, (state.limits.start_by - now) * state.limits.speed)
    return remaining


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
    """Return when the current wave's patience ends; None if it is the only wave: that one waits out the budget."""
    if len(state.waves) == 1 or state.submitted is None:
        return None
    return state.submitted + state.limits.patience / state.limits.speed


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
    due = [wait_ends(state, now) if state.capacity_at is None and state.wait_began is not None else None]
    due += [patience_ends(state) if state.capacity_at is None else None, total_ends(state)]
    return min((instant for instant in due if instant is not None), default=run_ends(state, now))


def run_ends(state: State, now: float) -> float:
    """Return an instant, an hour behind its MaxRuntimeInSeconds, by which a running job has surely ended.

    Of a job that another try submitted, and that is only stopped, nobody knows when it began: it counts from now.
    """
    began = state.capacity_at or state.submitted or now
    return began + (state.limits.max_runtime + 3600.0) / state.limits.speed
