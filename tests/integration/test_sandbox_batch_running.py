"""Service jobs that really run: a preempted one resumes from its checkpoint, and a kill of the sandbox loses none."""

from __future__ import annotations

import json
import random
import textwrap
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from airflow_sm_prefer.sandbox.runner import LocalRunner
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.integration.test_sandbox_state import Served
from tests.integration.test_sandbox_wire import wait_for
from tests.unit.sandbox.batch.bench import submission
from tests.unit.sandbox.builders import G5, single, training
from tests.unit.sandbox.runner.builders import channel

SWEEP = """
    import pathlib, signal, sys, time
    kept = pathlib.Path("/opt/ml/checkpoints/steps")
    done = int(kept.read_text()) if kept.exists() else 0
    print("begins at", done, flush=True)
    def leave(*_):
        kept.write_text("7")
        print("told to stop", flush=True)
        sys.exit(0)
    signal.signal(signal.SIGTERM, leave)
    if not done:
        time.sleep(600)
"""
SHARE = {
    "jobQueue": "managed",
    "capacityLimits": [{"maxCapacity": 1, "capacityUnit": G5}],
    "resourceSharingConfiguration": {"strategy": "RESERVE"},
    "preemptionConfiguration": {"inSharePreemption": "ENABLED"},
}
SCENARIO: dict[str, Any] = {
    "rates": False,
    "batch": {
        "environments": [
            {
                "serviceEnvironmentName": "g5",
                "capacityLimits": [{"maxCapacity": 1, "capacityUnit": G5}],
            }
        ],
        "policies": [{"name": "managed", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}],
        "queues": [
            {
                "jobQueueName": "managed",
                "priority": 1,
                "schedulingPolicyArn": "managed",
                "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "g5"}],
            }
        ],
        "quota_shares": [{"quotaShareName": "team", **SHARE}],
    },
}


def payload(name: str) -> dict[str, Any]:
    """A CreateTrainingJob request that runs ``s3://lake/code/<name>.py`` and keeps its checkpoints."""
    request = training(name, single(G5), CheckpointConfig={"S3Uri": f"s3://lake/checkpoints/{name}"})
    request["InputDataConfig"] = [channel("code", "s3://lake/code/")]
    entrypoint = ["python3", f"/opt/ml/input/data/code/{name}.py"]
    request["AlgorithmSpecification"] |= {"ContainerEntrypoint": entrypoint}
    request["OutputDataConfig"] = {"S3OutputPath": "s3://lake/models"}
    return request


def test_a_preempted_sweep_is_told_to_stop_and_goes_on_from_its_checkpoint(tmp_path: Path) -> None:
    with SandboxServer(SCENARIO, runner=LocalRunner(tmp_path / "jobs")) as server:
        batch, logs = aws.client(server.endpoint_url, "batch"), aws.client(server.endpoint_url, "logs")
        s3 = aws.client(server.endpoint_url, "s3")
        s3.create_bucket(Bucket="lake")
        for name, script in (("sweep", SWEEP), ("production", "print('trains')")):
            s3.put_object(Bucket="lake", Key=f"code/{name}.py", Body=textwrap.dedent(script).encode())

        def submit(name: str, priority: int) -> str:
            more = {"quotaShareName": "team", "schedulingPriority": priority}
            made = batch.submit_service_job(**submission(name, "managed", payload=payload(name), **more))
            job_id: str = made["jobId"]
            return job_id

        def said(prefix: str) -> list[str]:
            with suppress(ClientError):
                found = logs.filter_log_events(
                    logGroupName="/aws/sagemaker/TrainingJobs", logStreamNamePrefix=f"AWSBatch{prefix}"
                )
                return [event["message"] for event in found["events"]]
            return []

        sweep = submit("sweep", 1)
        wait_for(lambda: any("begins at 0" in line for line in said("sweep")), 60)
        production = submit("production", 9)
        wait_for(lambda: batch.describe_service_job(jobId=production)["status"] == "SUCCEEDED", 60)
        wait_for(lambda: batch.describe_service_job(jobId=sweep)["status"] == "SUCCEEDED", 60)
        lines = [line for line in said("sweep") if line.startswith(("begins", "told"))]
        assert lines == ["begins at 0", "told to stop", "begins at 7"]
        shown = batch.describe_service_job(jobId=sweep)
        assert shown["preemptionSummary"]["preemptedAttemptCount"] == 1
        assert len(shown["attempts"]) == 1


class Submitter:
    """A thread that submits jobs as fast as they are answered, and remembers which."""

    def __init__(self, url: str, round_number: int) -> None:
        self.told: list[str] = []
        self._batch = aws.client(url, "batch", retries={"total_max_attempts": 1})
        self._round = round_number
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def _work(self) -> None:
        with suppress(BotoCoreError, ClientError, OSError):
            for number in range(1000):
                request = submission(f"j{self._round}-{number}", "managed", quotaShareName="team")
                request["serviceRequestPayload"] = json.dumps({**training("wrong", single(G5)), "RoleArn": "no"})
                self.told.append(self._batch.submit_service_job(**request)["jobId"])

    def join(self) -> None:
        self._thread.join()


def test_killed_at_any_moment_no_service_job_is_lost_or_doubled(tmp_path: Path) -> None:
    scenario = tmp_path / "scenario.yaml"
    scenario.write_text(json.dumps(SCENARIO))
    moments = random.Random(7)
    told: set[str] = set()
    with Served(tmp_path / "state", "--scenario", str(scenario)) as served:
        for round_number in range(3):
            submitter = Submitter(served.url, round_number)
            wait_for(lambda submitter=submitter: submitter.told, 30)
            time.sleep(moments.uniform(0.0, 0.5))
            served.kill()
            submitter.join()
            told.update(submitter.told)
            served.start()
            known = all_jobs(aws.client(served.url, "batch"))
            assert told <= {job["jobId"] for job in known}
            names = Counter(job["jobName"] for job in known)
            assert set(names.values()) == {1}
        batch = aws.client(served.url, "batch")
        wait_for(lambda: {job["status"] for job in all_jobs(batch)} == {"FAILED"}, 60)


def all_jobs(batch: Any) -> list[dict[str, Any]]:
    pages = batch.get_paginator("list_service_jobs").paginate(
        jobQueue="managed", filters=[{"name": "JOB_NAME", "values": ["*"]}]
    )
    return [job for page in pages for job in page["jobSummaryList"]]
