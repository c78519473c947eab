"""What every group of operations has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from botocore import xform_name

from airflow_sm_prefer.sandbox.accounts import Account, Caller
from airflow_sm_prefer.sandbox.engine import Engine

Request = dict[str, Any]
Response = dict[str, Any]
Handler = Callable[[Caller, Request], Response]


class Operations:
    """A group of operations on one concept.

    Args:
        engine: Whose state they read and change.
    """

    SERVICE = "sagemaker"
    """The service that has them, as botocore calls it."""

    NAMES: tuple[str, ...] = ()
    """The operations that the group has, in AWS's spelling."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine

    def account(self, caller: Caller) -> Account:
        """Return what the caller has."""
        return self.engine.account(caller)

    def handlers(self) -> dict[str, Handler]:
        """Return the method of each operation."""
        return {name: getattr(self, xform_name(name)) for name in self.NAMES}
