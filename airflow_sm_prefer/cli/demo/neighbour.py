"""Somebody else in the account, whose GPU comes free while the demo's training job waits for one."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from airflow_sm_prefer.cli.demo.environment import SPEED
from airflow_sm_prefer.cli.demo.follow import Say

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.client import SandboxControl

FREED = "ml.g5.xlarge"
PATIENCE_SECONDS = 20.0
"""How long the training job waits, in real seconds, before the neighbour's job ends."""


class Neighbour:
    """Frees an instance of one type, a while after a training job was seen waiting.

    So the wait is as long on a slow machine as on a fast one. A scenario file could say when capacity comes, but only
    in minutes since the sandbox began, and not how soon after that a job is submitted.
    """

    def __init__(
        self,
        endpoint: str,
        say: Say,
        *,
        control: SandboxControl | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._endpoint = endpoint
        self._say = say
        self._control = control
        self._monotonic = monotonic
        self._since: float | None = None
        self._freed = False

    def look(self) -> None:
        """See whether it is time, and free the instance if so."""
        if self._freed:
            return
        if self._since is None:
            self._since = self._monotonic() if self._somebody_waits() else None
        elif self._monotonic() - self._since >= PATIENCE_SECONDS:
            self._sandbox().set_capacity({FREED: 1})
            self._freed = True
            waited = PATIENCE_SECONDS * SPEED / 60
            self._say(
                f"sandbox: after {waited:.0f} minutes of its time somebody's job ends, one {FREED} is free", "loud"
            )

    def _somebody_waits(self) -> bool:
        jobs = self._sandbox().jobs()
        return any(job["kind"] == "training" and job["secondary"] == "Pending" for job in jobs)

    def _sandbox(self) -> SandboxControl:
        if self._control is None:
            from airflow_sm_prefer.sandbox.client import SandboxControl  # noqa: PLC0415 - takes a second

            self._control = SandboxControl(self._endpoint)
        return self._control
