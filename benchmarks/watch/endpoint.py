"""The endpoint: the sandbox with ten thousand jobs, which end when they are told to.

    python -m benchmarks.watch.endpoint '{"jobs": 1000}'

A process of its own. It says where it serves on standard output, and does there what standard input says: each line
is an object, and so is each answer. Limits, paging, filters and errors are the sandbox's.
"""

from __future__ import annotations

import json
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.sandbox.handler import Server
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.rates import DEFAULT_RATES
from airflow_sm_prefer.sandbox.runs import Ending, Phase, RunResult, RunSpec
from airflow_sm_prefer.sandbox.sandbox import DEFAULT_CALLER, Sandbox
from airflow_sm_prefer.sandbox.wsgi import Endpoint
from benchmarks.watch.event_queue import EventQueue
from benchmarks.watch.jobs import jobs, warm_up_jobs

TICK_SECONDS = 0.05


class SkewedClock(SystemClock):
    """AWS's clock where it doesn't show our time."""

    def __init__(self, ahead: float) -> None:
        self._ahead = ahead

    def time(self) -> float:
        return super().time() + self._ahead


@dataclass
class EndlessRun:
    """A run that ends when it is told to."""

    on_end: Callable[[RunResult], None]

    def stop(self) -> None:
        self.on_end(RunResult(Ending.STOPPED))

    kill = stop


@dataclass
class EndlessRunner:
    """Runs nothing; a job goes on until :meth:`end`."""

    runs: dict[str, EndlessRun] = field(default_factory=dict)

    def start(
        self, spec: RunSpec, on_phase: Callable[[Phase], None], on_end: Callable[[RunResult], None]
    ) -> EndlessRun:
        on_phase(Phase.DOWNLOADING)
        on_phase(Phase.TRAINING)
        self.runs[spec.name] = EndlessRun(on_end)
        return self.runs[spec.name]

    def end(self, name: str) -> None:
        """Let a job complete."""
        self.runs[name].on_end(RunResult(Ending.COMPLETED))

    def close(self) -> None:
        """End nothing: nothing runs."""


class JobsEndpoint:
    """Serves a sandbox with jobs that run until they are told to end.

    Args:
        options: ``jobs``: how many; ``mixed``: every other one a processing job; ``limits``: whether calls are
            limited; ``ahead``: seconds by which AWS's clock is ahead; anything else is a setting of the sandbox.
    """

    def __init__(self, options: dict[str, Any]) -> None:
        settings = dict(options)
        count, mixed = settings.pop("jobs", 0), settings.pop("mixed", False)
        limits, ahead = settings.pop("limits", True), settings.pop("ahead", 0.0)
        self.queue = EventQueue()
        self.runner = EndlessRunner()
        scenario = {"rates": False, "settings": settings}
        self.sandbox = Sandbox(scenario, clock=SkewedClock(ahead), runner=self.runner, emit=self.queue.put)
        self.ended: dict[str, float] = {}
        self._make(count, mixed=mixed)
        if limits:
            self.sandbox.change(rates=dict(DEFAULT_RATES))
        self.marked = 0
        # As many clients as the provider's trigger makes may connect at once.
        listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._server = Server(listener, Endpoint(self.sandbox, self.queue.around))
        self.url = f"http://127.0.0.1:{self._server.port}"
        self.sandbox.endpoint_url = self.url
        self._closing = threading.Event()
        for work in (self._server.serve_forever, self._keep_ticking):
            threading.Thread(target=work, daemon=True).start()

    def _make(self, count: int, *, mixed: bool) -> None:
        for job in (*warm_up_jobs(), *jobs(count, mixed=mixed)):
            self.sandbox.call(f"Create{job.kind.capitalize()}Job", job.request)
        self.sandbox.tick()
        self.queue.clear()

    def end(self, names: Iterable[str], rate: float = 0.0) -> None:
        """Let jobs complete, in a thread.

        Args:
            names: Which.
            rate: How many a second; 0 is all at once.
        """
        threading.Thread(target=self._end, args=(list(names), rate), daemon=True).start()

    def _end(self, names: list[str], rate: float) -> None:
        began = time.monotonic()
        for place, name in enumerate(names):
            if rate:
                time.sleep(max(0.0, began + place / rate - time.monotonic()))
            self.ended[name] = time.monotonic()
            self.runner.end(name)
            if rate:
                self.sandbox.tick()
        self.sandbox.tick()

    def forget(self, names: Iterable[str]) -> None:
        """Delete live jobs, as if they had never been."""
        held = self.sandbox.engine.account(DEFAULT_CALLER).jobs
        with self.sandbox.engine.locked():
            for name in names:
                for kind in JobKind:
                    held.pop((kind, name), None)

    def mark(self) -> None:
        """Count calls from now on."""
        self.marked = len(self.sandbox.engine.record)
        self.queue.calls.clear()

    def counts(self) -> dict[str, Any]:
        """Return the calls since the mark: by operation, those that were throttled, and those of the busiest second."""
        calls = [entry for entry in self.sandbox.engine.record.since(self.marked) if entry.what == "call"]
        errors = Counter(entry.data["error"] for entry in calls if entry.data["error"])
        return {
            "calls": Counter(entry.data["operation"] for entry in calls),
            "throttled": errors.pop("ThrottlingException", 0),
            "errors": errors,
            "busiest_second": max(Counter(int(entry.at) for entry in calls).values(), default=0),
            "queue_calls": dict(self.queue.calls),
        }

    def close(self) -> None:
        """Serve no more."""
        self._closing.set()
        self._server.shutdown()
        self._server.server_close()
        self.sandbox.close()

    def _keep_ticking(self) -> None:
        while not self._closing.wait(TICK_SECONDS):
            self.sandbox.tick()

    def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        """Do what a line of standard input says, and return the answer."""
        what = order.pop("do")
        if what in {"end", "forget", "mark"}:
            getattr(self, what)(**order)
            return {}
        if what == "change":
            self.sandbox.change(**order)
            return {}
        return {"counts": self.counts, "ended": lambda: self.ended}[what]()


def main() -> None:
    endpoint = JobsEndpoint(json.loads(sys.argv[1]))
    print(json.dumps({"url": endpoint.url}), flush=True)
    for line in sys.stdin:
        print(json.dumps(endpoint.obey(json.loads(line))), flush=True)
    endpoint.close()


if __name__ == "__main__":
    main()
