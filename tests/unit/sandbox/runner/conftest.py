"""Runs in both ways of having ``/opt/ml``, where this machine has both."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner import Isolation
from airflow_sm_prefer.sandbox.runner.isolation import best_isolation
from tests.unit.sandbox.runner.builders import Ran

BOTH = [
    pytest.param(
        Isolation.NAMESPACE,
        marks=pytest.mark.skipif(best_isolation() is Isolation.REWRITTEN, reason="no mount namespaces here"),
    ),
    Isolation.REWRITTEN,
]


@pytest.fixture(params=BOTH)
def ran(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ran]:
    made = Ran(tmp_path, request.param)
    yield made
    if made.run is not None:
        made.run.kill()
        made.run.join()
