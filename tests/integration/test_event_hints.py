"""Hints from the events of jobs in the sandbox: by every kind of job, and when events are doubled, late or lost."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.event_queue import EventQueue, Hint
from airflow_sm_prefer.aws.events_apply import apply_events
from airflow_sm_prefer.sandbox import SandboxServer
from airflow_sm_prefer.triggers import event_source
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.event_source import is_healthy, listen, unlisten
from tests.integration import aws
from tests.integration.test_sandbox_wire import serve
from tests.unit.sandbox.batch.bench import submission
from tests.unit.sandbox.builders import processing, training

ONCE = {"double_events_every": 0}


class World:
    """A sandbox with the rule and a queue, and what has been heard of its jobs."""

    def __init__(self, server: SandboxServer, queue: str = "events") -> None:
        self.url = server.endpoint_url
        self.sagemaker, self.batch, self.sqs, events = (
            aws.client(self.url, service) for service in ("sagemaker", "batch", "sqs", "events")
        )
        list(apply_events(self.sqs, events, "events", [queue]))
        self.queue = EventQueue(self.sqs, queue)
        self.hints: list[Hint] = []

    def until(self, done: Callable[[], bool]) -> None:
        """Receive until it is so; each wait for an event ends with one, or after two seconds."""
        for _ in range(20):
            if done():
                return
            self.hints += self.queue.receive(2)
        pytest.fail(f"it never happened: {self.hints}")

    def of(self, handle: str) -> list[bool]:
        """Return whether a job was over, by each hint of it."""
        return [hint.is_over for hint in self.hints if hint.handle == handle]

    def ended(self, name: str = "job-smp") -> float:
        """Return when a training job ended."""
        instant: float = self.sagemaker.describe_training_job(TrainingJobName=name)["TrainingEndTime"].timestamp()
        return instant

    def left(self) -> int:
        """Return how many messages are left in the queue."""
        url = self.sqs.get_queue_url(QueueName="events")["QueueUrl"]
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        found = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"]
        return sum(map(int, found.values()))


def service_queue(batch: Any) -> None:
    """Make the queue ``fifo`` of AWS Batch."""
    batch.create_service_environment(
        serviceEnvironmentName="all",
        serviceEnvironmentType="SAGEMAKER_TRAINING",
        capacityLimits=[{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 4}],
    )
    batch.create_job_queue(
        jobQueueName="fifo",
        jobQueueType="SAGEMAKER_TRAINING",
        priority=1,
        serviceEnvironmentOrder=[{"order": 1, "serviceEnvironment": "all"}],
    )


def test_each_kind_of_job_is_told_by_its_handle_up_to_its_end() -> None:
    with serve({"settings": ONCE}) as server:
        world = World(server)
        service_queue(world.batch)
        world.sagemaker.create_training_job(**training("train-smp"))
        world.sagemaker.create_processing_job(**processing("prepare-smp"))
        arn = world.batch.submit_service_job(**submission("queued-smp", "fifo"))["jobArn"]
        world.until(lambda: all(True in world.of(handle) for handle in ("train-smp", "prepare-smp", arn)))
        assert world.of("train-smp") == [False, False, False, True]
        assert world.of("prepare-smp") == [False, True]
        assert not world.of(arn)[0]
        last = [hint for hint in world.hints if hint.handle == "train-smp"][-1]
        assert last.at == pytest.approx(world.ended("train-smp"), abs=0.002)
        stopped = world.batch.describe_service_job(jobId=arn)["stoppedAt"] / 1000
        assert [hint for hint in world.hints if hint.handle == arn][-1].at == pytest.approx(stopped, abs=0.002)


def test_what_was_received_is_out_of_the_queue() -> None:
    with serve({"settings": ONCE}) as server:
        world = World(server)
        world.sagemaker.create_training_job(**training("job-smp"))
        world.until(lambda: True in world.of("job-smp"))
        assert world.left() == 0
        assert world.queue.receive(0) == []


def test_doubled_events_are_doubled_hints() -> None:
    with serve({"settings": {"double_events_every": 1}}) as server:
        world = World(server)
        world.sagemaker.create_training_job(**training("job-smp"))
        world.until(lambda: world.of("job-smp").count(True) == 2)
        assert world.of("job-smp") == [False] * 6 + [True] * 2


def test_a_late_event_has_the_instant_of_what_it_tells() -> None:
    with serve({"settings": {**ONCE, "event_delay_seconds": 1}}) as server:
        world = World(server)
        world.sagemaker.create_training_job(**training("job-smp"))
        world.until(lambda: True in world.of("job-smp"))
        assert world.hints[-1].at == pytest.approx(world.ended(), abs=0.002)


def test_lost_events_leave_the_others() -> None:
    with serve({"settings": {**ONCE, "lose_events_every": 3}}) as server:
        world = World(server)
        world.sagemaker.create_training_job(**training("job-smp"))
        world.until(lambda: True in world.of("job-smp"))
        assert world.of("job-smp") == [False, False, True]


def test_messages_of_others_are_passed_over_and_taken_out() -> None:
    with serve({"settings": ONCE}) as server:
        world = World(server)
        url = world.sqs.get_queue_url(QueueName="events")["QueueUrl"]
        for body in ("junk", "[" * 5000, "{}", json.dumps({"source": "aws.sagemaker", "detail": "?"}), "x" * 250_000):
            world.sqs.send_message(QueueUrl=url, MessageBody=body)
        world.sagemaker.create_training_job(**training("job-smp"))
        world.until(lambda: True in world.of("job-smp"))
        assert {hint.handle for hint in world.hints} == {"job-smp"}
        assert world.left() == 0


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str, str], None]]:
    """Sets Airflow's connection and the queue's name."""

    def use(url: str, queue: str) -> None:
        connection = {
            "conn_type": "aws",
            "login": "test",
            "password": "test",
            "extra": {"region_name": "us-east-1", "endpoint_url": url},
        }
        monkeypatch.setenv("AIRFLOW_CONN_AWS_DEFAULT", json.dumps(connection))
        monkeypatch.setenv("AIRFLOW__SM_PREFER__EVENTS_QUEUE", queue)

    with mock.patch.object(event_source, "_sources", {}):
        yield use


async def _until(condition: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.01)


def test_whoever_listens_in_the_triggerer_hears_of_the_end(airflow) -> None:
    heard: list[Hint] = []

    async def watch(world: World) -> None:
        listen(Connection(), heard.append)
        world.sagemaker.create_training_job(**training("job-smp"))
        await _until(lambda: any(hint.is_over for hint in heard))
        assert is_healthy(Connection())
        unlisten(Connection(), heard.append)

    with serve({"settings": ONCE}) as server:
        host = socket.gethostname().replace(".", "-")
        world = World(server, f"sm-prefer-{host}")
        airflow(world.url, "sm-prefer-{hostname}")
        asyncio.run(watch(world))
    assert [hint.handle for hint in heard] == ["job-smp"] * 4


def test_a_queue_that_is_made_later_is_read_from_then_on(airflow, caplog) -> None:
    heard: list[Hint] = []

    async def watch(server: SandboxServer) -> None:
        listen(Connection(), heard.append)
        await _until(lambda: "make it with deploy/events.yaml" in caplog.text)
        assert not is_healthy(Connection())
        World(server, "later").sagemaker.create_training_job(**training("job-smp"))
        await _until(lambda: any(hint.is_over for hint in heard))
        unlisten(Connection(), heard.append)

    with serve({"settings": ONCE}) as server:
        airflow(server.endpoint_url, "later")
        asyncio.run(watch(server))
