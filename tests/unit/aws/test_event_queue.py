"""A queue of events: what is asked of SQS, and what comes of the answers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.config import Config
from botocore.stub import Stubber

from airflow_sm_prefer.aws.event_queue import EventQueue, Hint
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind

URL = "https://sqs.us-west-2.amazonaws.com/123456789012/events"
RECEIVE = {"QueueUrl": URL, "MaxNumberOfMessages": 10, "WaitTimeSeconds": 20}
JUNK = "certainly no event"


def sqs(**config: Any) -> Stubber:
    client = boto3.client(
        "sqs",
        region_name="us-west-2",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 1}, **config),
    )
    return Stubber(client)


@pytest.fixture
def stub() -> Iterator[Stubber]:
    """Answers what it was told to, in order, and all of it is asked for."""
    with sqs() as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def ended(name: str) -> str:
    detail = {"TrainingJobName": name, "TrainingJobStatus": "Completed"}
    return json.dumps(
        {"source": "aws.sagemaker", "detail-type": "SageMaker Training Job State Change", "detail": detail}
    )


def messages(*bodies: str) -> dict[str, Any]:
    """Return an answer of ReceiveMessage."""
    numbered = enumerate(bodies)
    return {"Messages": [{"MessageId": f"m{n}", "ReceiptHandle": f"r{n}", "Body": body} for n, body in numbered]}


def deletion(count: int) -> dict[str, Any]:
    """Return the request that takes as many messages out."""
    return {"QueueUrl": URL, "Entries": [{"Id": str(n), "ReceiptHandle": f"r{n}"} for n in range(count)]}


def test_what_was_received_is_read_and_deleted_in_one_call(stub):
    stub.add_response("receive_message", messages(ended("a"), ended("b")), RECEIVE)
    stub.add_response("delete_message_batch", {"Successful": [], "Failed": []}, deletion(2))
    assert EventQueue(stub.client, URL).receive(20) == [Hint("a", True, None), Hint("b", True, None)]


def test_an_empty_queue_costs_one_call(stub):
    stub.add_response("receive_message", {}, RECEIVE)
    assert EventQueue(stub.client, URL).receive(60) == []


def test_a_name_is_looked_up_once(stub):
    stub.add_response("get_queue_url", {"QueueUrl": URL}, {"QueueName": "events"})
    stub.add_response("receive_message", {}, RECEIVE)
    stub.add_response("receive_message", {}, RECEIVE)
    queue = EventQueue(stub.client, "events")
    assert queue.receive(20) == queue.receive(20) == []


@pytest.mark.parametrize(
    ("timeout", "wait", "poll"), [(60, 7.9, 7), (30, 20, 20), (15, 20, 10), (3, 20, 1), (60, 0, 0), (60, -1, 0)]
)
def test_a_poll_ends_before_the_client_gives_up_and_is_never_a_storm_of_calls(timeout, wait, poll):
    with sqs(read_timeout=timeout) as stub:
        stub.add_response("receive_message", {}, RECEIVE | {"WaitTimeSeconds": poll})
        assert EventQueue(stub.client, URL).receive(wait) == []


def test_what_is_no_event_is_deleted_too_and_said_once(stub, caplog):
    for _ in range(2):
        stub.add_response("receive_message", messages(JUNK, ended("a"), "{}"), RECEIVE)
        stub.add_response("delete_message_batch", {"Successful": [], "Failed": []}, deletion(3))
    queue = EventQueue(stub.client, URL)
    assert queue.receive(20) == queue.receive(20) == [Hint("a", True, None)]
    (said,) = [record.getMessage() for record in caplog.records]
    assert URL in said
    assert "m0" in said
    assert JUNK not in said


def test_what_can_not_be_deleted_is_returned_all_the_same_and_said_once(stub, caplog):
    for _ in range(2):
        stub.add_response("receive_message", messages(ended("a")), RECEIVE)
        stub.add_client_error("delete_message_batch", "AccessDenied", "not allowed", 403)
    queue = EventQueue(stub.client, URL)
    assert queue.receive(20) == queue.receive(20) == [Hint("a", True, None)]
    (said,) = [record.getMessage() for record in caplog.records]
    assert "DeleteMessageBatch: AccessDenied: not allowed" in said


def test_a_message_whose_deletion_alone_is_refused_is_said(stub, caplog):
    refused = {"Id": "0", "SenderFault": True, "Code": "ReceiptHandleIsInvalid", "Message": "too old"}
    stub.add_response("receive_message", messages(ended("a")), RECEIVE)
    stub.add_response("delete_message_batch", {"Successful": [], "Failed": [refused]}, deletion(1))
    assert EventQueue(stub.client, URL).receive(20) == [Hint("a", True, None)]
    assert "too old" in caplog.text


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("AWS.SimpleQueueService.NonExistentQueue", 400, FailureKind.NOT_FOUND),
        ("QueueDoesNotExist", 400, FailureKind.NOT_FOUND),
        ("AccessDenied", 403, FailureKind.DENIED),
        ("ExpiredToken", 403, FailureKind.CREDENTIALS),
        ("RequestThrottled", 403, FailureKind.THROTTLED),
        ("ServiceUnavailable", 503, FailureKind.SERVER),
    ],
)
@pytest.mark.parametrize("operation", ["get_queue_url", "receive_message"])
def test_a_failure_is_told_by_its_kind(stub, operation, code, status, kind):
    if operation == "receive_message":
        stub.add_response("get_queue_url", {"QueueUrl": URL}, {"QueueName": "events"})
    stub.add_client_error(operation, code, "no", status)
    with pytest.raises(CallFailed) as caught:
        EventQueue(stub.client, "events").receive(20)
    assert caught.value.failure.kind is kind


def test_a_name_that_was_not_found_is_looked_up_again(stub):
    stub.add_client_error("get_queue_url", "QueueDoesNotExist", "no", 400)
    stub.add_response("get_queue_url", {"QueueUrl": URL}, {"QueueName": "events"})
    stub.add_response("receive_message", {}, RECEIVE)
    queue = EventQueue(stub.client, "events")
    with pytest.raises(CallFailed):
        queue.receive(20)
    assert queue.receive(20) == []
