"""What is to be looked at, and when: single service jobs, and environments whose queues may have a job to place."""

from __future__ import annotations

import heapq
import itertools
import math

from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob


class Due:
    """Alarms for service jobs, in elapsed seconds, and the environments that have something to decide now."""

    def __init__(self) -> None:
        self._alarms: list[tuple[float, int, ServiceJob]] = []
        self._order = itertools.count()
        self._environments: dict[str, Estate] = {}

    @property
    def has_environments(self) -> bool:
        """Whether some environment has something to decide."""
        return bool(self._environments)

    def add(self, when: float | None, job: ServiceJob) -> None:
        """Have a job looked at then; None is never."""
        if when is not None and math.isfinite(when):
            heapq.heappush(self._alarms, (when, next(self._order), job))

    def next(self) -> float:
        """Return the next alarm's elapsed seconds, infinity if there is none."""
        return self._alarms[0][0] if self._alarms else math.inf

    def pop(self, elapsed: float) -> list[ServiceJob]:
        """Return, once, the jobs to be looked at by now; none that has ended."""
        jobs = []
        while self._alarms and self._alarms[0][0] <= elapsed:
            jobs.append(heapq.heappop(self._alarms)[2])
        return [job for job in jobs if job.is_live]

    def stir(self, estate: Estate, environment: str) -> None:
        """Have the queues on an environment looked at, by its ARN."""
        self._environments[environment] = estate

    def pop_environments(self) -> dict[str, Estate]:
        """Return, once, the environments to be looked at, by ARN, and whose they are."""
        environments, self._environments = self._environments, {}
        return environments
