"""The sweep over a job's candidates; pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from airflow_sm_prefer.sandbox.demand import Candidate


def select(candidates: Iterable[Candidate], free: Callable[[Candidate], int]) -> Candidate | None:
    """Return the first candidate whose whole count is free, or None.

    All instances of a job start together in one zone, so half of them is nothing. A candidate on a plan that has
    no room now is passed over at once; the job doesn't wait for the reservation (train-instance-preferences).

    Args:
        candidates: In order of preference.
        free: How many instances a candidate could get now.
    """
    return next((candidate for candidate in candidates if free(candidate) >= candidate.count), None)
