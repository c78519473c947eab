"""The watcher against the sandbox: what is heard of and when, whatever listings, events and rates are like."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.event_queue import EventQueue
from airflow_sm_prefer.aws.events_apply import apply_events
from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.events import Glimpsed, Seen, Unseen
from airflow_sm_prefer.sandbox import SandboxControl, SandboxServer, Script, ScriptedRunner
from airflow_sm_prefer.triggers import event_source
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.waits import Heard, Over
from airflow_sm_prefer.triggers.watch import watcher_for
from tests import virtual_time
from tests.unit.sandbox.builders import training
from tests.unit.triggers.builders import hear

from . import aws
from .harness import Airflow, airflow_and_sandbox, client

#: The tests' own creates aren't what is looked at.
RATES = {"CreateTrainingJob": "off", "DeleteTrainingJob": "off"}
NEVER = 1e12


class Watch:
    """Jobs that are watched in a sandbox, and what was heard of them: when it came, and what."""

    def __init__(self, airflow: Airflow) -> None:
        self.airflow, self.clock = airflow, airflow.clock
        self.began = self.clock.time()
        self.heard: dict[str, list[tuple[float, Heard]]] = {}

    async def listen(self, name: str, every: float = 30.0) -> None:
        self.heard[name] = []
        watcher = watcher_for(Connection(), JobKind.TRAINING, None, self.clock)
        wait = watcher.watch(name, self.clock.time(), NEVER, every)
        try:
            while True:
                heard = await hear(wait)
                self.heard[name].append((self.clock.time() - self.began, heard))
                if isinstance(heard, Over) or (isinstance(heard, Seen) and heard.observation.is_terminal):
                    return
                if isinstance(heard, Seen):
                    wait.goes_on(f"{heard.observation.status} ({heard.observation.secondary})", NEVER)
        finally:
            wait.close()

    def of(self, name: str, kind: type[Any]) -> list[float]:
        return [at for at, heard in self.heard[name] if isinstance(heard, kind)]

    def run(self, *names: str, seconds: float = 3600.0, meanwhile: Callable[[], Any] | None = None) -> None:
        """Watch until all is over, or so long; ``meanwhile`` is a coroutine function beside it."""

        async def main() -> None:
            beside = asyncio.ensure_future(meanwhile()) if meanwhile else None
            waits = [asyncio.ensure_future(self.listen(name)) for name in names]
            await asyncio.wait(waits, timeout=seconds)
            for each in waits:
                each.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
            if beside:
                await beside

        virtual_time.run(main(), self.clock, self.airflow.server.sandbox.advance)

    def told(self) -> Counter[str]:
        return Counter(call["operation"] for call in self.airflow.control.record("call"))

    def throttled(self) -> int:
        return sum(call["error"] == "ThrottlingException" for call in self.airflow.control.record("call"))


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Iterator[Airflow]:
    """A sandbox with AWS's rates, whose jobs run for two minutes unless their script says otherwise."""
    given = getattr(request, "param", {})
    runner = ScriptedRunner(given.get("scripts"), Script(seconds=120.0))
    scenario = {"rates": RATES, **given.get("scenario", {})}
    with (
        airflow_and_sandbox(scenario, runner=runner) as airflow,
        mock.patch("airflow_sm_prefer.triggers.watch._LOOKS", 6.0),
    ):
        yield airflow


def create(airflow: Airflow, *names: str) -> None:
    sagemaker = client(airflow)
    for name in names:
        sagemaker.create_training_job(**training(name))


@pytest.mark.parametrize(
    "sandbox",
    [{"scenario": {"settings": {"modified_filter": how}}} for how in ("after_paging", "before_paging")],
    indirect=True,
    ids=["after_paging", "before_paging"],
)
def test_all_ends_are_heard_of_in_time_and_within_the_rate_however_changes_are_filtered(sandbox: Airflow) -> None:
    names = [f"job-{number:03}" for number in range(150)]
    create(sandbox, *names)
    watch = Watch(sandbox)
    watch.run(*names)
    assert all(watch.of(name, Over) or watch.of(name, Seen) for name in names)
    last = max(at for name in names for at, _ in watch.heard[name])
    assert last < 250
    assert watch.throttled() == 0
    told = watch.told()
    assert told["ListTrainingJobs"] + told["DescribeTrainingJob"] <= 1.0 * last + 0.8 * 30 + 2


@pytest.mark.parametrize(
    "sandbox",
    [{"scenario": {"settings": {"list_delay_seconds": 20, "modified_filter": "before_paging"}}}],
    indirect=True,
)
def test_what_a_listing_shows_late_is_heard_of_late_and_not_lost(sandbox: Airflow) -> None:
    names = [f"job-{number:03}" for number in range(120)]
    create(sandbox, *names)
    watch = Watch(sandbox)
    watch.run(*names)
    assert all(watch.heard[name] for name in names)
    assert max(at for name in names for at, _ in watch.heard[name]) < 320


def test_a_job_that_is_deleted_while_it_is_watched_is_said_to_be_lost_and_the_others_go_on(sandbox: Airflow) -> None:
    create(sandbox, "gone", "stays")
    watch, sagemaker = Watch(sandbox), client(sandbox)

    async def delete() -> None:
        await asyncio.sleep(30)
        sagemaker.stop_training_job(TrainingJobName="gone")
        for _ in range(40):
            sandbox.server.sandbox.advance(5)
            if sagemaker.describe_training_job(TrainingJobName="gone")["TrainingJobStatus"] == "Stopped":
                break
        sagemaker.delete_training_job(TrainingJobName="gone")

    watch.run("gone", "stays", seconds=600, meanwhile=delete)
    (verdict,) = {heard.judgement.verdict for _, heard in watch.heard["gone"] if isinstance(heard, Unseen)}
    assert verdict == "lost"
    assert watch.of("gone", Glimpsed) == watch.of("gone", Over) == []
    assert watch.of("stays", Over)


@pytest.mark.parametrize("error", ["ExpiredTokenException", "AccessDeniedException"])
def test_credentials_that_end_mid_wait_are_said_tried_again_and_heard_of_when_they_are_back(
    sandbox: Airflow, error: str
) -> None:
    sandbox.server.sandbox.runner.default = Script(seconds=1500.0)
    create(sandbox, "job-1", "job-2")
    watch = Watch(sandbox)

    async def revoke() -> None:
        await asyncio.sleep(60)
        sandbox.control.change(call_faults=[{"operation": "*TrainingJob*", "error": error, "times": 10**6}])
        await asyncio.sleep(300)
        sandbox.control.clear_faults()

    watch.run("job-1", "job-2", meanwhile=revoke)
    for name in ("job-1", "job-2"):
        worries = watch.of(name, Unseen)
        assert worries[0] < 60 + 60
        assert all(earlier + 100 > later for earlier, later in itertools.pairwise(worries))
        well = [at for at, heard in watch.heard[name] if at > worries[-1]]
        assert well[0] < 360 + 95
        assert watch.heard[name][-1][0] < 1700


@pytest.mark.parametrize("error", ["drop", "ThrottlingException", "InternalFailure", "ServiceUnavailable"])
def test_calls_that_fail_now_and_then_delay_an_end_and_worry_nobody(sandbox: Airflow, error: str) -> None:
    create(sandbox, "job-1")
    sandbox.control.change(
        call_faults=[
            {"operation": operation, "error": error, "after": after, "times": 2}
            for operation in ("ListTrainingJobs", "DescribeTrainingJob")
            for after in (1, 8)
        ]
    )
    watch = Watch(sandbox)
    watch.run("job-1")
    assert watch.of("job-1", Over)[0] < 200
    assert len(watch.of("job-1", Unseen)) <= 4


def test_a_role_that_may_not_list_has_its_jobs_looked_at_one_by_one(sandbox: Airflow) -> None:
    names = [f"job-{number}" for number in range(10)]
    create(sandbox, *names)
    sandbox.control.change(
        call_faults=[{"operation": "ListTrainingJobs", "error": "AccessDeniedException", "times": 10**6}]
    )
    watch = Watch(sandbox)
    watch.run(*names)
    assert all(watch.of(name, Seen) for name in names)
    assert max(watch.of(name, Seen)[-1] for name in names) < 220
    assert watch.throttled() == 0


# -- with events, in real time: SQS is polled in a thread that knows nothing of a fake clock -----------------


class Triggerer:
    """An event loop in a thread, with an SQS queue and a connection of its own, as a process would have them."""

    def __init__(self, name: str, jobs: list[str]) -> None:
        self.connection, self.jobs = Connection(aws_conn_id=name), jobs
        self.heard: dict[str, float] = {}
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()

    async def _main(self) -> None:
        await asyncio.wait([asyncio.ensure_future(self._wait(job)) for job in self.jobs], timeout=120)

    async def _wait(self, job: str) -> None:
        watcher = watcher_for(self.connection, JobKind.TRAINING, None, SystemClock())
        wait = watcher.watch(job, time.time(), NEVER, 3600.0)
        wait.status = "InProgress (Training)"
        try:
            while not isinstance(heard := await hear(wait), Over):
                if isinstance(heard, Seen) and heard.observation.is_terminal:
                    break
            self.heard[job] = time.time()
        finally:
            wait.close()

    def join(self) -> None:
        self._thread.join(150)


def of_triggerers(url: str, names: list[str]) -> dict[str, str]:
    extra = {"region_name": "us-east-1", "endpoint_url": url}
    connection = json.dumps({"conn_type": "aws", "login": "test", "password": "test", "extra": extra})
    return {
        "AIRFLOW__SM_PREFER__TRIGGERERS": str(len(names)),
        **{f"AIRFLOW_CONN_{name.upper()}": connection for name in names},
    }


@contextmanager
def watched_by(
    names: list[str], settings: dict[str, Any], jobs: int
) -> Iterator[tuple[list[Triggerer], SandboxServer]]:
    """Have triggerers watch jobs that end a little later, each with an equal share of them."""
    scenario = {"rates": RATES, "settings": {"double_events_every": 0, **settings}}
    with SandboxServer(scenario, runner=ScriptedRunner(None, Script(seconds=6.0))) as server:
        url = server.endpoint_url
        sagemaker, sqs, events = (aws.client(url, service) for service in ("sagemaker", "sqs", "events"))
        list(apply_events(sqs, events, "events", [f"events-{name}" for name in names]))
        for number in range(jobs):
            sagemaker.create_training_job(**training(f"job-smp-{number}"))
        queues = {name: EventQueue(sqs, f"events-{name}") for name in names}
        shares = [[f"job-smp-{number}" for number in range(n, jobs, len(names))] for n in range(len(names))]
        with (
            mock.patch.dict("os.environ", of_triggerers(url, names)),
            mock.patch.object(event_source, "_sources", {}),
            mock.patch.object(event_source, "_open", lambda connection: queues[connection.aws_conn_id]),
            mock.patch("airflow_sm_prefer.aws.pacing._shared", {}),
            mock.patch("airflow_sm_prefer.triggers.connection._jobs", {}),
        ):
            watching = [Triggerer(name, share) for name, share in zip(names, shares, strict=True)]
            for each in watching:
                each.join()
        yield watching, server


@pytest.mark.parametrize(
    "settings",
    [{}, {"double_events_every": 1}, {"event_delay_seconds": 2, "late_events_every": 2}],
    ids=["plain", "doubled", "late"],
)
def test_an_event_has_an_end_heard_of_long_before_the_next_look(settings: dict[str, Any]) -> None:
    with watched_by(["one"], settings, 3) as ((one,), server):
        ends = {job["TrainingJobName"]: job["TrainingEndTime"].timestamp() for job in summaries(server)}
    assert set(one.heard) == set(ends)
    assert all(one.heard[job] - ends[job] < 25 for job in ends), "a look of its own would have come after ten minutes"


def test_two_triggerers_with_half_the_rate_and_a_queue_each_hear_of_their_jobs_and_keep_below_the_limits() -> None:
    began = time.time()
    with watched_by(["one", "two"], {}, 16) as ((one, two), server):
        passed = time.time() - began
        assert (len(one.heard), len(two.heard)) == (8, 8)
        assert not set(one.heard) & set(two.heard)
        record = SandboxControl(server.endpoint_url).record("call")
        looks = [call for call in record if call["operation"] in {"ListTrainingJobs", "DescribeTrainingJob"}]
    assert not [call for call in record if call["error"] == "ThrottlingException"]
    assert len(looks) <= 1.0 * passed + 4


def summaries(server: SandboxServer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = aws.client(server.endpoint_url).list_training_jobs()["TrainingJobSummaries"]
    return found
