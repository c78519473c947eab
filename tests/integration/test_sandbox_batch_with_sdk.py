"""The SageMaker Python SDK's TrainingQueue against the sandbox, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration.test_sandbox_with_sdk import PYTHON, has_sdk, run

pytestmark = pytest.mark.skipif(
    not has_sdk(), reason=f"{PYTHON} has no sagemaker-train: make .venv-clients, or set SAGEMAKER_SDK_PYTHON"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SandboxServer]:
    with SandboxServer(runner=LocalRunner(tmp_path / "jobs")) as served:
        yield served


def test_a_training_queue_submits_waits_lists_updates_and_terminates(server: SandboxServer, tmp_path: Path) -> None:
    result, _ = run("sdk_queue.py", server, tmp_path)
    assert result == {
        "first": "SUCCEEDED",
        "attempts": 1,
        "found": True,
        "waiting": ["behind"],
        "by_share": ["behind"],
        "ended": ["FAILED", "not needed"],
        "last": "SUCCEEDED",
        "priority": 2,
        "trainer": "Completed",
    }
