"""A task's state, kept by Airflow over retries and clears, where Airflow has a place for it (3.3 and later)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from airflow_sm_prefer.errors import StateUnreadable

STATE_KEY: Final = "sm_prefer"


class StateStore:
    """Reads and writes one task instance's state; a store that isn't there is empty and forgets.

    A store that is there and doesn't answer raises what Airflow raises: going on without having written would let a
    later try believe an older state.
    """

    def __init__(self, context: Mapping[str, Any], key: str = STATE_KEY) -> None:
        """Take the task's context."""
        self._store = context.get("task_state_store")
        self._key = key

    @property
    def available(self) -> bool:
        """Whether this Airflow keeps state for tasks."""
        return self._store is not None

    def load(self) -> dict[str, Any] | None:
        """Return the state as it was saved last; None if it never was.

        Raises:
            StateUnreadable: what is there is no JSON object.
        """
        stored = self._store.get(self._key) if self._store is not None else None
        if stored is None or isinstance(stored, dict):
            return stored
        msg = (
            f"the task's stored state {self._key!r} is {type(stored).__name__}, and should be an object.\n"
            "Delete the key from the task's state store and run the task again."
        )
        raise StateUnreadable(msg)

    def save(self, state: Mapping[str, Any]) -> None:
        """Keep the state, in place of what was there."""
        if self._store is not None:
            self._store.set(self._key, dict(state))
