"""First in, first out."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_sm_prefer.scheduling.snapshot import Decision, Job, Snapshot


@dataclass(frozen=True, slots=True)
class Fifo:
    """Places jobs strictly in order of arrival: a head that doesn't fit blocks those behind it."""

    def order(self, snapshot: Snapshot) -> tuple[Job, ...]:
        """Return the RUNNABLE jobs in order of arrival; their priorities and shares mean nothing here."""
        raise NotImplementedError

    def decide(self, snapshot: Snapshot) -> Decision:
        """Place from the head while it fits."""
        raise NotImplementedError
