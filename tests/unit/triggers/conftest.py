from __future__ import annotations

import asyncio
from collections.abc import Iterator
from unittest import mock

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from tests.unit.triggers.builders import NOW


@pytest.fixture(autouse=True)
def _no_client_of_another_tests() -> Iterator[None]:
    with mock.patch("airflow_sm_prefer.triggers.connection._jobs", {}):
        yield


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """A clock that every sleep of the trigger moves on."""
    clock = FakeClock(NOW)
    real = asyncio.sleep

    async def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        await real(0)

    with (
        mock.patch.object(SageMakerPreferTrigger, "clock", clock),
        mock.patch("airflow_sm_prefer.triggers.sagemaker.asyncio.sleep", sleep),
        mock.patch("airflow_sm_prefer.triggers.watch._watchers", {}),
    ):
        yield clock
