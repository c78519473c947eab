"""Requests and sandboxes for the tests of the sandbox."""

from __future__ import annotations

from typing import Any

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox import Sandbox, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.effects import Emit

G5 = "ml.g5.xlarge"
P5 = "ml.p5.48xlarge"
P4D = "ml.p4d.24xlarge"
CPU = "ml.m5.xlarge"
ROLE = "arn:aws:iam::123456789012:role/job"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"


def prefer(*types: str | tuple[str, int]) -> dict[str, Any]:
    """A ResourceConfig with a list; a bare type has a count of one."""
    pairs = [entry if isinstance(entry, tuple) else (entry, 1) for entry in types]
    return {
        "InstancePreferences": [{"InstanceType": name, "InstanceCount": count} for name, count in pairs],
        "VolumeSizeInGB": 30,
    }


def single(instance_type: str, count: int = 1, **more: Any) -> dict[str, Any]:
    """A ResourceConfig of the classic sort."""
    return {"InstanceType": instance_type, "InstanceCount": count, "VolumeSizeInGB": 30, **more}


def training(name: str = "job", resources: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "TrainingJobName": name,
        "RoleArn": ROLE,
        "AlgorithmSpecification": {"TrainingImage": "image", "TrainingInputMode": "File"},
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "ResourceConfig": prefer(G5) if resources is None else resources,
        "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
        **more,
    }


def processing(name: str = "job", cluster: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "ProcessingJobName": name,
        "RoleArn": ROLE,
        "AppSpecification": {"ImageUri": "image"},
        "ProcessingResources": {"ClusterConfig": prefer(CPU) if cluster is None else cluster},
        **more,
    }


class Bench:
    """A sandbox on a fake clock, with the calls that tests make most."""

    def __init__(
        self,
        scripts: dict[str, Script] | None = None,
        *,
        seconds: float = 100,
        speed: float = 1.0,
        emit: Emit | None = None,
        **scenario: Any,
    ) -> None:
        self.clock = FakeClock()
        self.runner = ScriptedRunner(scripts, Script(seconds=seconds))
        given = {"rates": "off", **scenario}
        self.sandbox = Sandbox(given, clock=self.clock, speed=speed, runner=self.runner, emit=emit)
        self.call = self.sandbox.call
        self.advance = self.sandbox.advance

    def train(self, name: str = "job", resources: dict[str, Any] | None = None, **more: Any) -> None:
        self.call("CreateTrainingJob", training(name, resources, **more))

    def process(self, name: str = "job", cluster: dict[str, Any] | None = None, **more: Any) -> None:
        self.call("CreateProcessingJob", processing(name, cluster, **more))

    def training(self, name: str = "job") -> dict[str, Any]:
        return self.call("DescribeTrainingJob", {"TrainingJobName": name})

    def processing(self, name: str = "job") -> dict[str, Any]:
        return self.call("DescribeProcessingJob", {"ProcessingJobName": name})

    def state(self, name: str = "job") -> tuple[str, str]:
        shown = self.training(name)
        return shown["TrainingJobStatus"], shown["SecondaryStatus"]

    def history(self, name: str = "job") -> list[str]:
        return [t["Status"] for t in self.training(name)["SecondaryStatusTransitions"]]
