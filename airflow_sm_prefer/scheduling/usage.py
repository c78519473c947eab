"""What the shares of a fair-share queue have used, as a value that is carried on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.scheduling.snapshot import Placed


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Instance-seconds by share identifier, decayed up to an instant. Plain numbers, so that it can be stored.

    Attributes:
        as_of: The instant, in seconds.
        spent: Decayed instance-seconds by share identifier.
    """

    as_of: float
    spent: Mapping[str, float] = field(default_factory=dict)

    def carried_to(self, now: float, placed: Iterable[Placed], decay_seconds: int) -> Usage:
        """Return the usage at a later instant, with these jobs holding their instances until then.

        To be called whenever the set of placed jobs is about to change, with the set before the change: a job that
        ends or is placed between two calls is not seen.
        """
        raise NotImplementedError
