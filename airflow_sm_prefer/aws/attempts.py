"""What the attempts inside one boto3 call came to.

The SDK repeats a call by itself and shows the last attempt only. A create whose first attempt timed out after
AWS had taken it, and whose second was refused (the name in use, the quota used up by our own job), looks like
a plain refusal.

A create that AWS throttles isn't repeated by the SDK: it would wait in a worker's slot, for seconds that nobody sees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Final

from botocore.exceptions import ClientError

from airflow_sm_prefer.aws.failures import is_throttle, may_have_arrived

#: Takes an operation, as AWS writes it, and whether AWS refused it for being one too many.
Observer = Callable[[str, bool], None]

_observers: list[Observer] = []

#: The operations that make a job: AWS takes one a second of each of SageMaker's, and a task that is refused sleeps.
_MAKES_A_JOB: Final = frozenset({"CreateTrainingJob", "CreateProcessingJob", "SubmitServiceJob"})


def observe(observer: Observer) -> None:
    """Have all attempts of this process told to somebody, in the thread that makes them; again is no more than once."""
    if observer not in _observers:
        _observers.append(observer)


class AttemptLog:
    """Listens to one client's attempts; every thread has its own account of its own call."""

    def __init__(self, client: Any) -> None:
        self._call = threading.local()
        service = client.meta.service_model.service_id.hyphenize()
        # First in line: handlers behind this one decide about the retry, and this one must see every attempt.
        client.meta.events.register_first(f"needs-retry.{service}", self._note)

    def begin(self) -> None:
        """Forget the calls before this one."""
        self._call.doubtful = False

    @property
    def doubtful(self) -> bool:
        """Whether an attempt since :meth:`begin` may have reached AWS without our hearing of it."""
        return bool(getattr(self._call, "doubtful", False))

    def _note(
        self, *, response: tuple[Any, Any] | None, caught_exception: Exception | None, operation: Any, **_: Any
    ) -> None:
        """Take one attempt down. It has a say in whether there is another only where a create is throttled.

        Raises:
            ClientError: AWS throttles a create: its refusal, for the caller.
        """
        code = response[1].get("Error", {}).get("Code", "") if response else ""
        is_throttled = is_throttle(code)
        for observer in _observers:
            observer(operation.name, is_throttled)
        if caught_exception is not None:
            unheard = may_have_arrived(caught_exception)
        else:
            status = response[1].get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if response else 0
            unheard = status >= 500
        self._call.doubtful = self.doubtful or unheard
        if response and is_throttled and operation.name in _MAKES_A_JOB:
            raise ClientError(response[1], operation.name)
