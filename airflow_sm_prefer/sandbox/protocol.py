"""Bytes on the wire, and botocore's shapes: the only module that knows moto's parser.

It knows every shape of the service from botocore's model, so that nothing here is written by hand.
"""

from __future__ import annotations

import json
import uuid
from functools import cache
from typing import Any, NoReturn

from botocore.utils import parse_timestamp
from moto.core.model import OperationModel
from moto.core.parse import JSONParser
from moto.core.utils import get_service_model

from airflow_sm_prefer.sandbox.answers import write_answer
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.json_types import check_types, unreadable
from airflow_sm_prefer.sandbox.shapes import service_model

CONTENT_TYPE = "application/x-amz-json-1.1"
"""Clients of REST services take it for JSON too."""

Answer = tuple[int, dict[str, str], bytes]
"""Status, headers and body."""


@cache
def _operation(service: str, name: str) -> OperationModel:
    model: OperationModel = get_service_model(service).operation_model(name)
    return model


def operation_name(target: str) -> str:
    """Return the operation that an ``X-Amz-Target`` header names."""
    return target.rpartition(".")[2]


def read(service: str, operation: str, body: bytes) -> dict[str, Any]:
    """Return a request in botocore's shape; members that the model doesn't have are dropped, as AWS drops them.

    Raises:
        ApiError: it isn't JSON, or a member has the wrong type.
    """
    shape = service_model(service).operation_model(operation).input_shape
    try:
        given = json.loads(body or b"{}", parse_constant=_no_json)
    except (ValueError, RecursionError):
        raise unreadable("Unexpected token received from parser") from None
    if shape is not None:
        check_types(shape, [] if given is None else given)
    parser = JSONParser(_operation(service, operation), timestamp_parser=lambda v: parse_timestamp(v).timestamp())
    try:
        parsed: dict[str, Any] = parser.parse({"body": body})  # type: ignore[typeddict-item]
    except (ValueError, TypeError, OverflowError, RuntimeError):  # botocore's, of an instant beyond all years
        raise unreadable("STRING_VALUE can not be converted to a Timestamp") from None
    return parsed


def _no_json(constant: str) -> NoReturn:
    """Refuse NaN and the infinities, which Python's JSON reads and JSON doesn't have."""
    raise ValueError(constant)


def write(service: str, operation: str, response: dict[str, Any]) -> Answer:
    """Return what goes over the wire for a response in botocore's shape."""
    return 200, _headers(), write_answer(service, operation, response)


def write_error(error: ApiError) -> Answer:
    """Return what goes over the wire for a refusal."""
    body = {"__type": error.code, "message": error.message}
    return error.status, {**_headers(), "x-amzn-ErrorType": error.code}, json.dumps(body).encode()


def _headers() -> dict[str, str]:
    return {"Content-Type": CONTENT_TYPE, "x-amzn-RequestId": str(uuid.uuid4())}
