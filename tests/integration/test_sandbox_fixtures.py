"""The fixtures that other projects' tests use, in a project of such tests."""

import os
import subprocess
import sys

TESTS = """
import boto3
import pytest


@pytest.mark.sandbox(capacity={"ml.p5.48xlarge": 0})
def test_a_sandbox_on_a_fake_clock(sm_prefer_sandbox):
    before = sm_prefer_sandbox.clock.time()
    sm_prefer_sandbox.advance(86_400)
    assert sm_prefer_sandbox.clock.time() == before + 86_400
    assert list(sm_prefer_sandbox.scenario.capacity) == ["ml.p5.48xlarge"]


def test_a_sandbox_that_clients_find_by_themselves(sm_prefer_sandbox_server):
    assert boto3.client("sagemaker").list_training_jobs()["TrainingJobSummaries"] == []
    assert boto3.client("sagemaker").search(Resource="TrainingJob")["Results"] == []
    assert boto3.client("service-quotas").list_service_quotas(ServiceCode="sagemaker")["Quotas"]
    assert boto3.client("s3").list_buckets()["Buckets"] == []
"""


def test_a_project_gets_its_sandboxes_from_fixtures(tmp_path):
    (tmp_path / "test_pipeline.py").write_text(TESTS)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider"),
            *("-p", "airflow_sm_prefer.sandbox.pytest_plugin"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
