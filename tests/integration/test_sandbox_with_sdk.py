"""The SageMaker Python SDK v3 against the sandbox, unmodified, by AWS_ENDPOINT_URL.

It isn't among our dependencies. ``SAGEMAKER_SDK_PYTHON`` names a Python that has ``sagemaker-train``; without one, the
scripts are skipped, and what they ask of AWS is tested by ``test_sandbox_as_the_sdk_calls_it``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

PYTHON = os.environ.get("SAGEMAKER_SDK_PYTHON", sys.executable)
CLIENTS = Path(__file__).parent / "clients"
#: The SDK asks STS for the default bucket's name at an address of its own making, and sends telemetry to AWS.
CONFIG = """\
SchemaVersion: "1.0"
SageMaker:
  PythonSDK:
    Modules:
      TelemetryOptOut: true
      Session:
        DefaultS3Bucket: sdk-default
"""


def has_sdk() -> bool:
    probe = (
        "import importlib.util as u, sys; sys.exit(not (u.find_spec('sagemaker') and u.find_spec('sagemaker.train')))"
    )
    return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0


pytestmark = pytest.mark.skipif(not has_sdk(), reason="no Python with sagemaker-train (SAGEMAKER_SDK_PYTHON)")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SandboxServer]:
    runner = LocalRunner(tmp_path / "jobs")
    with SandboxServer({"capacity": {"ml.p5.48xlarge": 0}}, speed=60, runner=runner) as served:
        yield served


def run(script: str, server: SandboxServer, folder: Path) -> tuple[dict[str, Any], str]:
    """Run a script; returns what its last line says, and all it said."""
    config = folder / "config.yaml"
    config.write_text(CONFIG)
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "AWS_ENDPOINT_URL": server.endpoint_url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_EC2_METADATA_DISABLED": "true",
        "SAGEMAKER_USER_CONFIG_OVERRIDE": str(config),
        "COLUMNS": "500",
    }
    done = subprocess.run(
        [PYTHON, str(CLIENTS / script), str(folder)],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result, said


def test_a_model_trainer_with_preferences_trains_in_script_mode(server: SandboxServer, tmp_path: Path) -> None:
    result, said = run("sdk_training.py", server, tmp_path)
    assert result["status"] == "Completed"
    assert result["selected"] == "ml.g5.xlarge"
    assert result["artifacts"].startswith("s3://sdk-default/sdk/sdk-")
    assert "seen: 3 two words ['rows.csv']" in said


def test_a_script_processor_with_preferences_processes(server: SandboxServer, tmp_path: Path) -> None:
    result, said = run("sdk_processing.py", server, tmp_path)
    assert result == {"status": "Completed", "selected": "ml.m5.xlarge", "rows": "1"}
    assert "seen: ['--split', '0.2'] ['rows.csv']" in said
