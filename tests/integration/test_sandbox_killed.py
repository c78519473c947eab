"""A sandbox that is killed while a job runs: the job dies with it, and the next sandbox tidies up."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from airflow_sm_prefer.sandbox.runner import LocalRunner
from tests.integration import aws
from tests.unit.sandbox.runner.builders import alive, channel, until

SANDBOX = (sys.executable, "-c", "from airflow_sm_prefer.cli import main; main()", "sandbox", "--port", "0")


def test_jobs_die_with_a_sandbox_that_is_killed_and_the_next_one_tidies_up(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs"
    command = [*SANDBOX, "--workdir", str(jobs)]
    # The shell's own AWS settings have no say in a sandbox.
    shell = {
        **os.environ,
        "AWS_PROFILE": "not-here",
        "AWS_USE_FIPS_ENDPOINT": "true",
        "HTTP_PROXY": "http://127.0.0.1:9",
    }
    sandbox = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=shell)
    try:
        run_forever(sandbox.stdout.readline().split()[-1], marker=str(tmp_path))
        until(lambda: len(alive(str(tmp_path))) > 1, seconds=60)
    finally:
        sandbox.kill()
        sandbox.communicate()
    until(lambda: alive(str(tmp_path)) == [])
    assert list(jobs.iterdir()) != []
    LocalRunner(jobs).close()
    assert list(jobs.iterdir()) == []


def run_forever(url: str, marker: str) -> None:
    s3, sagemaker = aws.client(url, "s3"), aws.client(url)
    s3.create_bucket(Bucket="data")
    s3.put_object(Bucket="data", Key="code/main.py", Body=b"import os, time; os.fork() or os.setsid(); time.sleep(600)")
    sagemaker.create_training_job(
        TrainingJobName="job",
        AlgorithmSpecification={
            "TrainingImage": "trainer:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
            "ContainerArguments": [marker],
        },
        RoleArn="arn:aws:iam::123456789012:role/training",
        InputDataConfig=[channel("code", "s3://data/code/")],
        OutputDataConfig={"S3OutputPath": "s3://data/out"},
        ResourceConfig={"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
        StoppingCondition={"MaxRuntimeInSeconds": 3600},
    )
