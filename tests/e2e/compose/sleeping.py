"""The empty deferrable task that ours are measured beside."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from airflow.sdk import BaseOperator
from airflow.triggers.base import BaseTrigger, TriggerEvent


class Sleeping(BaseTrigger):
    """Sleeps for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return f"{type(self).__module__}.{type(self).__qualname__}", {"seconds": self.seconds}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await asyncio.sleep(self.seconds)
        yield TriggerEvent(None)


class SleepOperator(BaseOperator):
    """Does nothing but defer and resume."""

    def __init__(self, *, seconds: float, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.seconds = seconds

    def execute(self, context: Any) -> None:
        self.defer(trigger=Sleeping(self.seconds), method_name="resume")

    def resume(self, context: Any, event: Any) -> None:
        """Nothing is left to do."""
