"""How many instances there are, over time, and how many of them are taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.sandbox.demand import Candidate, CapacityKind
from airflow_sm_prefer.sandbox.documents import decode, encode

AMPLE = 1_000_000
"""The capacity of a type that a scenario doesn't name."""

ANY_TYPE = "*"
"""The entry of a scenario that holds for every type it doesn't name."""

Pool = tuple[str, ...]
"""Names the instances that candidates compete for."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """A count that changes at given instants, in seconds since the sandbox began, before its speed is applied.

    >>> Timeline(((0, 0), (60, 2))).at(59)
    0
    """

    steps: tuple[tuple[float, int], ...]

    def later(self, seconds: float) -> Timeline:
        """Return the same steps, counted from another beginning; the first holds until the second."""
        (_, first), *others = self.steps
        return Timeline(((float("-inf"), first), *((after + seconds, count) for after, count in others)))

    def at(self, elapsed: float) -> int:
        """Return the count at that instant; before the first step it is ample."""
        counts = [count for after, count in self.steps if after <= elapsed]
        return counts[-1] if counts else AMPLE


class Capacity:
    """On-Demand and spot instances by type; every Region has as many, and all accounts share them."""

    def __init__(self, on_demand: Mapping[str, Timeline], spot: Mapping[str, Timeline]) -> None:
        self._timelines = {
            CapacityKind.ON_DEMAND: dict(on_demand),
            CapacityKind.SPOT: dict(spot),
        }
        self._taken: Counter[Pool] = Counter()

    def set(self, kind: CapacityKind, instance_type: str, timeline: Timeline) -> None:
        """Replace a type's counts; what runs On-Demand keeps its instances."""
        self._timelines[kind][instance_type] = timeline

    def changes(self) -> list[float]:
        """Return the instants at which some count changes, in seconds since the beginning."""
        timelines = (t for by_type in self._timelines.values() for t in by_type.values())
        return sorted({after for timeline in timelines for after, _ in timeline.steps if after > 0})

    def total(self, kind: CapacityKind, instance_type: str, elapsed: float) -> int:
        """Return how many instances of a type there are, taken ones included."""
        by_type = self._timelines[kind]
        timeline = by_type.get(instance_type) or by_type.get(ANY_TYPE)
        return AMPLE if timeline is None else timeline.at(elapsed)

    def free(self, region: str, candidate: Candidate, elapsed: float) -> int:
        """Return how many instances the candidate could get now; never negative."""
        total = self.total(candidate.kind, candidate.instance_type, elapsed)
        return max(0, total - self._taken[pool(region, candidate)])

    def taken(self, region: str, candidate: Candidate) -> int:
        """Return how many instances like the candidate's are in use."""
        return self._taken[pool(region, candidate)]

    def take(self, region: str, candidate: Candidate) -> None:
        """Give the candidate its instances."""
        self._taken[pool(region, candidate)] += candidate.count

    def release(self, region: str, candidate: Candidate) -> None:
        """Take the candidate's instances back."""
        self._taken[pool(region, candidate)] -= candidate.count

    def document(self) -> dict[str, Any]:
        """Return the counts over time, as JSON can hold them; what is taken follows from the jobs."""
        return {kind.value: encode(by_type) for kind, by_type in self._timelines.items()}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Take up the counts of a document."""
        for kind, by_type in self._timelines.items():
            by_type.clear()
            by_type.update({name: decode(Timeline, steps) for name, steps in document[kind.value].items()})

    def snapshot(self, elapsed: float) -> dict[str, dict[str, int]]:
        """Return the totals of all types that are not ample, by kind."""
        return {
            kind.value: {name: timeline.at(elapsed) for name, timeline in by_type.items()}
            for kind, by_type in self._timelines.items()
        }


def pool(region: str, candidate: Candidate) -> Pool:
    """Return where a candidate's instances come from; plans have their own, which aren't missed On-Demand."""
    if candidate.plan_arn is not None:
        return (candidate.plan_arn,)
    return (region, candidate.kind.value, candidate.instance_type)
