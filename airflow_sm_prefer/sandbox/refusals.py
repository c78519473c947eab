"""Refusals of requests that aren't the sandbox's own operations, as each protocol's clients read them."""

from __future__ import annotations

import uuid
from xml.sax.saxutils import escape

from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox import guards, protocol
from airflow_sm_prefer.sandbox.api_errors import ApiError


def refusal(request: Request, code: str, message: str, status: int) -> Response:
    """Return the answer that refuses a request, as its client reads errors.

    That is JSON for AWS's JSON protocols and for the control API, and XML for S3 and the query protocols.

    Args:
        request: What is refused.
        code: AWS's name of the error.
        message: Why, for a person.
        status: The HTTP status.
    """
    if _speaks_json(request):
        _, headers, written = protocol.write_error(ApiError(code, message, status))
        return Response(written, status, headers)
    error = f"<Error><Code>{code}</Code><Message>{escape(message)}</Message></Error>"
    body = f"<ErrorResponse>{error}<RequestId>{uuid.uuid4()}</RequestId></ErrorResponse>"
    return Response(body, status, {"Content-Type": "text/xml"})


def _speaks_json(request: Request) -> bool:
    if request.path.startswith(guards.CONTROL_PATH) or "X-Amz-Target" in request.headers:
        return True
    return "json" in (request.content_type or "")
