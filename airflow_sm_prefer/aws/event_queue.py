"""Events about jobs, from an SQS queue that an EventBridge rule fills."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Final

from airflow_sm_prefer.aws.calls import call
from airflow_sm_prefer.aws.failures import CallFailed
from airflow_sm_prefer.model.job_events import Hint, read_hint

__all__ = ["EventQueue", "Hint"]

log = logging.getLogger(__name__)

#: What SQS allows: seconds of one long poll, and messages in one answer
#: (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_ReceiveMessage.html).
LONGEST_POLL: Final = 20
MOST_MESSAGES: Final = 10

#: Seconds that a long poll ends before the client would take the connection for dead.
_MARGIN: Final = 5


class EventQueue:
    """Reads a queue of events, and empties it. Blocks; for one thread at a time."""

    def __init__(self, client: Any, queue: str) -> None:
        """Take the client and the queue.

        Args:
            client: A boto3 ``sqs`` client.
            queue: The queue's name, in the client's account and Region, or its URL.
        """
        self._client = client
        self._queue = queue
        self._url = queue if "://" in queue else None
        self._said: set[str] = set()

    def receive(self, wait: float) -> list[Hint]:
        """Return what there is to read, ten events at most, and take it out of the queue.

        An event that can't be taken out comes again, which is told in the log once and harms nothing.

        Args:
            wait: How long to wait for an event if there is none, in seconds; 20 at most, and less if the client's
                own timeout is shorter.

        Raises:
            CallFailed: there is no such queue, AWS refused to read it, or didn't answer.
        """
        messages = self._messages(wait)
        hints = [(message, read_hint(message.get("Body", ""))) for message in messages]
        self._delete(messages)
        strange = [message for message, hint in hints if hint is None]
        if strange:
            self._say_once(
                "%s has messages that are no events about jobs, such as %s. They are passed over, and deleted like"
                " the others: have the rule send what deploy/events.yaml names.",
                strange[0].get("MessageId", "one without an id"),
            )
        return [hint for _, hint in hints if hint is not None]

    def _messages(self, wait: float) -> list[dict[str, Any]]:
        if self._url is None:
            self._url = call(self._client.get_queue_url, QueueName=self._queue)["QueueUrl"]
        answer = call(
            self._client.receive_message,
            QueueUrl=self._url,
            MaxNumberOfMessages=MOST_MESSAGES,
            WaitTimeSeconds=self._poll(wait),
        )
        messages: list[dict[str, Any]] = answer.get("Messages") or []
        return messages

    def _poll(self, wait: float) -> int:
        """Return how long SQS is to wait, in whole seconds; one at least if it is to wait at all."""
        timeout = self._client.meta.config.read_timeout
        most = LONGEST_POLL if timeout is None else min(LONGEST_POLL, max(1, timeout - _MARGIN))
        return max(0, int(min(wait, most)))

    def _delete(self, messages: Sequence[dict[str, Any]]) -> None:
        if not messages:
            return
        entries = [
            {"Id": str(place), "ReceiptHandle": message["ReceiptHandle"]} for place, message in enumerate(messages)
        ]
        try:
            refused = call(self._client.delete_message_batch, QueueUrl=self._url, Entries=entries).get("Failed")
        except CallFailed as failed:
            self._say_once("Events in %s come again and again, since they can't be deleted: %s", failed)
        else:
            if refused:
                self._say_once("Events in %s come again, since they can't be deleted: %s", refused[0].get("Message"))

    def _say_once(self, text: str, *details: object) -> None:
        if text not in self._said:
            self._said.add(text)
            log.warning(text, self._queue, *details)
