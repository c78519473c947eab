"""Who is next, among many of whom each has one appointment that may change."""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import count
from typing import Generic, TypeVar

T = TypeVar("T")


class Appointments(Generic[T]):
    """A queue by instants, those of one instant in the order in which they came. What is in it is told by identity.

    An appointment that is changed or called off costs nothing: what is left of it is passed over when it is due.
    """

    def __init__(self) -> None:
        self._current: dict[int, int] = {}
        self._heap: list[tuple[float, int, T]] = []
        self._numbers = count()

    def set(self, item: T, at: float) -> None:
        """Give an item its appointment, instead of the one that it has."""
        number = next(self._numbers)
        self._current[id(item)] = number
        heapq.heappush(self._heap, (at, number, item))

    def drop(self, item: T) -> None:
        """Take an item out; one that isn't in is no error."""
        self._current.pop(id(item), None)

    def first(self) -> tuple[float, T] | None:
        """Return the next appointment and whose it is; None where there is none."""
        while self._heap:
            at, number, item = self._heap[0]
            if self._current.get(id(item)) == number:
                return at, item
            heapq.heappop(self._heap)
        return None

    def taken(self, until: float) -> Iterator[tuple[float, T]]:
        """Take appointments out, the next first, as long as they are at an instant or before."""
        while (first := self.first()) and first[0] <= until:
            heapq.heappop(self._heap)
            self.drop(first[1])
            yield first
