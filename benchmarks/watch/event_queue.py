"""An SQS queue with the events of a sandbox: what a rule of EventBridge's would send there.

The sandbox's own is moto's, which takes most of a second to hand out ten messages.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox.backdrop import Application

NAME = "events"
_TARGET = "AmazonSQS."


@dataclass
class Message:
    """One message; it can be received again when it has been invisible for long enough."""

    body: str
    sent: float
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))


class EventQueue:
    """One queue, of whatever name it is called by.

    Args:
        invisible_seconds: How long a received message is hidden from other receivers.
    """

    def __init__(self, invisible_seconds: float = 30.0) -> None:
        self._invisible_seconds = invisible_seconds
        self._waiting: deque[Message] = deque()
        self._received: dict[str, tuple[float, Message]] = {}
        self._changed = threading.Condition()
        self.calls: dict[str, int] = {}

    def put(self, account: str, region: str, entry: dict[str, Any]) -> None:
        """Take an entry of PutEvents and queue the event that a rule's target is sent for it."""
        event = {
            "version": "0",
            "id": str(uuid.uuid4()),
            "detail-type": entry["DetailType"],
            "source": entry["Source"],
            "account": account,
            "time": datetime.fromtimestamp(entry["Time"], UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "region": region,
            "resources": entry["Resources"],
            "detail": json.loads(entry["Detail"]),
        }
        with self._changed:
            self._waiting.append(Message(json.dumps(event), time.time()))
            self._changed.notify_all()

    def clear(self) -> None:
        """Forget all messages."""
        with self._changed:
            self._waiting.clear()

    def around(self, others: Application) -> Application:
        """Return an application that answers calls of SQS, and leaves all else to another one."""

        def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            target = environ.get("HTTP_X_AMZ_TARGET", "")
            if not target.startswith(_TARGET):
                return others(environ, start_response)
            request = Request(environ)
            answered = self.call(target.removeprefix(_TARGET), json.loads(request.get_data()), request.host_url)
            response = Response(json.dumps(answered), content_type="application/x-amz-json-1.0")
            return response(environ, start_response)

        return answer

    def call(self, operation: str, asked: dict[str, Any], host: str = "http://127.0.0.1/") -> dict[str, Any]:
        """Answer one call."""
        self.calls[operation] = self.calls.get(operation, 0) + 1
        if operation == "GetQueueUrl":
            return {"QueueUrl": f"{host}123456789012/{asked['QueueName']}"}
        if operation == "DeleteMessageBatch":
            return self._delete(asked["Entries"])
        if operation == "ReceiveMessage":
            messages = self._receive(asked.get("MaxNumberOfMessages", 1), asked.get("WaitTimeSeconds", 0))
            return {"Messages": [_shown(message) for message in messages]} if messages else {}
        raise NotImplementedError(operation)

    def _receive(self, most: int, wait: float) -> list[Message]:
        with self._changed:
            self._changed.wait_for(self._is_any_visible, wait)
            messages = [self._waiting.popleft() for _ in range(min(most, len(self._waiting)))]
            again = time.monotonic() + self._invisible_seconds
            self._received.update((message.identity, (again, message)) for message in messages)
        return messages

    def _is_any_visible(self) -> bool:
        now = time.monotonic()
        for identity, (again, message) in list(self._received.items()):
            if again > now:
                break
            del self._received[identity]
            self._waiting.append(message)
        return bool(self._waiting)

    def _delete(self, entries: list[dict[str, Any]]) -> dict[str, Any]:
        with self._changed:
            for entry in entries:
                self._received.pop(entry["ReceiptHandle"], None)
        return {"Successful": [{"Id": entry["Id"]} for entry in entries], "Failed": []}


def _shown(message: Message) -> dict[str, Any]:
    return {
        "MessageId": message.identity,
        "ReceiptHandle": message.identity,
        "MD5OfBody": hashlib.md5(message.body.encode(), usedforsecurity=False).hexdigest(),
        "Body": message.body,
    }
