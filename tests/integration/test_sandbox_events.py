"""EventBridge over the wire: rules and queues as a team has them, events as AWS sends them."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from typing import Any

import pytest

from airflow_sm_prefer.sandbox import SandboxControl, SandboxServer, Script
from tests.integration.test_sandbox_wire import client, serve, wait_for
from tests.unit.sandbox.builders import CPU, G5, P5, prefer, processing, single, training

TRAINING = "SageMaker Training Job State Change"
PROCESSING = "SageMaker Processing Job State Change"
ONCE = {"double_events_every": 0}
ENDS = {"Completed", "Failed", "Stopped"}


class Queue:
    """An SQS queue that is the target of a rule.

    Args:
        server: Whose.
        name: Of the queue and the rule.
        pattern: The rule's, besides the source.
    """

    def __init__(self, server: SandboxServer, name: str = "jobs", **pattern: Any) -> None:
        self._sqs, events = client(server, "sqs"), client(server, "events")
        self._url = self._sqs.create_queue(QueueName=name)["QueueUrl"]
        attributes = self._sqs.get_queue_attributes(QueueUrl=self._url, AttributeNames=["QueueArn"])["Attributes"]
        self.arn = attributes["QueueArn"]
        events.put_rule(Name=name, EventPattern=json.dumps({"source": ["aws.sagemaker"], **pattern}))
        events.put_targets(Rule=name, Targets=[{"Id": name, "Arn": self.arn}])
        self.events: list[dict[str, Any]] = []

    def until(self, done: Callable[[list[dict[str, Any]]], bool]) -> list[dict[str, Any]]:
        """Receive until the events so far are what is waited for."""
        wait_for(lambda: self._receive() or done(self.events))
        return self.events

    def until_end(self, *names: str) -> list[dict[str, Any]]:
        """Receive until each of these jobs has ended."""
        return self.until(lambda events: {name_of(event) for event in events if status_of(event) in ENDS} >= set(names))

    def _receive(self) -> None:
        for message in self._sqs.receive_message(QueueUrl=self._url, MaxNumberOfMessages=10).get("Messages", []):
            self.events.append(json.loads(message["Body"]))
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])


def name_of(event: dict[str, Any]) -> str:
    return event["detail"].get("TrainingJobName") or event["detail"]["ProcessingJobName"]


def status_of(event: dict[str, Any]) -> str:
    return event["detail"].get("TrainingJobStatus") or event["detail"]["ProcessingJobStatus"]


def secondaries(events: list[dict[str, Any]], name: str = "job") -> list[str]:
    return [event["detail"]["SecondaryStatus"] for event in events if name_of(event) == name]


def test_an_event_is_an_envelope_around_what_describe_shows():
    with serve({"settings": ONCE, "capacity": {P5: 0}}) as server:
        queue, sagemaker = Queue(server, **{"detail-type": [TRAINING]}), client(server)
        request = training(
            resources=prefer((P5, 1), (G5, 2)), HyperParameters={"a": "<id> <time>"}, Tags=[{"Key": "k", "Value": "v"}]
        )
        arn = sagemaker.create_training_job(**request)["TrainingJobArn"]
        last = queue.until_end("job")[-1]
        assert last["source"] == "aws.sagemaker"
        assert last["detail-type"] == TRAINING
        assert (last["account"], last["region"], last["resources"]) == ("123456789012", "us-east-1", [arn])
        assert last["id"]
        assert last["version"] == "0"
        detail, shown = last["detail"], sagemaker.describe_training_job(TrainingJobName="job")
        assert detail["ResourceConfig"] == shown["ResourceConfig"]
        assert detail["ResourceConfig"]["SelectedInstanceType"] == G5
        assert detail["ResourceConfig"]["SelectedInstanceCount"] == 2
        assert not {"InstanceType", "InstanceCount"} & detail["ResourceConfig"].keys()
        assert detail["Tags"] == {"k": "v"}
        for member in ("TrainingJobArn", "RoleArn", "HyperParameters", "AlgorithmSpecification", "StoppingCondition"):
            assert detail[member] == shown[member]


def test_instants_are_epoch_milliseconds_and_the_envelopes_a_time_of_day():
    with serve({"settings": ONCE}) as server:
        queue, sagemaker = Queue(server), client(server)
        sagemaker.create_training_job(**training())
        last = queue.until_end("job")[-1]
        detail, shown = last["detail"], sagemaker.describe_training_job(TrainingJobName="job")
        for member in ("CreationTime", "LastModifiedTime", "TrainingStartTime", "TrainingEndTime"):
            assert isinstance(detail[member], int)
            assert abs(detail[member] / 1000 - shown[member].timestamp()) < 0.002
        for transition in detail["SecondaryStatusTransitions"]:
            assert detail["CreationTime"] <= transition["StartTime"] <= transition["EndTime"]
        assert last["time"].endswith("Z")
        ended = dt.datetime.fromisoformat(last["time"])
        assert ended == shown["TrainingEndTime"].replace(microsecond=0)


def test_every_secondary_status_is_told_in_order_and_the_selection_has_no_event_of_its_own():
    with serve({"settings": ONCE, "capacity": {G5: 0}}) as server:
        queue, sagemaker = Queue(server), client(server)
        sagemaker.create_training_job(**training())
        queue.until(lambda events: secondaries(events)[-1:] == ["Pending"])
        assert "SelectedInstanceType" not in queue.events[-1]["detail"]["ResourceConfig"]
        SandboxControl(server.endpoint_url).set_capacity({G5: 1})
        events = queue.until_end("job")
        assert secondaries(events) == ["Starting", "Pending", "Starting", "Downloading", "Training", "Completed"]
        selected = ["SelectedInstanceType" in event["detail"]["ResourceConfig"] for event in events]
        assert selected == [False, False, True, True, True, True]


@pytest.mark.parametrize(
    ("script", "status", "reason"),
    [
        (Script.fails("AlgorithmError: , exit code: 1", seconds=0.1), "Failed", "AlgorithmError: , exit code: 1"),
        (Script(seconds=0.1), "Completed", None),
    ],
)
def test_a_failed_job_tells_why(script, status, reason):
    with serve({"settings": ONCE}, {"*": script}) as server:
        queue = Queue(server)
        client(server).create_training_job(**training())
        detail = queue.until_end("job")[-1]["detail"]
        assert (detail["TrainingJobStatus"], detail.get("FailureReason")) == (status, reason)


def test_a_stopped_job_is_told_as_stopping_and_stopped():
    with serve({"settings": ONCE}, seconds=60) as server:
        queue, sagemaker = Queue(server), client(server)
        sagemaker.create_training_job(**training())
        queue.until(lambda events: "Training" in secondaries(events))
        sagemaker.stop_training_job(TrainingJobName="job")
        assert secondaries(queue.until_end("job"))[-2:] == ["Stopping", "Stopped"]


def test_a_processing_job_has_events_of_its_own():
    with serve({"settings": ONCE}, {"bad": Script.fails("AlgorithmError: no", seconds=0.1)}) as server:
        queue, sagemaker = Queue(server), client(server)
        for name in ("good", "bad"):
            sagemaker.create_processing_job(**processing(name))
        events = queue.until_end("good", "bad")
        assert {event["detail-type"] for event in events} == {PROCESSING}
        by_name = {name: [status_of(event) for event in events if name_of(event) == name] for name in ("good", "bad")}
        assert by_name == {"good": ["InProgress", "Completed"], "bad": ["InProgress", "Failed"]}
        for event in events:
            detail = event["detail"]
            assert event["resources"] == [detail["ProcessingJobArn"]]
            assert isinstance(detail["CreationTime"], int)
            if status_of(event) in ENDS:
                assert detail["ProcessingResources"]["ClusterConfig"]["SelectedInstanceType"] == CPU
                assert isinstance(detail["ProcessingEndTime"], int)
            assert detail.get("FailureReason") == ("AlgorithmError: no" if status_of(event) == "Failed" else None)


def test_a_pattern_chooses_events():
    pattern = {"detail-type": [TRAINING], "detail": {"TrainingJobStatus": ["Completed", "Failed", "Stopped"]}}
    with serve({"settings": ONCE}) as server:
        ends, every, sagemaker = Queue(server, "ends", **pattern), Queue(server, "every"), client(server)
        sagemaker.create_processing_job(**processing("other"))
        sagemaker.create_training_job(**training())
        every.until_end("job", "other")
        assert [status_of(event) for event in ends.until_end("job")] == ["Completed"]


def test_one_rule_may_have_two_queues():
    with serve({"settings": ONCE}) as server:
        first, second = Queue(server, "first"), Queue(server, "second", source=["nobody"])
        client(server, "events").put_targets(Rule="first", Targets=[{"Id": "second", "Arn": second.arn}])
        client(server).create_training_job(**training())
        assert [event["time"] for event in first.until_end("job")] == [
            event["time"] for event in second.until_end("job")
        ]


def test_some_events_come_twice():
    with serve({"settings": {"double_events_every": 2}}) as server:
        queue = Queue(server)
        client(server).create_training_job(**training())
        events = queue.until(lambda found: len(found) == 6)
        assert secondaries(events) == ["Starting", *["Downloading"] * 2, "Training", *["Completed"] * 2]
        assert len({event["id"] for event in events}) == 6


def test_some_events_are_lost():
    with serve({"settings": {**ONCE, "lose_events_every": 3}}) as server:
        queue = Queue(server)
        client(server).create_training_job(**training())
        assert secondaries(queue.until_end("job")) == ["Starting", "Downloading", "Completed"]


def test_late_events_come_with_the_time_of_what_they_tell():
    with serve({"settings": {**ONCE, "event_delay_seconds": 2}}) as server:
        queue, sagemaker = Queue(server), client(server)
        sagemaker.create_training_job(**training())
        wait_for(lambda: sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "Completed")
        queue._receive()
        assert queue.events == []
        events = queue.until_end("job")
        assert secondaries(events) == ["Starting", "Downloading", "Training", "Completed"]
        ended = sagemaker.describe_training_job(TrainingJobName="job")["TrainingEndTime"]
        assert dt.datetime.fromisoformat(events[-1]["time"]) == ended.replace(microsecond=0)


def test_when_only_some_events_are_late_they_come_out_of_order():
    with serve({"settings": {**ONCE, "event_delay_seconds": 1, "late_events_every": 2}}) as server:
        queue = Queue(server)
        client(server).create_training_job(**training())
        events = queue.until(lambda found: len(found) == 4)
        assert secondaries(events) == ["Starting", "Training", "Downloading", "Completed"]


def test_without_a_rule_nothing_is_sent_and_nothing_is_missing():
    with serve() as server:
        sagemaker = client(server)
        sagemaker.create_training_job(**training())
        wait_for(lambda: sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "Completed")


def test_a_queue_that_is_gone_changes_nothing_about_a_job():
    with serve() as server:
        queue, sagemaker = Queue(server), client(server)
        client(server, "sqs").delete_queue(QueueUrl=queue._url)
        sagemaker.create_training_job(**training(resources=single(G5)))
        wait_for(lambda: sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "Completed")
