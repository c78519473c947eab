"""The trigger for lists with job queues: watches one service job, or one of SageMaker's own, on a task's behalf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.hooks.batch import BatchPreferHook
from airflow_sm_prefer.placement import telling
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from airflow_sm_prefer.triggers.watch import Watcher

#: How the status begins of a job that has a place in its queue.
_WAITS = "InProgress (RUNNABLE"

#: Real seconds between two looks at the front of the queue; a look is one call for one job.
_LOOK_EVERY = 600.0


@dataclass(frozen=True)
class BatchConnection(Connection):
    """The arguments of a hook that knows queues."""

    @property
    def key(self) -> str:
        """Equal for connections that may share a client, and to none of a hook that knows no queues."""
        return f"batch {super().key}"

    def hook(self, clock: Clock | None = None) -> BatchPreferHook:
        """Make the hook. Its connection is read from Airflow on first use, which blocks."""
        return BatchPreferHook(
            aws_conn_id=self.aws_conn_id,
            region_name=self.region_name,
            verify=self.verify,
            config=self.botocore_config,
            clock=clock,
        )


class BatchPreferTrigger(SageMakerPreferTrigger):
    """Watches a job in a queue until it is over, or sleeps until an instant; then the worker goes on.

    See :class:`SageMakerPreferTrigger` for its arguments. A service job is watched by itself and never by the training
    jobs behind it, which come and go.
    """

    connection_class: ClassVar[type[Connection]] = BatchConnection

    #: The place in the queue that was told last, and when it is looked for again.
    _place: int | None = None
    _next_look = 0.0

    async def _tell_more(self, watcher: Watcher, state: State) -> None:
        """Tell a job's place in its queue when it has changed; Batch shows the first hundred."""
        queue, now = state.entries[state.waves[state.wave][0]].queue, self.clock.time()
        if queue is None or not state.status.startswith(_WAITS) or now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY
        place = await watcher.place(state.job_arn, queue)
        if place is not None and place != self._place:
            self._place = place
            self.log.info("%s", telling.place_in_queue(state, place))
