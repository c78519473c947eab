"""``sm-prefer events apply`` as a process, against the sandbox: once, twice, after a drift, and where it can't be."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.aws.event_queue import EventQueue
from airflow_sm_prefer.aws.events_apply import apply_events
from airflow_sm_prefer.aws.failures import CallFailed
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.integration.test_sandbox_wire import serve, wait_for
from tests.unit.sandbox.builders import training

SM_PREFER = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()")
QUEUES = ("triggerer-0", "triggerer-1")


class World:
    """The sandbox, and the command on it."""

    def __init__(self, server: SandboxServer) -> None:
        self.url = server.endpoint_url
        self.sqs, self.events = (aws.client(self.url, service) for service in ("sqs", "events"))

    def apply(self, *arguments: str, queues: tuple[str, ...] = QUEUES) -> subprocess.CompletedProcess[str]:
        options = [option for name in queues for option in ("--queue", name)]
        where = ("--region", "us-east-1", "--endpoint-url", self.url)
        return subprocess.run(
            [*SM_PREFER, "events", "apply", *options, *arguments, *where],
            env={**os.environ, "NO_COLOR": "1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def attributes(self, queue: str) -> dict[str, str]:
        url = self.sqs.get_queue_url(QueueName=queue)["QueueUrl"]
        found: dict[str, str] = self.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        return found


@pytest.fixture
def world() -> Iterator[World]:
    with serve() as server:
        yield World(server)


def lines(result: subprocess.CompletedProcess[str]) -> list[str]:
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


def test_it_makes_what_there_is_to_make_and_the_second_time_nothing(world: World) -> None:
    assert lines(world.apply()) == [
        "The rule sm-prefer-events was made.",
        "The queue triggerer-0 was made.",
        "The queue triggerer-1 was made.",
        "Set [sm_prefer] events_queue = triggerer-0 where its triggerer runs.",
        "Set [sm_prefer] events_queue = triggerer-1 where its triggerer runs.",
    ]
    rule = world.events.describe_rule(Name="sm-prefer-events")
    targets = world.events.list_targets_by_rule(Rule="sm-prefer-events")["Targets"]
    found = [world.attributes(name) for name in QUEUES]
    assert [target["Arn"] for target in targets] == [queue["QueueArn"] for queue in found]
    for queue in found:
        allow, _ = json.loads(queue["Policy"])["Statement"]
        assert allow["Condition"] == {"ArnEquals": {"aws:SourceArn": rule["Arn"]}}
        assert (queue["MessageRetentionPeriod"], queue["SqsManagedSseEnabled"]) == ("3600", "true")
    assert lines(world.apply())[:3] == [
        "The rule sm-prefer-events is as it should be.",
        "The queue triggerer-0 is as it should be.",
        "The queue triggerer-1 is as it should be.",
    ]
    assert world.events.list_targets_by_rule(Rule="sm-prefer-events")["Targets"] == targets


def test_it_puts_right_what_was_changed_by_hand(world: World) -> None:
    lines(world.apply())
    world.events.disable_rule(Name="sm-prefer-events")
    url = world.sqs.get_queue_url(QueueName="triggerer-1")["QueueUrl"]
    world.sqs.set_queue_attributes(QueueUrl=url, Attributes={"Policy": ""})
    assert lines(world.apply())[:3] == [
        "The rule sm-prefer-events was changed.",
        "The queue triggerer-0 is as it should be.",
        "The queue triggerer-1 was changed.",
    ]
    assert world.events.describe_rule(Name="sm-prefer-events")["State"] == "ENABLED"
    assert world.attributes("triggerer-1")["Policy"]


def test_without_names_there_is_one_queue_and_events_reach_it(world: World) -> None:
    assert "The queue sm-prefer-events was made." in lines(world.apply(queues=()))
    aws.client(world.url).create_training_job(**training("job-smp"))
    queue = EventQueue(world.sqs, "sm-prefer-events")
    wait_for(lambda: any(hint.is_over and hint.handle == "job-smp" for hint in queue.receive(1)), seconds=60)


def test_a_name_that_no_queue_can_have_is_told_in_awss_words(world: World) -> None:
    result = world.apply(queues=("not a name",))
    assert result.returncode == 2
    assert "CreateQueue" in result.stderr
    assert "Traceback" not in result.stderr


class Refusing:
    """EventBridge that takes a rule and refuses its targets, in an answer of status 200."""

    def __init__(self, events: Any) -> None:
        self._events = events

    def __getattr__(self, name: str) -> Any:
        return getattr(self._events, name)

    def put_targets(self, **_: Any) -> dict[str, Any]:
        entry = {"TargetId": "a", "ErrorCode": "ConcurrentModificationException", "ErrorMessage": "try again"}
        return {"FailedEntryCount": 1, "FailedEntries": [entry]}


def test_a_target_that_is_refused_is_a_failure(world: World) -> None:
    with pytest.raises(CallFailed, match="PutTargets: ConcurrentModificationException: a: try again"):
        list(apply_events(world.sqs, Refusing(world.events), "rule", ["a"]))
