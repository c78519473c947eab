"""What hints have said of jobs, and what has come of it."""

from __future__ import annotations

import math

from airflow_sm_prefer.placement.trust import Trust

#: A task that a hint has woken though its job wasn't over is back within so many real seconds, or nobody can tell.
_BACK_WITHIN = 600.0


class Hints:
    """The hints of one watcher that jobs are over. Each is looked into, or believed where there is no turn for that."""

    def __init__(self) -> None:
        self._trust = Trust()
        self._looked_into: set[str] = set()
        self._believed: dict[str, float] = {}

    def look_into(self, handle: str) -> None:
        """Note a hint whose job is looked at."""
        self._looked_into.add(handle)

    def seen(self, handle: str, *, is_over: bool, now: float) -> None:
        """Note what a look has shown of a job."""
        if handle in self._looked_into:
            self._looked_into.discard(handle)
            self._trust.proved(right=is_over, now=now)

    def is_pending(self, handle: str) -> bool:
        """Whether a hint about a job is still to be looked into."""
        return handle in self._looked_into

    def believe_pending(self, now: float) -> list[str]:
        """Believe those that are still to be looked into, if they may be; returns their jobs."""
        pending = sorted(self._looked_into) if self.are_believed(now) else []
        for handle in pending:
            self._looked_into.discard(handle)
            self.believe(handle, now)
        return pending

    def are_believed(self, now: float) -> bool:
        """Whether one may be believed without a look."""
        return self._trust.is_earned(now)

    def believe(self, handle: str, now: float) -> None:
        """Note a hint that has woken a task without a look."""
        for earlier in [one for one, at in self._believed.items() if at <= now - _BACK_WITHIN]:
            del self._believed[earlier]
        self._believed[handle] = now

    def waits_again(self, handle: str, now: float) -> None:
        """Note that a task waits for a job: one that a hint has woken is back, and the hint was false."""
        if self._believed.pop(handle, -math.inf) > now - _BACK_WITHIN:
            self._trust.proved(right=False, now=now)

    def forget(self, handle: str) -> None:
        """Have done with a job."""
        self._looked_into.discard(handle)
