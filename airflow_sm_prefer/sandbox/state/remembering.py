"""What moto holds outlives the process: every request that changes something of it leaves a trace in the state folder.

S3's objects are kept as they are after the request. Of IAM, EventBridge, SQS, S3's buckets and CloudWatch Logs the
requests themselves are kept, and made again at the start. Messages in queues are not kept.
"""

from __future__ import annotations

import functools
import io
import json
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from werkzeug.test import EnvironBuilder, run_wsgi_app
from werkzeug.wrappers import Request

from airflow_sm_prefer.sandbox import backdrop, guards
from airflow_sm_prefer.sandbox.refusals import refusal
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.objects import ObjectStore

READS = ("Get", "List", "Describe", "Simulate", "Test", "Filter")
"""How the names of operations begin that change nothing."""

NOT_KEPT = frozenset(
    {
        "PutEvents",
        "CreateAccessKey",
        "SendMessage",
        "SendMessageBatch",
        "ReceiveMessage",
        "DeleteMessage",
        "DeleteMessageBatch",
        "ChangeMessageVisibility",
        "ChangeMessageVisibilityBatch",
        "PurgeQueue",
    }
)
"""Operations that aren't made again: what they leave is messages, or would be another one each time."""

TRANSIENT = frozenset({"X-Amz-Date", "X-Amz-Security-Token"})
"""Headers of a request that mean nothing later."""

KEPT_SERVICES = frozenset({"iam", "events", "sqs", "logs"})
LOG_OPERATIONS = frozenset({"CreateLogGroup", "CreateLogStream", "PutLogEvents"})

Answer = tuple[str, list[tuple[str, str]], bytes]


class Remembering:
    """Passes requests on to moto, and keeps what they change.

    Args:
        folder: The state.

    Raises:
        StateUnreadable: an object's content is missing.
    """

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._objects = ObjectStore(folder)
        self._in_turn = threading.RLock()
        self._owed: list[Callable[[], None]] = []

    def around(self, app: backdrop.Application) -> backdrop.Application:
        """Return a WSGI application that passes requests on to one of moto's."""
        return functools.partial(self._answer, app)

    def restore(self) -> None:
        """Give moto back what it had.

        Raises:
            StateUnreadable: an object's content is damaged.
        """
        app = backdrop.application()
        for value in self._folder.values.pop("requests"):
            if "log" in value:
                backdrop.put_logs_back(*value["log"])
            else:
                self._make_again(app, value["request"])
        for (bucket, key), content, meta in self._objects.objects():
            backdrop.put_object_back(bucket, key, content, meta)

    def _answer(
        self, app: backdrop.Application, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        """Answer a request; what it has changed is kept before the answer goes out."""
        request = Request(environ)
        scope = guards.signed_scope(dict(request.headers), environ.get("QUERY_STRING", ""))
        if scope.service != "s3" and scope.service not in KEPT_SERVICES:
            return app(environ, start_response)
        try:
            self._catch_up()
            if scope.service == "s3" and request.method in {"GET", "HEAD", "OPTIONS"}:
                return app(environ, start_response)
            keep = self._s3 if scope.service == "s3" else self._control_plane
            status, headers, content = keep(app, request, scope)
        except OSError as error:
            why = f"The sandbox can't write its state to {self._folder.path}: {error.strerror}."
            return refusal(request, "InternalFailure", why, 500)(environ, start_response)
        start_response(status, headers)
        return [content]

    def _keep(self, work: Callable[[], None]) -> None:
        """Do a piece of keeping; if it fails, it is owed.

        Raises:
            OSError: it failed.
        """
        self._owed.append(work)
        self._catch_up()

    def _catch_up(self) -> None:
        """Keep first what couldn't be kept before: moto has it, so an answer may tell of it.

        Raises:
            OSError: it still can't be kept.
        """
        with self._in_turn:
            while self._owed:
                self._owed[0]()
                del self._owed[0]

    def _s3(self, app: backdrop.Application, request: Request, scope: guards.Scope) -> Answer:
        bucket, key = _place(request)
        if not key and request.method != "POST":
            return self._kept(app, request, scope, request.get_data())
        answer = self._passed_on(app, request.environ)
        with self._in_turn:
            if key and bucket in backdrop.bucket_names():
                self._keep(functools.partial(self._look_at, bucket, key))
            else:
                self._keep(self._look_at_everything)
        return answer

    def _look_at(self, bucket: str, key: str) -> None:
        """Keep an object as it is now."""
        meta = backdrop.object_meta(bucket, key)
        content = backdrop.object_content(bucket, key)
        if meta is None or content is None:
            self._objects.drop((bucket, key))
        elif meta != self._objects.meta((bucket, key)):
            self._objects.put((bucket, key), content, meta)

    def _look_at_everything(self) -> None:
        there = {(bucket, key) for bucket in backdrop.bucket_names() for key in backdrop.object_keys(bucket)}
        for place in there | set(self._objects.places()):
            self._look_at(*place)

    def _control_plane(self, app: backdrop.Application, request: Request, scope: guards.Scope) -> Answer:
        body = request.get_data()
        operation = _operation(request, body)
        if operation.startswith(READS) or operation in NOT_KEPT:
            return self._passed_on(app, _with_body(request, body))
        return self._kept(app, request, scope, body, operation)

    def _kept(
        self, app: backdrop.Application, request: Request, scope: guards.Scope, body: bytes, operation: str = ""
    ) -> Answer:
        """Pass a request on, and keep it if it succeeds: one after the other, so that the order is the same again."""
        with self._in_turn:
            answer = self._passed_on(app, _with_body(request, body))
            if answer[0].startswith("2"):
                trace = _trace(request, scope, body, operation)
                self._keep(lambda: self._folder["requests"].append(trace))
        return answer

    def _passed_on(self, app: backdrop.Application, environ: dict[str, Any]) -> Answer:
        content, status, headers = run_wsgi_app(app, environ, buffered=True)
        return status, list(headers), b"".join(content)

    def _make_again(self, app: backdrop.Application, kept: dict[str, Any]) -> None:
        body = kept["body"].encode("latin-1")
        builder = EnvironBuilder(
            kept["path"], query_string=kept["query"], method=kept["method"], headers=kept["headers"], data=body
        )
        status, _, content = self._passed_on(app, builder.get_environ())
        if not status.startswith("2"):
            what = f"{kept['method']} {kept['path']} {kept['headers'].get('X-Amz-Target', '')}".strip()
            sys.stderr.write(f"sandbox: the state has a request that fails now: {what}: {status} {content[:200]!r}\n")


def _trace(request: Request, scope: guards.Scope, body: bytes, operation: str) -> dict[str, Any]:
    """Return what is kept of a request; of logs, only what they say, since there are so many."""
    if scope.service == "logs" and operation in LOG_OPERATIONS:
        said = json.loads(body)
        account = backdrop.account_of(scope.access_key)
        where = [account, scope.region, said["logGroupName"], said.get("logStreamName")]
        return {"log": [*where, said.get("logEvents", [])]}
    headers = {
        name: value
        for name, value in request.headers.items()
        if name in {"Host", "Content-Type"} or (name.startswith("X-Amz-") and name not in TRANSIENT)
    }
    # The key itself may be one that moto made, and will have forgotten.
    headers[backdrop.ACCOUNT_HEADER] = backdrop.account_of(scope.access_key)
    scoped = f"{scope.access_key}/20260101/{scope.region}/{scope.service}/aws4_request"
    headers["Authorization"] = f"AWS4-HMAC-SHA256 Credential={scoped}, SignedHeaders=host, Signature=0"
    return {
        "request": {
            "method": request.method,
            "path": request.path,
            "query": request.query_string.decode("latin-1"),
            "headers": headers,
            "body": body.decode("latin-1"),
        }
    }


def _operation(request: Request, body: bytes) -> str:
    """Return the name of an operation, by its header or by its form."""
    target = request.headers.get("X-Amz-Target", "")
    if target:
        return target.rpartition(".")[2]
    form = parse_qs(body.decode("latin-1")) | parse_qs(request.query_string.decode("latin-1"))
    return form.get("Action", [""])[0]


def _place(request: Request) -> tuple[str, str]:
    """Return the bucket and the key of an S3 request, by its path, or by a Host of the bucket's own."""
    name = request.host.partition(":")[0]
    path = request.path.removeprefix("/")
    if name.endswith(".localhost"):
        return name.removesuffix(".localhost"), path
    bucket, _, key = path.partition("/")
    return bucket, key


def _with_body(request: Request, body: bytes) -> dict[str, Any]:
    """Return the request's environment with a body that can be read once more."""
    return {**request.environ, "wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
