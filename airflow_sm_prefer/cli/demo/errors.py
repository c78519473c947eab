"""What can go wrong with a demo, as one error that a person can act on."""

from __future__ import annotations

from pathlib import Path

from airflow_sm_prefer.errors import SmPreferError


class DemoError(SmPreferError):
    """The demo can't go on; the message says why and what to do.

    Attributes:
        log: The log that tells more, if there is one; its last lines are shown.
    """

    def __init__(self, message: str, log: Path | None = None) -> None:
        super().__init__(message)
        self.log = log


class Interrupted(BaseException):
    """A signal asked the demo to end; not an Exception, so that nothing on the way swallows it.

    Attributes:
        signal_number: Which one it was.
    """

    def __init__(self, signal_number: int) -> None:
        super().__init__(signal_number)
        self.signal_number = signal_number
