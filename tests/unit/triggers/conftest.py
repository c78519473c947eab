from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest


@pytest.fixture(autouse=True)
def _no_client_of_another_tests() -> Iterator[None]:
    with mock.patch("airflow_sm_prefer.triggers.connection._jobs", {}):
        yield
