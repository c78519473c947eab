"""The queue of events: what SQS's clients see of it."""

import json

import boto3
import pytest

from airflow_sm_prefer.sandbox import Sandbox, SandboxServer
from benchmarks.watch.event_queue import EventQueue
from benchmarks.watch.jobs import jobs

ENTRY = {
    "Source": "aws.sagemaker",
    "DetailType": "SageMaker Training Job State Change",
    "Resources": ["arn:aws:sagemaker:us-east-1:123456789012:training-job/one"],
    "Time": 1_800_000_000.0,
    "Detail": json.dumps({"TrainingJobName": "one"}),
}


def queue_of(count: int, invisible_seconds: float = 30.0) -> EventQueue:
    queue = EventQueue(invisible_seconds)
    for _ in range(count):
        queue.put("123456789012", "us-east-1", ENTRY)
    return queue


def received(queue: EventQueue, most: int = 10) -> list[dict[str, str]]:
    return queue.call("ReceiveMessage", {"MaxNumberOfMessages": most, "WaitTimeSeconds": 0}).get("Messages", [])


def test_a_message_is_an_event_as_eventbridge_sends_it():
    (message,) = received(queue_of(1))
    event = json.loads(message["Body"])
    assert event.pop("id")
    assert event == {
        "version": "0",
        "detail-type": "SageMaker Training Job State Change",
        "source": "aws.sagemaker",
        "account": "123456789012",
        "time": "2027-01-15T08:00:00Z",
        "region": "us-east-1",
        "resources": ENTRY["Resources"],
        "detail": {"TrainingJobName": "one"},
    }


def test_no_more_are_handed_out_than_asked_for_and_none_twice():
    queue = queue_of(12)
    assert [len(received(queue)) for _ in range(3)] == [10, 2, 0]


def test_a_message_that_isnt_deleted_comes_again():
    queue = queue_of(2, invisible_seconds=0.0)
    (message,) = received(queue, most=1)
    queue.call("DeleteMessageBatch", {"Entries": [{"Id": "0", "ReceiptHandle": message["ReceiptHandle"]}]})
    (other,) = received(queue)
    assert other["MessageId"] != message["MessageId"]
    assert [again["MessageId"] for again in received(queue)] == [other["MessageId"]]


def test_what_it_lacks_is_said():
    with pytest.raises(NotImplementedError, match="SendMessage"):
        EventQueue().call("SendMessage", {})


def test_an_event_is_what_a_rule_of_the_sandbox_sends():
    (job,) = jobs(1)
    queue = EventQueue()
    with Sandbox({"rates": False}, emit=queue.put) as sandbox:
        sandbox.call("CreateTrainingJob", job.request)
        sandbox.tick()
    with SandboxServer({"rates": False}) as server:
        sqs = in_queue(server.endpoint_url)
        server.sandbox.call("CreateTrainingJob", job.request)
        url = sqs.get_queue_url(QueueName="events")["QueueUrl"]
        (theirs, *_) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
    ours, theirs = (json.loads(message["Body"]) for message in (received(queue)[0], theirs))
    assert {key: type(value) for key, value in ours.items()} == {key: type(value) for key, value in theirs.items()}
    assert ours["detail"]["TrainingJobArn"] == theirs["detail"]["TrainingJobArn"]
    assert ours["resources"] == theirs["resources"]


def in_queue(url: str):
    """Have a sandbox's events sent to a queue of its own, and return a client for that."""
    keys = {"region_name": "us-east-1", "aws_access_key_id": "key", "aws_secret_access_key": "secret"}
    sqs, events = (boto3.client(service, endpoint_url=url, **keys) for service in ("sqs", "events"))
    url = sqs.create_queue(QueueName="events")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    events.put_rule(Name="jobs", EventPattern=json.dumps({"source": ["aws.sagemaker"]}))
    events.put_targets(Rule="jobs", Targets=[{"Id": "1", "Arn": arn}])
    return sqs
