"""A preference list, cut into waves: runs of neighbouring preferences that AWS can take in one request."""

from __future__ import annotations

from dataclasses import dataclass

from airflow_sm_prefer.model.preference import (
    NATIVE_LIST_LIMIT,
    CapacityKind,
    InstancePreference,
    PreferenceList,
    Queue,
)


@dataclass(frozen=True, slots=True)
class Wave:
    """What goes out as one request.

    Attributes:
        indices: Which entries of the preference list, from 0, in order.
        preferences: These entries; none if the request says by itself what to run on.
        native: Whether they go as an InstancePreferences list, or as one InstanceType.
    """

    indices: tuple[int, ...]
    preferences: tuple[InstancePreference, ...]
    native: bool

    @property
    def queue(self) -> Queue | None:
        """The job queue that it goes through; None for SageMaker itself."""
        return self.preferences[0].queue if self.preferences else None

    def without(self, left_out: frozenset[int]) -> Wave:
        """Return the wave without some entries of the list, named by their indices."""
        if not self.preferences:
            return self
        kept = [n for n, index in enumerate(self.indices) if index not in left_out]
        return Wave(tuple(self.indices[n] for n in kept), tuple(self.preferences[n] for n in kept), native=self.native)


def compile_waves(preferences: PreferenceList, *, native: bool = True) -> tuple[Wave, ...]:
    """Cut a list into as few waves as AWS allows, without changing its order.

    Args:
        preferences: The list.
        native: False gives each preference a wave of its own, for partitions and accounts where AWS doesn't take
            lists.
    """
    if preferences.as_written:
        return (Wave((0,), (), native=False),)
    groups: list[list[int]] = []
    entries = preferences.preferences
    for index, entry in enumerate(entries):
        if groups and native and _fits(entry, [entries[n] for n in groups[-1]]):
            groups[-1].append(index)
        else:
            groups.append([index])
    return tuple(_wave(preferences, group, native=native) for group in groups)


def _wave(preferences: PreferenceList, group: list[int], *, native: bool) -> Wave:
    entries = tuple(preferences.preferences[n] for n in group)
    as_list = native and all(map(_listable, entries))
    return Wave(tuple(group), entries, native=as_list)


def _fits(entry: InstancePreference, wave: list[InstancePreference]) -> bool:
    """Whether one native request can take an entry together with those before it."""
    return (
        _listable(entry)
        and all(map(_listable, wave))
        and len(wave) < NATIVE_LIST_LIMIT
        and entry.instance_type not in {other.instance_type for other in wave}
        and entry.overrides == wave[0].overrides
    )


def _listable(entry: InstancePreference) -> bool:
    """AWS's lists exclude spot and queues; and an entry that waits for its plan needs the plan at the job's level."""
    return entry.kind is not CapacityKind.SPOT and not entry.wait_for_plan and entry.queue is None
