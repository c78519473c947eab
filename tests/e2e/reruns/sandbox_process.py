"""A sandbox as a process of its own, whose jobs take the time, and the ending, that their names say."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import boto3

from airflow_sm_prefer.cli.demo.environment import ACCESS_KEY, REGION, SECRET_KEY
from airflow_sm_prefer.sandbox.runs import Phase, RunResult, RunSpec
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRun, ScriptedRunner
from airflow_sm_prefer.sandbox.server import SandboxServer

SPEED = 60

NONE_FREE = "ml.p4d.24xlarge"
NONE_SOON = "ml.p5.48xlarge"
ONE_FREE = "ml.g5.xlarge"

WIDE, TAKEN = "wide", "taken"
QUEUES = {WIDE: 1000, TAKEN: 1}
"""The job queues, with how many instances each has; somebody else's job is on that of ``taken``."""


def environment(name: str, instances: int) -> dict[str, Any]:
    limits = [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": instances}]
    return {"serviceEnvironmentName": name, "capacityLimits": limits}


def queue(name: str) -> dict[str, Any]:
    return {"jobQueueName": name, "priority": 1, "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": name}]}


SCENARIO = {
    "capacity": {NONE_FREE: 0, NONE_SOON: 0},
    # In a queue, a job goes back to the others of its queue when it has had no instances for so long.
    "settings": {"default_pending_seconds": 900},
    # The limits are other tests' business, and would have these wait for each other.
    "rates": {"CreateTrainingJob": 20, "StopTrainingJob": 20, "DescribeTrainingJob": 50, "SubmitServiceJob": 20},
    "batch": {
        "environments": [environment(name, instances) for name, instances in QUEUES.items()],
        "queues": [queue(name) for name in QUEUES],
    },
}

ENDLESS = 432_000
"""The longest run that AWS's default quota allows, in seconds: two hours here."""

SCRIPTS = {
    "fails-once-*-1": Script.fails("AlgorithmError: , exit code: 1", seconds=60),
    "brief-*": Script(seconds=120),
    "fails-once-*": Script(seconds=120),
    # A container that takes its time to go, as one that writes a last checkpoint does.
    "slow-to-stop-*": Script(seconds=86_400, stop_seconds=110),
    "endless-*": Script(seconds=ENDLESS),
}
LONG = Script(seconds=86_400)

BEHIND = "AWSBatch"
"""What the names of training jobs behind service jobs begin with."""


class Runner(ScriptedRunner):
    """Goes by what a task calls its job, in queues too, where Batch calls it something else."""

    def start(
        self, spec: RunSpec, on_phase: Callable[[Phase], None], on_end: Callable[[RunResult], None]
    ) -> ScriptedRun:
        return super().start(replace(spec, name=called(spec)), on_phase, on_end)


def called(spec: RunSpec) -> str:
    """Return the name by which a job's script is found."""
    if not spec.name.startswith(BEHIND):
        return spec.name
    tags = {tag["Key"]: tag["Value"] for tag in spec.request.get("Tags", ())}
    job = spec.request.get("HyperParameters", {}).get("job")
    return f"{job}-behind-{tags.get('sm-prefer:submission')}"


def batch_client(endpoint_url: str) -> Any:
    """Return a client of the account that Airflow's jobs are in."""
    keys = {"aws_access_key_id": ACCESS_KEY, "aws_secret_access_key": SECRET_KEY}
    return boto3.client("batch", endpoint_url=endpoint_url, region_name=REGION, **keys)


def occupy(endpoint_url: str) -> None:
    """Put somebody else's job on what the queue ``taken`` has."""
    payload = {
        "TrainingJobName": "other",
        "HyperParameters": {"job": "endless"},
        "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"InstanceType": ONE_FREE, "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": ENDLESS},
    }
    batch_client(endpoint_url).submit_service_job(
        jobName="other",
        jobQueue=TAKEN,
        serviceJobType="SAGEMAKER_TRAINING",
        serviceRequestPayload=json.dumps(payload),
    )


def main(port: int) -> None:
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    with SandboxServer(SCENARIO, port=port, speed=SPEED, runner=Runner(SCRIPTS, LONG)) as server:
        occupy(server.endpoint_url)
        sys.stdout.write(f"sandbox ready at {server.endpoint_url}\n")
        sys.stdout.flush()
        ended.wait()


if __name__ == "__main__":
    main(int(sys.argv[1]))
