"""Token buckets: how often a process asks AWS.

AWS counts calls by account, Region and operation, for everybody together
(https://docs.aws.amazon.com/general/latest/gr/sagemaker.html). What a process may take of that is a setting;
its buckets are shared by all that it watches and submits.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from airflow_sm_prefer.clock import Clock

#: Calls a second that AWS allows an account in a Region, none of them adjustable. ListTags and the reads of
#: training plans have no documented limit.
AWS_LIMITS: Final[Mapping[str, float]] = MappingProxyType({"create": 1.0, "describe": 5.0, "list": 2.0, "stop": 1.0})

#: What a look at jobs that are waited for takes a turn as, besides that of its own operation.
WATCH: Final = "watch"

#: Calls a second that all looks of all triggerers take together, unless they are told otherwise.
DEFAULT_WATCH_RATE: Final = 1.0

#: Verbs of which no two calls come closer than their rate has them, however long there was none.
_EVENLY: Final = (WATCH, "list")

#: What we hold ourselves to where no limit, or no SageMaker limit, is documented.
#: SubmitServiceJob has 5 a second (https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html).
_OWN_RATES: Final[Mapping[str, float]] = MappingProxyType(
    {
        "listtags": 4.0,
        "addtags": 4.0,
        "tagresource": 4.0,
        "listservicequotas": 5.0,
        "submitservicejob": 4.0,
        WATCH: DEFAULT_WATCH_RATE,
        "terminateservicejob": 4.0,
        "getjobqueuesnapshot": 1.0,
    }
)

#: What one process takes unless it is told otherwise: it leaves room for others in the account.
DEFAULT_RATES: Final[Mapping[str, float]] = MappingProxyType({"create": 0.8, "describe": 2.0, "list": 1.9, "stop": 0.8})


class TokenBucket:
    """Lets a number of calls a second through, and as many at once as it holds: a second's worth, or one.

    Not safe by itself for several threads; :class:`Pacing` guards it.
    """

    def __init__(self, rate: float, clock: Clock, *, evenly: bool = False) -> None:
        self._rate = rate
        self._size = 1.0 if evenly else max(1.0, rate)
        self._tokens = self._size
        self._clock = clock
        self._at = clock.time()

    def take(self) -> float:
        """Take the next token, be it one that is still to come; returns the seconds until it is there."""
        self._refill()
        self._tokens -= 1.0
        return max(0.0, -self._tokens / self._rate)

    def empty(self) -> None:
        """Let nothing through for the time that one token takes to come."""
        self._refill()
        self._tokens = min(self._tokens, 0.0)

    def _refill(self) -> None:
        now = self._clock.time()
        passed = max(0.0, now - self._at)  # a wall clock may be set back
        self._at = now
        self._tokens = min(self._size, self._tokens + passed * self._rate)


class Pacing:
    """The buckets of one account in one Region, one for each operation. Safe for threads.

    A caller takes its turn with :meth:`acquire` and waits as long as that says, in whatever way suits it: a
    worker sleeps, a trigger awaits. Turns are given in the order in which they are asked for.
    """

    def __init__(self, clock: Clock, rates: Mapping[str, float] = DEFAULT_RATES) -> None:
        """Set the rates.

        Args:
            clock: What the buckets fill by: real time, whatever a sandbox's speed.
            rates: Calls a second by ``create``, ``describe``, ``list`` and ``stop``; an operation goes by the
                verb that it begins with, and one without a rate isn't held up.
        """
        self._clock = clock
        self._rates = {**_OWN_RATES, **DEFAULT_RATES, **rates}
        self._buckets: dict[str, TokenBucket] = {}
        # A task is told to end by a signal, whose handler may take a turn in the middle of another.
        self._lock = threading.RLock()

    def acquire(self, operation: str) -> float:
        """Take the next turn for an operation (``DescribeTrainingJob``); returns the seconds until it."""
        with self._lock:
            bucket = self._bucket(operation)
            return bucket.take() if bucket else 0.0

    def throttled(self, operation: str) -> None:
        """Say that AWS refused one for being too many, so that those behind it wait."""
        with self._lock:
            bucket = self._bucket(operation)
            if bucket:
                bucket.empty()

    def _bucket(self, operation: str) -> TokenBucket | None:
        verb = next((verb for verb in self._rates if operation.lower().startswith(verb)), None)
        if verb is None:
            return None
        if operation not in self._buckets:
            self._buckets[operation] = TokenBucket(self._rates[verb], self._clock, evenly=verb in _EVENLY)
        return self._buckets[operation]


_shared: dict[tuple[str, str], Pacing] = {}
_shared_lock = threading.Lock()


def shared_pacing(account: str, region: str, clock: Clock, rates: Mapping[str, float] = DEFAULT_RATES) -> Pacing:
    """Return this process's buckets for an account in a Region; the first caller's clock and rates hold.

    Args:
        account: The account's number or, where that isn't known, the connection's id.
        region: The Region.
        clock: See :class:`Pacing`.
        rates: See :class:`Pacing`.
    """
    with _shared_lock:
        return _shared.setdefault((account, region), Pacing(clock, rates))
