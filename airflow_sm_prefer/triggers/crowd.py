"""Keeps Python's garbage collector from holding up thousands of triggers."""

from __future__ import annotations

import gc

#: So many triggers at once are a crowd: for fewer the collector is left alone.
_CROWD = 500

#: So many more than ever before have what lives by then taken out of the collector's sight, too. What is in its sight
#: is thousands of objects and not hundreds of thousands, which it looks through in some 30 ms.
_MORE = 1000

#: As many objects and fewer that are frozen were frozen by Python itself at its start: some hundreds in 3.12.
_PYTHONS = 1000


class Crowd:
    """The triggers of this process that wait.

    The collector looks at everything that lives whenever that has grown by a quarter, and nothing else runs meanwhile:
    at Airflow's own objects and those of ten thousand triggers for a third of a second and more. Airflow's alone, in
    which we have no say, are most of it. So what lives when a crowd comes, and when it has grown a good deal, is taken
    out of the collector's sight, and given back when the last of them has left.

    That is for all that lives in the process, other people's objects too: Python can't do it for some alone. It is
    freed as ever when nobody refers to it any more. But what is in a cycle and is, or becomes, garbage meanwhile stays
    until the last has left; only what is young is collected before. Who has frozen anything before us has it left so.
    """

    def __init__(self) -> None:
        self._here = 0
        self._next = _CROWD
        self._gives_back = False

    def enter(self) -> None:
        """Say that a trigger has begun."""
        self._here += 1
        if self._here >= self._next:
            if self._next == _CROWD:
                self._gives_back = gc.get_freeze_count() <= _PYTHONS
            self._next = self._here + _MORE
            gc.collect(1)
            gc.freeze()

    def leave(self) -> None:
        """Say that one has ended."""
        self._here -= 1
        if not self._here and self._next > _CROWD:
            self._next = _CROWD
            if self._gives_back:
                gc.unfreeze()


#: That of this process.
crowd = Crowd()
