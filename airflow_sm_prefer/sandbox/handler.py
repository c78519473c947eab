"""One connection of a client: the sandbox's own operations at once, everything else by WSGI.

Werkzeug's server reads a request in a dozen steps and closes the connection after each answer. A call of an operation
of ours is small and plain, so it is looked at while the system still holds it, answered, and the connection is kept. A
request that is unusual in any way is left there for werkzeug.
"""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, cast

from werkzeug.serving import ThreadedWSGIServer

from airflow_sm_prefer.sandbox import backdrop
from airflow_sm_prefer.sandbox.api_errors import DroppedConnection
from airflow_sm_prefer.sandbox.protocol import Answer

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

MOST_BYTES = 65_536
"""How long a request may be; a longer one goes the usual way."""

_START = re.compile(rb"POST (/|/v1/[a-z]+) HTTP/1\.1\r\n")
"""Of an operation that a header names, or one that the path names, as AWS Batch's do."""

_END = b"\r\n\r\n"
_FIELDS = re.compile(r"^([A-Za-z0-9-]+):[ \t]*([^\r\n]*?)[ \t]*\r\n", re.MULTILINE)
_LENGTH = re.compile("[0-9]{1,9}")
_UNUSUAL = frozenset({"Expect", "Transfer-Encoding", "Upgrade"})
"""Headers that ask something of the connection."""


class Answerer(Protocol):
    """What knows the answers: the WSGI application of the server."""

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> Answer | None:
        """Answer a call of the sandbox's own; None is for all else.

        Raises:
            DroppedConnection: the connection is to be closed without an answer.
        """


@dataclass(frozen=True, slots=True)
class Head:
    """What comes before the body of a plain request.

    Attributes:
        path: What it asks for.
        headers: With their names in title case.
        size: How long it is, in bytes.
        total: How long the request is, the body included.
    """

    path: str
    headers: Mapping[str, str]
    size: int
    total: int


def plain_head(received: bytes) -> Head | None:
    """Return the head of a request that is plain, or None.

    Plain is a POST of a plain path with a length, whose headers each stand on one line, once, and are no wish about the
    connection but to keep it.

    Args:
        received: The first bytes of the request.
    """
    head, end, _ = received.partition(_END)
    start = _START.match(head)
    if not end or start is None:
        return None
    lines = head[start.end() :].decode("latin-1") + "\r\n"
    fields = _FIELDS.findall(lines)
    headers = {name.title(): value for name, value in fields}
    if not lines.count("\n") == len(fields) == len(headers) or not _UNUSUAL.isdisjoint(headers):
        return None
    if headers.get("Connection", "keep-alive").lower() != "keep-alive":
        return None
    length = headers.get("Content-Length", "")
    if not _LENGTH.fullmatch(length):
        return None
    size = len(head) + len(end)
    return Head(start.group(1).decode(), headers, size, size + int(length))


class Server(ThreadedWSGIServer):
    """Serves an application on a socket that listens; a thread for each connection.

    Args:
        listener: The socket; the server takes a duplicate of it.
        app: The application, an :class:`Answerer` too.
    """

    def __init__(self, listener: socket.socket, app: WSGIApplication) -> None:
        self._open: set[socket.socket] = set()
        host, port = listener.getsockname()
        super().__init__(host, port, app, handler=Handler, fd=listener.fileno())

    def process_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection."""
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        """Close one connection."""
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Stop listening, and take no further request from connections that are kept."""
        super().server_close()
        for connection in tuple(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RD)


class Handler(backdrop.QuietHandler):
    """Serves one connection."""

    def handle_one_request(self) -> None:
        """Answer whatever is ours, for as long as it lasts, and leave the next request to werkzeug."""
        while self._answered():
            pass
        super().handle_one_request()

    def _answered(self) -> bool:
        received = self.connection.recv(MOST_BYTES, socket.MSG_PEEK)
        head = plain_head(received)
        if head is None or head.total > MOST_BYTES:
            return False
        if len(received) < head.total:
            received = self.connection.recv(head.total, socket.MSG_PEEK | socket.MSG_WAITALL)
        if len(received) < head.total:
            # It ended before its length: nobody waits for an answer to it.
            raise ConnectionResetError
        answer = self._answer(head, received[head.size : head.total])
        if answer is None:
            return False
        self.connection.recv(head.total, socket.MSG_WAITALL)
        self.wfile.write(self._written(answer))
        return True

    def _answer(self, head: Head, body: bytes) -> Answer | None:
        try:
            return cast("Answerer", self.server.app).answer(head.path, head.headers, body)
        except DroppedConnection:
            self.connection.shutdown(socket.SHUT_RDWR)
            raise ConnectionResetError from None

    def _written(self, answer: Answer) -> bytes:
        status, headers, body = answer
        fields = {**headers, "Content-Length": str(len(body)), "Date": self.date_time_string()}
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}", *(f"{k}: {v}" for k, v in fields.items())]
        return "\r\n".join(lines).encode("latin-1") + _END + body
