"""One measurement: an endpoint, a process that waits for its jobs, and what was seen of both."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.watch.event_queue import NAME
from benchmarks.watch.jobs import DEPLOYMENT, REGION, jobs
from benchmarks.watch.meters import Lags, percentile

RATE = 20.0
LIST_ROWS, LIST_RATE = 100, 2.0


@dataclass(frozen=True)
class Plan:
    """What is measured.

    Attributes:
        side: Whose triggers: ``ours`` or ``theirs``.
        jobs: How many wait.
        events: Whether there is a queue with events.
        indexed: Whether a List applies LastModifiedTimeAfter and NameContains before it cuts its pages.
        mixed: Whether every other job is a processing job.
        seconds: How long all of them wait before the first ends.
        ending_seconds: How long jobs end at 20 a second; half of them stay at least.
        settings: More of the endpoint's options.
        profile: Where the waiting process leaves what took its time, if anywhere.
    """

    side: str
    jobs: int
    events: bool = False
    indexed: bool = False
    mixed: bool = False
    seconds: float = 150.0
    ending_seconds: float = 30.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    profile: str | None = None

    @property
    def title(self) -> str:
        """How it is called in tables."""
        if self.side == "theirs":
            return "provider"
        how = "indexed" if self.indexed else "unindexed"
        return f"ours, {'events' if self.events else how}"

    @property
    def forced_seconds(self) -> float:
        """How long List calls at SageMaker's limit take for all jobs, where they can't be asked for changes only."""
        lists = 2 if self.mixed else 1
        return self.jobs / lists / LIST_ROWS / LIST_RATE

    @property
    def ending_at_rate(self) -> int:
        return int(min(self.jobs / 2, RATE * self.ending_seconds))


class Worker:
    """A process that does what it is told, line by line."""

    def __init__(self, module: str, options: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> None:
        with log.open("w") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", f"benchmarks.watch.{module}", json.dumps(options)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                env=environment,
                text=True,
            )
        self._log = log

    def hear(self) -> dict[str, Any]:
        """Return the next line that it says."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._log.name} has ended: {self._log.read_text()[-2000:]}")
        return json.loads(line)

    def tell(self, order: str) -> dict[str, Any]:
        """Tell it something and return the answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{order}\n")
        self._process.stdin.flush()
        return self.hear()

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextmanager
def working(module: str, options: Mapping[str, Any], environment: Mapping[str, str], log: Path) -> Iterator[Worker]:
    worker = Worker(module, options, environment, log)
    try:
        yield worker
    finally:
        worker.close()


def measure(plan: Plan, machine: Lags, logs: Path | None = None) -> dict[str, Any]:
    """Measure, and return what was seen, as JSON has it.

    Args:
        plan: What.
        machine: What beats in this process meanwhile.
        logs: A folder for what the waiting process has said.
    """
    with tempfile.TemporaryDirectory(prefix="sm-prefer-bench-") as name:
        home = Path(name)
        modified = "before_paging" if plan.indexed else "after_paging"
        options = {"jobs": plan.jobs, "mixed": plan.mixed, "modified_filter": modified, **plan.settings}
        with working("endpoint", options, _environment(home), home / "endpoint.log") as endpoint:
            url = endpoint.hear()["url"]
            own = {"side": plan.side, "jobs": plan.jobs, "mixed": plan.mixed, "profile": plan.profile}
            with working("waiting", own, _environment(home, url, events=plan.events), home / "waiting.log") as waiting:
                seen = _Measuring(plan, endpoint, waiting, machine).run()
        with (home / "waiting.log").open() as log:
            lines = sum(1 for _ in log)
        if logs is not None:
            logs.mkdir(parents=True, exist_ok=True)
            shutil.copy(home / "waiting.log", logs / f"{plan.side}-{plan.jobs}.log")
        own = {"title": plan.title, "forced_seconds": plan.forced_seconds, "log_lines": lines}
        return {"plan": asdict(plan), **own, **seen}


def _environment(home: Path, url: str = "", *, events: bool = False) -> dict[str, str]:
    """Return the environment: nobody's settings but ours, and the endpoint for AWS."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AIRFLOW_", "AWS_", "BOTO_"))}
    extra = {"region_name": REGION, "endpoint_url": url}
    connection = {"conn_type": "aws", "login": "key", "password": "secret", "extra": extra}
    return kept | {
        "AIRFLOW_HOME": str(home / "airflow"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__SM_PREFER__DEPLOYMENT": DEPLOYMENT,
        "AIRFLOW__SM_PREFER__EVENTS_QUEUE": NAME if events else "",
        "AIRFLOW_CONN_AWS_DEFAULT": json.dumps(connection),
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }


class _Measuring:
    def __init__(self, plan: Plan, endpoint: Worker, waiting: Worker, machine: Lags) -> None:
        self._plan, self._endpoint, self._waiting, self._machine = plan, endpoint, waiting, machine
        names = [job.name for job in jobs(plan.jobs, mixed=plan.mixed)]
        random.Random(1).shuffle(names)
        self._some, self._rest = names[: plan.ending_at_rate], names[plan.ending_at_rate :]

    def run(self) -> dict[str, Any]:
        self._order("end", names=self._waiting.hear()["warm"])
        self._waiting.hear()
        self._order("mark")
        self._machine.take()
        began = self._waiting.tell("start")["seconds"]
        time.sleep(max(0.0, self._plan.seconds - began))
        seen = {"start_seconds": began, "wait": self._seen()}
        for phase, names, rate in (("ending", self._some, RATE), ("ending_at_once", self._rest, 0.0)):
            self._order("mark")
            self._order("end", names=names, rate=rate)
            self._await(len(names), len(names) / rate if rate else 0.0)
            seen[phase] = {**self._seen(), **self._latency(names)}
        return seen

    def _order(self, what: str, **details: Any) -> dict[str, Any]:
        return self._endpoint.tell(json.dumps({"do": what, **details}))

    def _seen(self) -> dict[str, Any]:
        """Return the endpoint's counts since the mark, and the waiting process's meters."""
        counts = self._order("counts")
        return {**self._waiting.tell("measure"), **counts, "machine_stall": self._machine.take()}

    def _await(self, more: int, seconds: float) -> None:
        """Wait until so many more waits are over, or for a good deal longer than that should take."""
        if not hasattr(self, "_over"):
            self._over = 0
        self._over += more
        patience = time.monotonic() + seconds + max(100.0, 3 * self._plan.forced_seconds)
        while self._waiting.tell("count")["over"] < self._over and time.monotonic() < patience:
            time.sleep(1.0)

    def _latency(self, names: list[str]) -> dict[str, Any]:
        """Return how long after jobs' ends their events came, in seconds, and how many didn't come."""
        ended, found = self._order("ended"), self._waiting.tell("events")
        late = [found["events"][name] - ended[name] for name in names if name in found["events"]]
        shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
        return {
            "ended": len(names),
            "missing": len(names) - len(late),
            "errors": sorted(set(found["errors"].values()))[:3],
            "latency_seconds": {name: percentile(late, share) for name, share in shares.items()},
        }
