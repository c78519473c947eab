"""The runner: from a job with capacity to its end, in threads of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.sandbox.runner.clients import sandbox_client
from airflow_sm_prefer.sandbox.runner.images import ImageTable
from airflow_sm_prefer.sandbox.runner.isolation import Isolation, best_isolation
from airflow_sm_prefer.sandbox.runner.job import LocalRun
from airflow_sm_prefer.sandbox.runner.workplace import Workplace
from airflow_sm_prefer.sandbox.runs import Phase, RunResult, RunSpec

log = logging.getLogger(__name__)


class LocalRunner:
    """Runs jobs as processes of this machine, in SageMaker's container layout.

    Args:
        workdir: The folder that jobs' files lie in while they run, each runner's in a folder of its own. What a runner
            that was killed has left there is removed.
        images: Which Python stands for which image; without it, ours for every one.
        clock: The time.
        isolation: How ``/opt/ml`` is made a job's own; found out if not given.
    """

    def __init__(
        self,
        workdir: Path,
        images: ImageTable | None = None,
        clock: Clock | None = None,
        isolation: Isolation | None = None,
    ) -> None:
        self._workplace = Workplace(workdir)
        self._images = images or ImageTable()
        self._clock = clock or SystemClock()
        self.isolation = isolation or best_isolation()
        self._clients: dict[tuple[str, str, str, str], Any] = {}
        self._runs: dict[str, LocalRun] = {}
        self._closed = False
        self._lock = threading.Lock()

    def start(self, spec: RunSpec, on_phase: Callable[[Phase], None], on_end: Callable[[RunResult], None]) -> LocalRun:
        """Start a run and return at once; after :meth:`close` it ends as Stopped without having done anything."""

        def ended(result: RunResult) -> None:
            with self._lock:
                self._runs.pop(spec.environment_id, None)
            on_end(result)

        run = LocalRun(
            spec,
            folder=self._workplace.folder / spec.environment_id,
            images=self._images,
            isolation=self.isolation,
            clock=self._clock,
            client=lambda service: self._client(service, spec),
            on_phase=on_phase,
            on_end=ended,
        )
        with self._lock:
            if self._closed:
                run.kill()
            else:
                self._workplace.open()
            self._runs[spec.environment_id] = run
        run.start()
        return run

    def close(self) -> None:
        """End everything that still runs, at once, and wait for it."""
        with self._lock:
            self._closed = True
            runs = list(self._runs.values())
        for run in runs:
            run.kill()
        for run in runs:
            run.join()
        self._workplace.close()

    def _client(self, service: str, spec: RunSpec) -> Any:
        """Build a client once: that takes longer than many a job."""
        key = (service, spec.endpoint_url, spec.region, spec.account)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = sandbox_client(*key)
            return self._clients[key]
