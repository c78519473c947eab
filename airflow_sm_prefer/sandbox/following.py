"""Who follows the engine's jobs: what stands on top of SageMaker, and makes training jobs of its own."""

from __future__ import annotations

import math
from typing import Protocol

from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.pace import Moment


class Follower(Protocol):
    """Is told of every change of a job's status, and of time, under the engine's lock."""

    @property
    def is_unsettled(self) -> bool:
        """Whether :meth:`settle` has something to do now."""

    def next_due(self) -> float:
        """Return the elapsed seconds at which :meth:`meet` has something to do, infinity if never."""

    def follow(self, training: Job) -> None:
        """Hear of a job whose status has changed."""

    def meet(self, moment: Moment) -> None:
        """Do what is due at a moment; the engine settles afterwards."""

    def settle(self, now: Moment) -> None:
        """Do what follows from everything that it has heard of."""


class Nobody:
    """Follows nothing."""

    is_unsettled = False

    def next_due(self) -> float:
        """Return infinity."""
        return math.inf

    def follow(self, training: Job) -> None:
        """Do nothing."""

    def meet(self, moment: Moment) -> None:
        """Do nothing."""

    def settle(self, now: Moment) -> None:
        """Do nothing."""
