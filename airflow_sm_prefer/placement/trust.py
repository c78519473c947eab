"""How far hints are believed while there is no turn to look at what they say."""

from __future__ import annotations

import math

#: So many hints in a row have to prove true before one is believed. Some are looked into even then.
_PROOFS = 3

#: How long none is believed after one that was false, in seconds.
_DOUBT = 600.0


class Trust:
    """A record of what has come of hints. A hint is looked into where that can be; else it counts what this says."""

    def __init__(self) -> None:
        self._proofs = 0
        self._doubts_until = -math.inf

    def proved(self, *, right: bool, now: float) -> None:
        """Note what a look has said of a job that a hint said was over."""
        self._proofs = self._proofs + 1 if right else 0
        if not right:
            self._doubts_until = now + _DOUBT

    def is_earned(self, now: float) -> bool:
        """Whether hints have proved true of late, often enough and without an exception."""
        return self._proofs >= _PROOFS and now >= self._doubts_until
