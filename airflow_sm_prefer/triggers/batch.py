"""The trigger for lists with job queues: watches one service job, or one of SageMaker's own, on a task's behalf."""

from __future__ import annotations

from airflow_sm_prefer.placement import telling
from airflow_sm_prefer.placement.events import Seen, Unseen
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from airflow_sm_prefer.triggers.watch import Watcher

#: The status of a service job that has a place in its queue.
_IN_LINE = "RUNNABLE"

#: Real seconds between two looks at the front of the queue; a look is one call for one job.
_LOOK_EVERY = 600.0


class BatchPreferTrigger(SageMakerPreferTrigger):
    """Watches a job in a queue until it is over, or sleeps until an instant; then the worker goes on.

    See :class:`SageMakerPreferTrigger` for its arguments. A service job is watched by itself and never by the training
    jobs behind it, which come and go.
    """

    #: The place in the queue that was told last, and when it is looked for again.
    _place: int | None = None
    _next_look = 0.0

    async def _tell_more(self, watcher: Watcher, look: Seen | Unseen, state: State) -> None:
        """Tell a job's place in its queue when it has changed; Batch shows the first hundred."""
        queue, now = state.entries[state.waves[state.wave][0]].queue, self.clock.time()
        is_in_line = isinstance(look, Seen) and look.observation.secondary == _IN_LINE
        if queue is None or not is_in_line or now < self._next_look:
            return
        self._next_look = now + _LOOK_EVERY
        place = await watcher.place(state.job_arn, queue)
        if place is not None and place != self._place:
            self._place = place
            self.log.info("%s", telling.place_in_queue(state, place))
