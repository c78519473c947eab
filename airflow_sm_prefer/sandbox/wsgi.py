"""The endpoint: who asks, for which service, and who answers."""

from __future__ import annotations

import io
import socket
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NoReturn

from botocore.model import OperationNotFoundError
from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox import backdrop, guards, protocol, rest
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.control import Control
from airflow_sm_prefer.sandbox.refusals import refusal
from airflow_sm_prefer.sandbox.sandbox import Sandbox

SERVICES = {"sagemaker": "sagemaker", "servicequotas": "service-quotas", "batch": "batch"}
"""The services that have operations of ours: by the name in a signature, the name in botocore."""

REST_SERVICES = frozenset({"batch"})
"""Those of them whose operations are paths, not targets."""

StartResponse = Callable[..., Any]


class Endpoint:
    """A WSGI application: SageMaker's jobs and the control API are the sandbox's, everything else is moto's.

    Args:
        sandbox: What is served.
        rest: Makes of moto what answers for all other services: moto as it is, or with something around it.
    """

    def __init__(self, sandbox: Sandbox, rest: Callable[[backdrop.Application], backdrop.Application]) -> None:
        self._sandbox = sandbox
        self._control = Control(sandbox)
        self._backdrop = rest(backdrop.application())
        self._s3 = rest(backdrop.s3_application())

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
            if scope.in_query:
                guards.check_presigned(request.method)
        except guards.Refused as refused:
            message = f"The sandbox refused this: {refused}."
            return refusal(request, "AccessDeniedException", message, 403)(environ, start_response)
        environ[backdrop.ACCOUNT_VARIABLE] = backdrop.account_of(scope.access_key)
        if scope.in_query:
            return self._s3(environ, start_response)
        response = self._ours(request, scope)
        if response is not None:
            return response(environ, start_response)
        try:
            return self._backdrop(environ, start_response)
        except (NotImplementedError, OperationNotFoundError) as gap:
            return _missing(request, gap)(environ, start_response)

    def answer(self, path: str, headers: Mapping[str, str], body: bytes) -> protocol.Answer | None:
        """Answer a call of the sandbox's own that is a POST without a query; None is for all else.

        Args:
            path: Without anything that would have to be decoded.
            headers: With their names in title case.
            body: All of it.

        Raises:
            DroppedConnection: an injected fault ate the call or its answer.
        """
        try:
            guards.check_sender(headers)
            scope = guards.signed_scope(headers, "")
        except guards.Refused:
            return None
        operation, in_path = _operation("POST", path, headers, scope)
        if not self._has(operation, scope):
            return None
        return self._call(operation, scope, lambda: _read(operation, scope, body, in_path, {}))

    def _has(self, operation: str, scope: guards.Scope) -> bool:
        service = SERVICES.get(scope.service)
        return service is not None and self._sandbox.has(service, operation)

    def _call(self, operation: str, scope: guards.Scope, read: Callable[[], dict[str, Any]]) -> protocol.Answer | None:
        service = SERVICES[scope.service]
        try:
            asked = read()
            caller = Caller(backdrop.account_of(scope.access_key), scope.region)
            if not self._sandbox.owns(operation, asked, caller):
                return None
            return protocol.write(service, operation, self._sandbox.call(operation, asked, caller))
        except ApiError as refused:
            return protocol.write_error(refused)

    def _ours(self, request: Request, scope: guards.Scope) -> Response | None:
        """Answer a call that is the sandbox's, or leave it to moto."""
        operation, in_path = _operation(request.method, request.path, dict(request.headers), scope)
        if not self._has(operation, scope):
            return None
        body = request.get_data(cache=True)
        query = request.args.to_dict(flat=False)
        try:
            answer = self._call(operation, scope, lambda: _read(operation, scope, body, in_path, query))
        except DroppedConnection:
            _hang_up(request)
        if answer is None:
            # Moto reads the body again.
            request.environ["wsgi.input"] = io.BytesIO(body)
            return None
        status, headers, content = answer
        return Response(content, status, headers)


def _operation(
    method: str, path: str, headers: Mapping[str, str], scope: guards.Scope
) -> tuple[str, Mapping[str, str]]:
    """Return the name of a request's operation, empty if it has none, and the members that its path holds."""
    if scope.service in REST_SERVICES:
        return rest.operation_of(SERVICES[scope.service], method, path) or ("", {})
    return protocol.operation_name(headers.get("X-Amz-Target", "")), {}


def _read(
    operation: str, scope: guards.Scope, body: bytes, in_path: Mapping[str, str], query: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return a request in botocore's shape."""
    service = SERVICES[scope.service]
    if service in REST_SERVICES:
        return rest.read(service, operation, body, in_path, query)
    return protocol.read(service, operation, body)


def _missing(request: Request, gap: Exception) -> Response:
    """Say in the service's own format that moto lacks an operation; clients don't try again after a 501."""
    why = gap if isinstance(gap, NotImplementedError) else f"The installed botocore doesn't know {gap}"
    message = f"The sandbox doesn't have this operation. {why}."
    return refusal(request, "NotImplemented", message, 501)


def _hang_up(request: Request) -> NoReturn:
    """Close the connection without an answer; the server takes the error for a client that has gone."""
    connection = request.environ.get("werkzeug.socket")
    if isinstance(connection, socket.socket):
        connection.shutdown(socket.SHUT_RDWR)
    raise ConnectionResetError
