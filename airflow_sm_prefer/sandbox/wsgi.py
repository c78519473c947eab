"""The endpoint: who asks, for which service, and who answers."""

from __future__ import annotations

import io
import json
import socket
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox import backdrop, guards, protocol
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.control import Control
from airflow_sm_prefer.sandbox.sandbox import Sandbox

StartResponse = Callable[..., Any]


class Endpoint:
    """A WSGI application: SageMaker's jobs and the control API are the sandbox's, everything else is moto's.

    Args:
        sandbox: What is served.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._control = Control(sandbox)
        self._backdrop = backdrop.application()

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer one request."""
        request = Request(environ)
        headers = dict(request.headers)
        try:
            guards.check_sender(headers)
            if request.path.startswith(guards.CONTROL_PATH):
                guards.check_control(headers)
                return self._control.respond(request)(environ, start_response)
            scope = guards.signed_scope(headers, environ.get("QUERY_STRING", ""))
        except guards.Refused as refusal:
            return _forbidden(str(refusal))(environ, start_response)
        if scope.service == "sagemaker":
            response = self._sagemaker(request, scope)
            if response is not None:
                return response(environ, start_response)
        return self._backdrop(environ, start_response)

    def _sagemaker(self, request: Request, scope: guards.Scope) -> Response | None:
        """Answer a call of SageMaker's API, or leave it to moto."""
        operation = protocol.operation_name(request.headers.get("X-Amz-Target", ""))
        if operation not in self._sandbox.operations:
            return None
        body = request.get_data(cache=True)
        try:
            asked = protocol.read("sagemaker", operation, body)
            if not self._sandbox.owns(operation, asked):
                # Moto reads the body again.
                request.environ["wsgi.input"] = io.BytesIO(body)
                return None
            caller = Caller(backdrop.account_of(scope.access_key), scope.region)
            answer = protocol.write("sagemaker", operation, self._sandbox.call(operation, asked, caller))
        except ApiError as refusal:
            answer = protocol.write_error(refusal)
        except DroppedConnection:
            _hang_up(request)
        status, headers, content = answer
        return Response(content, status, headers)


def _forbidden(why: str) -> Response:
    body = json.dumps({"__type": "AccessDeniedException", "message": f"The sandbox refused this: {why}."})
    return Response(body, 403, {"Content-Type": protocol.CONTENT_TYPE})


def _hang_up(request: Request) -> NoReturn:
    """Close the connection without an answer; the server takes the error for a client that has gone."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionResetError
