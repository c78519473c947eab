"""The runner: from a job with capacity to its end, in threads of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from airflow_sm_prefer.clock import Clock, SystemClock
from airflow_sm_prefer.sandbox.runner.images import ImageTable
from airflow_sm_prefer.sandbox.runner.isolation import Isolation, best_isolation
from airflow_sm_prefer.sandbox.runner.job import LocalRun
from airflow_sm_prefer.sandbox.runs import Phase, RunResult, RunSpec

log = logging.getLogger(__name__)


class LocalRunner:
    """Runs jobs as processes of this machine, in SageMaker's container layout.

    Args:
        workdir: The folder that jobs' files lie in while they run.
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
        self._workdir = workdir.absolute()
        self._images = images or ImageTable()
        self._clock = clock or SystemClock()
        self.isolation = isolation or best_isolation()
        self._clients: dict[tuple[str, str, str], Any] = {}
        self._runs: dict[str, LocalRun] = {}
        self._lock = threading.Lock()

    def start(self, spec: RunSpec, on_phase: Callable[[Phase], None], on_end: Callable[[RunResult], None]) -> LocalRun:
        """Start a run and return at once."""

        def ended(result: RunResult) -> None:
            with self._lock:
                self._runs.pop(spec.environment_id, None)
            on_end(result)

        run = LocalRun(
            spec,
            folder=self._workdir / spec.environment_id,
            images=self._images,
            isolation=self.isolation,
            clock=self._clock,
            client=lambda service: self._client(service, spec),
            on_phase=on_phase,
            on_end=ended,
        )
        with self._lock:
            self._runs[spec.environment_id] = run
        run.start()
        return run

    def close(self) -> None:
        """End everything that still runs, at once, and wait for it."""
        with self._lock:
            runs = list(self._runs.values())
        for run in runs:
            run.kill()
        for run in runs:
            run.join()

    def _client(self, service: str, spec: RunSpec) -> Any:
        """Build a client once: that takes longer than many a job."""
        key = (service, spec.endpoint_url, spec.region)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = boto3.session.Session().client(
                    service,
                    endpoint_url=spec.endpoint_url,
                    region_name=spec.region,
                    aws_access_key_id="sandbox",
                    aws_secret_access_key="sandbox",  # noqa: S106 - the sandbox takes any
                    config=Config(
                        retries={"mode": "standard", "total_max_attempts": 3}, s3={"addressing_style": "path"}
                    ),
                )
            return self._clients[key]
