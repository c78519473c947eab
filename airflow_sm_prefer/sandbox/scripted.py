"""A runner for tests: jobs take the time they are told, and end as they are told; nothing is executed."""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.sandbox.pace import Timekeeper
from airflow_sm_prefer.sandbox.runs import Ending, Phase, RunResult, RunSpec


@dataclass(frozen=True, slots=True)
class Script:
    """How the runs of some jobs go.

    Attributes:
        seconds: How long a run takes, in the scenario's seconds.
        ending: How it ends by itself.
        failure_reason: The reason of a failed one, as SageMaker words it.
        exit_message: What a processing container leaves.
        stop_seconds: How long it goes on after SIGTERM; SIGKILL ends it after its grace.
    """

    seconds: float = 10.0
    ending: Ending = Ending.COMPLETED
    failure_reason: str | None = None
    exit_message: str | None = None
    stop_seconds: float = 0.0

    @classmethod
    def fails(cls, reason: str, seconds: float = 10.0) -> Script:
        """Return a script that ends as Failed, for that reason."""
        return cls(seconds=seconds, ending=Ending.FAILED, failure_reason=reason)


class ScriptedRunner:
    """Runs that follow scripts. :meth:`tick` moves them on; the sandbox calls it.

    >>> runner = ScriptedRunner({"bad-*": Script.fails("AlgorithmError: , exit code: 1")})

    Args:
        scripts: By pattern of the job's name; the first that fits is taken.
        default: For jobs that no pattern fits.

    Attributes:
        started: The specifications of all runs so far, in order.
    """

    def __init__(
        self,
        scripts: Mapping[str, Script] | None = None,
        default: Script | None = None,
    ) -> None:
        self.scripts = dict(scripts or {})
        self.default = default or Script()
        self.started: list[RunSpec] = []
        self._time = Timekeeper(SystemClock())
        # By when they are due; a run whose end was brought forward is in it twice.
        self._soonest: list[tuple[float, int, ScriptedRun]] = []
        self._order = itertools.count()
        self._lock = threading.Lock()

    def keep_time(self, time: Timekeeper) -> None:
        """Take over a sandbox's time."""
        self._time = time

    def start(
        self, spec: RunSpec, on_phase: Callable[[Phase], None], on_end: Callable[[RunResult], None]
    ) -> ScriptedRun:
        """Start a run; its input and image are there at once."""
        run = ScriptedRun(spec, self.script_for(spec.name), on_end, self._time, self._expect)
        self.started.append(spec)
        self._expect(run)
        on_phase(Phase.DOWNLOADING)
        on_phase(Phase.TRAINING)
        return run

    def script_for(self, name: str) -> Script:
        """Return what a job of that name will do."""
        fitting = (script for pattern, script in self.scripts.items() if fnmatchcase(name, pattern))
        return next(fitting, self.default)

    def tick(self) -> None:
        """End the runs whose time has come."""
        ending = []
        with self._lock:
            while self._soonest and self._soonest[0][2].is_due():
                ending.append(heapq.heappop(self._soonest)[2])
        for run in ending:
            run.end()

    def next_due(self) -> float:
        """Return the elapsed seconds at which the next run will end, infinity if none does."""
        with self._lock:
            return self._soonest[0][2].due if self._soonest else float("inf")

    def close(self) -> None:
        """Forget every run."""
        with self._lock:
            self._soonest.clear()

    def _expect(self, run: ScriptedRun) -> None:
        with self._lock:
            heapq.heappush(self._soonest, (run.due, next(self._order), run))


class ScriptedRun:
    """One run of a :class:`ScriptedRunner`.

    Attributes:
        due: The elapsed seconds at which it ends.
    """

    def __init__(
        self,
        spec: RunSpec,
        script: Script,
        on_end: Callable[[RunResult], None],
        time: Timekeeper,
        on_new_due: Callable[[ScriptedRun], None],
    ) -> None:
        self._spec = spec
        self._script = script
        self._on_end = on_end
        self._time = time
        self._on_new_due = on_new_due
        self._stopped = False
        self._ended = False
        self.due = time.now().elapsed + script.seconds

    def stop(self) -> None:
        """End it after what the script says."""
        self._bring_forward(self._script.stop_seconds)

    def kill(self) -> None:
        """End it now."""
        self._bring_forward(0)

    def is_due(self) -> bool:
        """Whether its time has come."""
        return self.due <= self._time.now().elapsed

    def end(self) -> None:
        """Report how it ended, once."""
        if self._ended:
            return
        self._ended = True
        script = self._script
        if self._stopped:
            self._on_end(RunResult(Ending.STOPPED))
            return
        artifacts = None
        if self._spec.kind == "training" and script.ending is Ending.COMPLETED:
            prefix = self._spec.request["OutputDataConfig"]["S3OutputPath"].rstrip("/")
            artifacts = f"{prefix}/{self._spec.name}/output/model.tar.gz"
        self._on_end(RunResult(script.ending, script.failure_reason, script.exit_message, artifacts))

    def _bring_forward(self, seconds: float) -> None:
        self._stopped = True
        self.due = min(self.due, self._time.now().elapsed + seconds)
        self._on_new_due(self)
