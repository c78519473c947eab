"""The machine: what a task does next, as a pure function.

``step(state, event, now, jitter)`` returns the new state and the commands that follow. Whoever drives it (the
operator in a worker, the trigger, a test, a simulation) carries the commands out and feeds back what came of them::

                      Submit                      Watch
    NEW ──Begun──▶ SUBMITTING ──Created──▶ WATCHING ──────▶ OVER    (Finish, Fail)
     │               ▲ ▲  │                   │
     └─Found─────────┤ │  └─Refused─▶ SLEEPING│Stop
                     │ │                 │    ▼
            AskPlans ┴ └──────Woken──────┘  STOPPING ──▶ SUBMITTING or OVER
            PlansSeen

It does no I/O and has no clock: ``now`` is in seconds since 1970 and ``jitter`` is a number from 0 to 1 that the
caller drew. A list of several waves goes down wave by wave, then round by round, until its budget ends. A job that AWS
fails or takes the instances from is started again where the author allows it. Each part of that has a module:
``submitting``, ``reservations`` (training plans), ``quotas``, ``watching`` and ``recovery``.
"""

from __future__ import annotations

from airflow_sm_prefer.placement import quotas, reservations, submitting, watching
from airflow_sm_prefer.placement.events import (
    Begun,
    Command,
    Created,
    Event,
    Found,
    Glimpsed,
    NameTaken,
    NoAnswer,
    PlansSeen,
    Refused,
    Seen,
    Unseen,
    Woken,
)
from airflow_sm_prefer.placement.state import Phase, State

Step = tuple[State, tuple[Command, ...]]

#: Which events each phase has an answer to.
_EXPECTED: dict[Phase, tuple[type, ...]] = {
    Phase.NEW: (Begun, Found),
    Phase.SUBMITTING: (PlansSeen, Created, NameTaken, Refused, NoAnswer),
    Phase.WATCHING: (Seen, Unseen, Glimpsed),
    Phase.STOPPING: (Seen, Unseen, Glimpsed),
    Phase.SLEEPING: (Woken,),
    Phase.OVER: (),
}


def step(state: State, event: Event, now: float, jitter: float) -> Step:  # noqa: PLR0911 - one for each event
    """Return what follows from an event.

    Args:
        state: Where the task is.
        event: What was heard.
        now: The instant, in seconds since 1970.
        jitter: Drawn evenly from 0 to 1 by the caller; spreads back-offs.

    Raises:
        RuntimeError: the event makes no sense in this phase; whoever drives the machine has a bug.
    """
    if not isinstance(event, _EXPECTED[state.phase]):
        msg = f"a machine that is {state.phase} can't take {type(event).__name__}"
        raise RuntimeError(msg)
    match event:
        case Begun() | Woken():
            return submitting.submit(state, now, jitter)
        case Found():
            return watching.take_up(state, event, now, jitter)
        case PlansSeen():
            return reservations.seen(state, event, now, jitter)
        case Created() | NameTaken() | Refused() | NoAnswer():
            return _answered(state, event, now, jitter)
        case Seen():
            return watching.seen(state, event.observation, now, jitter)
        case Glimpsed():
            return watching.glimpsed(state, now)
        case _:
            return watching.unseen(state, event.judgement, now)


def _answered(state: State, event: Created | NameTaken | Refused | NoAnswer, now: float, jitter: float) -> Step:
    if isinstance(event, Refused) and event.judgement.verdict in quotas.VERDICTS:
        return quotas.refused(state, event.judgement, now, jitter)
    return submitting.answered(state, event, now, jitter)
