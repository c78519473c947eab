"""First in, first out."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_sm_prefer.scheduling.counts import place_in_turn
from airflow_sm_prefer.scheduling.snapshot import Decision, Job, Snapshot


@dataclass(frozen=True, slots=True)
class Fifo:
    """Places jobs strictly in order of arrival: a head that doesn't fit blocks those behind it.

    Source: https://docs.aws.amazon.com/batch/latest/APIReference/API_FrontOfQueueDetail.html (jobs of a FIFO queue
    "are ordered based on their submission time").
    """

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs in order of arrival; their priorities and shares mean nothing here."""
        return tuple(sorted(snapshot.runnable, key=lambda job: job.arrival))

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place from the head while it fits."""
        return place_in_turn(self.order(snapshot), snapshot)
