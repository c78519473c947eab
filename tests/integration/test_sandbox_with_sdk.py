"""The SageMaker Python SDK v3 against the sandbox, unmodified, by AWS_ENDPOINT_URL.

It is in ``.venv-clients``, which ``make .venv-clients`` makes; ``SAGEMAKER_SDK_PYTHON`` names another Python that has
``sagemaker-train``. Without one, the scripts are skipped, and what they ask of AWS is tested by
``test_sandbox_as_the_sdk_calls_it``.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

PYTHON = os.environ.get("SAGEMAKER_SDK_PYTHON") or str(Path(__file__).parents[2] / ".venv-clients/bin/python")
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
    try:
        return subprocess.run([PYTHON, "-c", probe], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


pytestmark = pytest.mark.skipif(
    not has_sdk(), reason=f"{PYTHON} has no sagemaker-train: make .venv-clients, or set SAGEMAKER_SDK_PYTHON"
)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[SandboxServer]:
    scenario = {
        "capacity": {"ml.p5.48xlarge": 0, "ml.c5.xlarge": 0},
        "plans": [{"name": "winter", "type": "ml.p5.48xlarge", "count": 1, "blocks": [{"starts": 0, "lasts": "2d"}]}],
    }
    runner = LocalRunner(tmp_path / "jobs")
    with SandboxServer(scenario, speed=60, runner=runner) as served:
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


def test_model_trainers_of_all_kinds_end_as_on_aws(server: SandboxServer, tmp_path: Path) -> None:
    result, _ = run("sdk_endings.py", server, tmp_path)
    jobs = result["jobs"]
    assert {name: job["status"] for name, job in jobs.items()} == {
        "own-counts": "Completed",
        "on-plan": "Completed",
        "spot": "Completed",
        "fails": "Failed",
        "no-capacity": "Failed",
        "stopped": "Stopped",
    }
    assert jobs["own-counts"]["selected"] == "2 ml.g5.xlarge"
    assert jobs["on-plan"]["selected"] == "1 ml.p5.48xlarge"
    assert "Failure Reason: AlgorithmError" in jobs["fails"]["raised"]
    assert "Failure Reason: CapacityError" in jobs["no-capacity"]["raised"]
    assert result["found"] == ["stopped", "spot", "own-counts", "on-plan", "no-capacity"]
    assert result["checkpoint"] == "rows.csv"
    assert result["tags"] == ["team"]
