"""What the attempts inside one boto3 call came to.

The SDK repeats a call by itself and shows the last attempt only. A create whose first attempt timed out after
AWS had taken it, and whose second was refused (the name in use, the quota used up by our own job), looks like
a plain refusal.
"""

from __future__ import annotations

import threading
from typing import Any

from airflow_sm_prefer.aws.failures import may_have_arrived


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

    def _note(self, *, response: tuple[Any, Any] | None, caught_exception: Exception | None, **_: Any) -> None:
        """Take one attempt down. Returns nothing, so that it has no say in whether there is another."""
        if caught_exception is not None:
            unheard = may_have_arrived(caught_exception)
        else:
            status = response[1].get("ResponseMetadata", {}).get("HTTPStatusCode", 0) if response else 0
            unheard = status >= 500
        self._call.doubtful = self.doubtful or unheard
