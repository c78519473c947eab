"""How many accelerators each entry of a list comes to, since a batch size for each of them makes the global one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from airflow_sm_prefer import catalog
from airflow_sm_prefer.model.overrides import Overrides
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.written import joined

#: How many entries a warning names.
_NAMED = 6


@dataclass(frozen=True, slots=True)
class _Equipped:
    """An entry, counted from 1, with all the accelerators that it comes to; a model of ``""`` is none."""

    number: int
    asked: str
    total: int
    model: str

    def __str__(self) -> str:
        has = f"{self.total} {self.model}" if self.total else "no accelerator"
        return f"entry {self.number} has {has} ({self.asked})"


def differing(preferences: PreferenceList) -> str | None:
    """Say which entries differ in accelerators though the job is sent with the same settings for them.

    Returns:
        A text for the log; None if there are none. An entry with overrides of its own was thought of by its author,
        and what is in a type that ``catalog`` doesn't know can't be compared.
    """
    alike: dict[Overrides, list[_Equipped]] = {}
    for index, entry in enumerate(preferences):
        equipped = _equipped(preferences, index)
        if equipped is not None:
            alike.setdefault(entry.overrides, []).append(equipped)
    for entries in alike.values():
        if len({entry.total for entry in entries}) > 1:
            return _text(entries, "With a batch size for each accelerator, the global batch changes with the type.")
        if len({entry.model for entry in entries}) > 1:
            return _text(entries, "A batch that fits into the memory of one may not fit into another's.")
    return None


def _equipped(preferences: PreferenceList, index: int) -> _Equipped | None:
    name, count = preferences.preferences[index].instance_type, preferences.count_of(index)
    asked = f"{count} x {name}"
    spec = catalog.spec(name)
    if spec is not None:
        return _Equipped(index + 1, asked, spec.accelerator_count * count, spec.accelerator)
    return None if catalog.is_accelerated(name) else _Equipped(index + 1, asked, 0, "")


def _text(entries: Iterable[_Equipped], consequence: str) -> str:
    first: dict[tuple[int, str], _Equipped] = {}
    for entry in entries:
        first.setdefault((entry.total, entry.model), entry)
    shown = [str(entry) for entry in first.values()]
    more = ["…"] if len(shown) > _NAMED else []
    return (
        f"The list's entries differ in accelerators and share their settings: {joined(shown[:_NAMED] + more)}. "
        f"{consequence} Give the entries hyperparameters of their own, or have the script adapt."
    )
