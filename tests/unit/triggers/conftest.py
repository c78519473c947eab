from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from tests.unit.triggers.builders import NOW
from tests.unit.triggers.cloud import Cloud


@pytest.fixture(autouse=True)
def _nothing_of_another_tests() -> Iterator[None]:
    with (
        mock.patch("airflow_sm_prefer.triggers.connection._jobs", {}),
        mock.patch("airflow_sm_prefer.triggers.watch._watchers", {}),
    ):
        yield


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """The triggers' clock; ``tests.virtual_time`` has a loop go by it."""
    clock = FakeClock(NOW)
    with mock.patch.object(SageMakerPreferTrigger, "clock", clock):
        yield clock


@pytest.fixture
def cloud(clock: FakeClock) -> Iterator[Cloud]:
    """The AWS that all connections lead to."""
    cloud = Cloud(clock)
    with cloud.connected():
        yield cloud
