"""Calls to AWS whose failures are told in our own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, classify


def call(operation: Callable[..., Any], **request: Any) -> dict[str, Any]:
    """Call an operation of a boto3 client.

    Raises:
        CallFailed: AWS refused it, or didn't answer.
    """
    try:
        response: dict[str, Any] = operation(**request)
    except CALL_ERRORS as error:
        raise CallFailed(classify(error, _name(operation))) from error
    return response


def paged(operation: Callable[..., Any], key: str, **request: Any) -> list[dict[str, Any]]:
    """Return the entries of all pages of a listing, which go on by ``nextToken``.

    Raises:
        CallFailed: AWS refused it, or didn't answer.
    """
    entries: list[dict[str, Any]] = []
    while True:
        page = call(operation, **request)
        entries += page.get(key) or []
        if not page.get("nextToken"):
            return entries
        request["nextToken"] = page["nextToken"]


def _name(operation: Callable[..., Any]) -> str:
    """Return an operation's name as AWS writes it: ``describe_job_queues`` is ``DescribeJobQueues``."""
    return "".join(part.title() for part in operation.__name__.split("_"))
