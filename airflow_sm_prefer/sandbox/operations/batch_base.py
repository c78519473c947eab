"""What the groups of AWS Batch's operations have in common."""

from __future__ import annotations

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.batch.dispatcher import Dispatcher
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import CREATING, DELETING, UPDATING, Managed
from airflow_sm_prefer.sandbox.batch.rules import refuse_enabled, refuse_going
from airflow_sm_prefer.sandbox.operations.base import Operations


class BatchOperations(Operations):
    """A group of operations on one concept of AWS Batch.

    Args:
        dispatcher: Has the service jobs, and what they are queued with.
    """

    SERVICE = "batch"

    def __init__(self, dispatcher: Dispatcher) -> None:
        super().__init__(dispatcher.engine)
        self.dispatcher = dispatcher

    def estate(self, caller: Caller) -> Estate:
        """Return what the caller has."""
        return self.dispatcher.estate(caller)

    @property
    def elapsed(self) -> float:
        """How many of the scenario's seconds have passed."""
        return self.engine.time.now().elapsed

    def note_new(self, one: Managed) -> None:
        """Begin to create something."""
        self._begin(one, CREATING)

    def note_update(self, one: Managed) -> None:
        """Begin to update something."""
        self._begin(one, UPDATING)

    def begin_deletion(self, one: Managed, what: str) -> None:
        """Begin to delete something.

        Raises:
            ApiError: its state isn't DISABLED, or it is being deleted.
        """
        refuse_enabled(one, what)
        refuse_going(one, what)
        self._begin(one, DELETING)

    def _begin(self, one: Managed, change: str) -> None:
        one.begin(change, self.elapsed, self.engine.settings.batch_object_seconds)
        self.engine.keeper.world_changed()
