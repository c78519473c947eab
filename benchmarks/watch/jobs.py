"""The jobs that are waited for: their names and ARNs, the same in every process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from airflow_sm_prefer.placement.naming import TaskIdentity, job_name

ACCOUNT, REGION = "123456789012", "us-east-1"
DEPLOYMENT = "bench"
CONFIG = {
    "training": {
        "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/training",
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
    },
    "processing": {
        "AppSpecification": {"ImageUri": "processor:1"},
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/training",
        "ProcessingResources": {
            "ClusterConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30}
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 86_400},
    },
}
"""Requests without a name, by the kind of job."""


@dataclass(frozen=True)
class Job:
    """One job.

    Attributes:
        kind: ``training`` or ``processing``.
        name: Its name, as our operator makes it.
    """

    kind: str
    name: str

    @property
    def arn(self) -> str:
        return f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{self.kind}-job/{self.name}"

    @property
    def request(self) -> dict[str, object]:
        """The Create request of a job as the provider's operator sends it."""
        return {f"{self.kind.capitalize()}JobName": self.name, **CONFIG[self.kind]}


def jobs(count: int, *, mixed: bool = False) -> Iterator[Job]:
    """Give jobs of as many task instances: training jobs, or every other one a processing job."""
    for number in range(count):
        identity = TaskIdentity(DEPLOYMENT, "nightly", f"scheduled__{number}", "train")
        kind = "processing" if mixed and number % 2 else "training"
        yield Job(kind, job_name(identity, "nightly-train", 1))


def warm_up_jobs() -> list[Job]:
    """Return jobs that are waited for before anything is measured: one of each kind."""
    return [Job(kind, f"warm-{kind}") for kind in CONFIG]
