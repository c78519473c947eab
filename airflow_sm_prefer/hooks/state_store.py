"""A task's state, kept by Airflow over retries and clears, where Airflow has a place for it (3.3 and later)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_sm_prefer.placement.state import State

STATE_KEY: Final = "sm_prefer"

#: Beside the state: the task instance's ``max_tries`` when it was saved.
_MAX_TRIES: Final = "max_tries"


def load(context: Mapping[str, Any]) -> State | None:
    """Return the state that was saved last; None if there is none, or Airflow keeps none.

    Raises:
        StateUnreadable: what is there is damaged, or from a later version.
    """
    store = context.get("task_state_store")
    stored = store.get(STATE_KEY) if store is not None else None
    return None if stored is None else State.from_json(stored)


def first_submit(context: Mapping[str, Any]) -> float | None:
    """Return when this task instance first submitted since it was last cleared, be it that AWS never took a job.

    None if it never did, or Airflow keeps none. A retry keeps ``max_tries``, and a clear raises it.
    """
    store = context.get("task_state_store")
    stored = store.get(STATE_KEY) if store is not None else None
    if stored is None or stored.get(_MAX_TRIES) != context["ti"].max_tries:
        return None
    submitted: float | None = stored.get("first_submit")
    return submitted


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
