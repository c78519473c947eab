"""Keeps Python's garbage collector from holding up thousands of triggers."""

from __future__ import annotations

import gc

#: So many more triggers than ever before have what lives by then taken out of the collector's sight.
_CROWD = 500


class Crowd:
    """The triggers of this process that wait.

    The collector looks at everything that lives whenever that has grown by a quarter, and nothing else runs meanwhile:
    at Airflow's own objects for about a tenth of a second, at those of ten thousand triggers besides for several. So
    what lives when the first begins, and when there are many more than ever, is taken out of its sight. It is freed as
    ever when nobody refers to it any more; only cycles that are garbage by then, and not young, stay. Once there are as
    many as there will be, that happens no more.
    """

    def __init__(self) -> None:
        self._here = 0
        self._next = 1

    def enter(self) -> None:
        """Say that a trigger has begun."""
        self._here += 1
        if self._here >= self._next:
            self._next = self._here + _CROWD
            gc.collect(1)
            gc.freeze()

    def leave(self) -> None:
        """Say that one has ended."""
        self._here -= 1


#: That of this process.
crowd = Crowd()
