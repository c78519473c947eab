"""A task's state, kept by Airflow over retries and clears, where Airflow has a place for it (3.3 and later)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from airflow_sm_prefer.placement.state import State

STATE_KEY: Final = "sm_prefer"

#: Beside the state: the task instance's ``max_tries`` when it was saved.
_MAX_TRIES: Final = "max_tries"


class Kept(NamedTuple):
    """What Airflow keeps of a task instance.

    Attributes:
        state: The state that was saved last; None if there is none, or Airflow keeps none.
        first_submit: When the task instance first submitted since it was last cleared, in seconds since 1970, be it
            that AWS never took a job; None if it never did. A retry keeps ``max_tries``, and a clear raises it.
    """

    state: State | None = None
    first_submit: float | None = None


def load(context: Mapping[str, Any]) -> Kept:
    """Return what was saved last; Airflow is asked once.

    Raises:
        StateUnreadable: what is there is damaged, or from a later version.
    """
    store = context.get("task_state_store")
    stored = store.get(STATE_KEY) if store is not None else None
    if stored is None:
        return Kept()
    state = State.from_json(stored)
    is_cleared = stored.get(_MAX_TRIES) != context["ti"].max_tries
    return Kept(state, None if is_cleared else stored.get("first_submit"))


def save(context: Mapping[str, Any], state: State) -> None:
    """Keep the state in place of what was there; does nothing where Airflow keeps none.

    A store that doesn't answer raises what Airflow raises. Going on without having written would let a later try
    believe an older state, and submit under a number that is taken.

    Raises:
        StateUnreadable: the state is too large to be kept.
    """
    store = context.get("task_state_store")
    if store is not None:
        store.set(STATE_KEY, {**state.to_json(), _MAX_TRIES: context["ti"].max_tries})
