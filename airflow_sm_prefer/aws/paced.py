"""Calls of one boto3 client: paced, and with one exception for whatever goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from airflow_sm_prefer.aws.attempts import AttemptLog
from airflow_sm_prefer.aws.failures import CALL_ERRORS, CallFailed, FailureKind, classify
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock


class Calls:
    """Makes the calls. Safe for threads, as boto3 clients are; each blocks, sleeping first for its turn."""

    def __init__(self, client: Any, pacing: Pacing, clock: Clock) -> None:
        """Take a client, whose retry mode the caller has set.

        Args:
            client: A boto3 client.
            pacing: The buckets of the client's account and Region.
            clock: What a turn is waited for with.
        """
        self._client = client
        self._pacing = pacing
        self._clock = clock
        self._attempts = AttemptLog(client)

    def __call__(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Call an operation, as AWS writes its name, and return the answer.

        Raises:
            CallFailed: AWS refused it, or it never got through.
        """
        self._clock.sleep(self._pacing.acquire(operation))
        self._attempts.begin()
        try:
            response: dict[str, Any] = _method(self._client, operation)(**parameters)
        except CALL_ERRORS as error:
            failure = classify(error, operation, doubtful=self._attempts.doubtful)
            if failure.kind is FailureKind.THROTTLED:
                self._pacing.throttled(operation)
            raise CallFailed(failure) from error
        return response

    def rows(self, operation: str, key: str, **parameters: Any) -> Iterator[dict[str, Any]]:
        """Give the entries of all pages of a listing that goes on by ``nextToken``, a page at a time."""
        more: dict[str, Any] = {}
        while True:
            page = self(operation, **parameters, **more)
            yield from page.get(key) or ()
            if not page.get("nextToken"):
                return
            more = {"nextToken": page["nextToken"]}


def _method(client: Any, operation: str) -> Callable[..., dict[str, Any]]:
    """Return the client's method for an operation: ``create_training_job`` for ``CreateTrainingJob``."""
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in operation)
    method: Callable[..., dict[str, Any]] = getattr(client, snake.lstrip("_"))
    return method
