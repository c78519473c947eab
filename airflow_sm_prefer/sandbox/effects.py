"""What the engine's decisions do to the world: runs are started and stopped, events sent.

Decisions are taken under the engine's lock; their effects come after it, in order, so that a runner or a target of
events may call back at any time.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from airflow_sm_prefer.sandbox.runs import Ending, Phase, Run, Runner, RunResult, RunSpec

RunKey = tuple[int, int]
"""A job's number, and which launch of it."""

Report = Callable[[RunKey, Phase | RunResult], None]
Emit = Callable[[str, str, dict[str, Any]], None]


class Effects:
    """A queue of effects, and the runs that live."""

    def __init__(self, runner: Runner, report: Report, emit: Emit) -> None:
        self._runner = runner
        self._report = report
        self._emit = emit
        self._queue: deque[Callable[[], None]] = deque()
        self._runs: dict[RunKey, Run] = {}
        self._performing = threading.Lock()

    def start(self, key: RunKey, spec: RunSpec) -> None:
        """Have a run started."""
        self._queue.append(lambda: self._start(key, spec))

    def stop(self, key: RunKey) -> None:
        """Have a run told to stop."""
        self._queue.append(lambda: self._stop(key))

    def kill(self, key: RunKey) -> None:
        """Have a run killed whose grace is over."""
        self._queue.append(lambda: self._kill(key))

    def emit(self, account: str, region: str, event: dict[str, Any]) -> None:
        """Have an event sent."""
        self._queue.append(lambda: self._emit(account, region, event))

    def perform(self) -> None:
        """Do all that is queued, in order; a thread that finds another at it leaves it to that one."""
        while self._queue and self._performing.acquire(blocking=False):
            try:
                while self._queue:
                    self._queue.popleft()()
            finally:
                self._performing.release()

    def _start(self, key: RunKey, spec: RunSpec) -> None:
        def on_end(result: RunResult) -> None:
            self._runs.pop(key, None)
            self._report(key, result)

        try:
            run = self._runner.start(spec, lambda phase: self._report(key, phase), on_end)
        except Exception as error:  # noqa: BLE001, RUF100 - whatever it is, the job ends and the sandbox goes on
            reason = f"InternalServerError: The sandbox could not start the job: {error}"
            self._report(key, RunResult(Ending.FAILED, reason))
        else:
            self._runs[key] = run

    def _stop(self, key: RunKey) -> None:
        run = self._runs.get(key)
        if run is not None:
            run.stop()

    def _kill(self, key: RunKey) -> None:
        run = self._runs.get(key)
        if run is not None:
            run.kill()
