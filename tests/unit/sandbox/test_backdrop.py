"""SQS behind the sandbox, with queues that are full."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from moto.sqs import models
from moto.sqs.models import SQSBackend

from airflow_sm_prefer.sandbox.backdrop import application


@pytest.fixture
def sqs() -> SQSBackend:
    application()
    backend = SQSBackend("us-east-1", "123456789012")
    backend.create_queue("jobs", {})
    return backend


def send(sqs: SQSBackend, count: int) -> None:
    for number in range(count):
        sqs.send_message("jobs", str(number))


def receive(sqs: SQSBackend, seconds: int = 30) -> list[Any]:
    return sqs.receive_message("jobs", 10, 0, seconds)


def looks_at_the_clock(sqs: SQSBackend) -> int:
    """Return how often the time is read to send one message and to receive it with nine others."""
    clock = mock.Mock(side_effect=models.unix_time_millis)
    with (
        mock.patch("moto.sqs.models.unix_time_millis", clock),
        mock.patch("airflow_sm_prefer.sandbox.backdrop.unix_time_millis", clock),
    ):
        send(sqs, 1)
        receive(sqs)
    return clock.call_count


def test_a_full_queue_costs_no_more_looks_at_the_clock_than_an_empty_one(sqs):
    send(sqs, 10)
    few = looks_at_the_clock(sqs)
    send(sqs, 300)
    assert looks_at_the_clock(sqs) <= few


def test_messages_are_counted_by_what_can_be_done_with_them(sqs):
    send(sqs, 12)
    sqs.send_message("jobs", "later", delay_seconds=600)
    receive(sqs)
    found = sqs.get_queue_attributes("jobs", ["All"])
    assert found["ApproximateNumberOfMessages"] == 2
    assert found["ApproximateNumberOfMessagesNotVisible"] == 10
    assert found["ApproximateNumberOfMessagesDelayed"] == 1


def test_a_message_comes_again_when_it_was_not_deleted_in_time(sqs):
    send(sqs, 1)
    assert [message.body for message in receive(sqs, 0)] == ["0"]
    (again,) = receive(sqs)
    assert receive(sqs) == []
    sqs.delete_message("jobs", again.receipt_handle)
    assert sqs.get_queue("jobs")._messages == []
