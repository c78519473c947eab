"""The texts of AWS for what breaks a constraint of its model."""

from typing import Any

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, Bench, prefer, processing, single, training

CONSTRAINT = "failed to satisfy constraint: Member must"


def breaches(request: dict[str, Any]) -> list[str]:
    """The breaches that one answer names."""
    operation = "CreateTrainingJob" if "TrainingJobName" in request else "CreateProcessingJob"
    with pytest.raises(ApiError) as caught:
        Bench().call(operation, request)
    assert (caught.value.code, caught.value.status) == ("ValidationException", 400)
    count, _, listed = caught.value.message.partition(" detected: ")
    found = listed.split("; ")
    assert count == ("1 validation error" if len(found) == 1 else f"{len(found)} validation errors")
    return found


def hook(**more: Any) -> dict[str, Any]:
    return training(DebugHookConfig={"S3OutputPath": "s3://bucket/d", **more})


def application(**more: Any) -> dict[str, Any]:
    return processing(AppSpecification={"ImageUri": "image", **more})


def algorithm(**more: Any) -> dict[str, Any]:
    return training(AlgorithmSpecification={"TrainingImage": "image", "TrainingInputMode": "File", **more})


def network(**more: list[str]) -> dict[str, Any]:
    return {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"], **more}


LONG = "a" * 300

ONE = {
    "a name with a dash at its end": (
        training("job-"),
        f"Value 'job-' at 'trainingJobName' {CONSTRAINT} satisfy regular expression pattern: "
        "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}",
    ),
    "a role's name for its ARN": (
        training(RoleArn="SageMakerExecutionRole"),
        f"Value 'SageMakerExecutionRole' at 'roleArn' {CONSTRAINT} satisfy regular expression pattern: "
        r"arn:aws[a-z\-]*:iam::\d{12}:role/?[a-zA-Z_0-9+=,.@\-_/]+",
    ),
    "an enumeration": (
        algorithm(TrainingInputMode="Stream"),
        f"Value 'Stream' at 'algorithmSpecification.trainingInputMode' {CONSTRAINT} satisfy enum value set: "
        "[Pipe, File, FastFile]",
    ),
    "no retry": (
        training(RetryStrategy={"MaximumRetryAttempts": 0}),
        f"Value '0' at 'retryStrategy.maximumRetryAttempts' {CONSTRAINT} have value greater than or equal to 1",
    ),
    "31 retries": (
        training(RetryStrategy={"MaximumRetryAttempts": 31}),
        f"Value '31' at 'retryStrategy.maximumRetryAttempts' {CONSTRAINT} have value less than or equal to 30",
    ),
    "a retry strategy without a number": (
        training(RetryStrategy={}),
        f"Value null at 'retryStrategy.maximumRetryAttempts' {CONSTRAINT} not be null",
    ),
    "checkpoints on a disk": (
        training(CheckpointConfig={"S3Uri": "/tmp/checkpoints"}),
        f"Value '/tmp/checkpoints' at 'checkpointConfig.s3Uri' {CONSTRAINT} satisfy regular expression pattern: "
        "(https|s3)://([^/]+)/?(.*)",
    ),
    "an output on a disk": (
        training(OutputDataConfig={"S3OutputPath": "bucket/models"}),
        f"Value 'bucket/models' at 'outputDataConfig.s3OutputPath' {CONSTRAINT} satisfy regular expression pattern: "
        "(https|s3)://([^/]+)/?(.*)",
    ),
    "a tag's key": (
        training(Tags=[{"Key": "a", "Value": ""}, {"Key": "b", "Value": ""}, {"Key": "", "Value": ""}]),
        f"Value '' at 'tags.3.member.key' {CONSTRAINT} have length greater than or equal to 1",
    ),
    "a tag without a value": (
        training(Tags=[{"Key": "a"}]),
        f"Value null at 'tags.1.member.value' {CONSTRAINT} not be null",
    ),
    "a hyperparameter's key": (
        training(HyperParameters={"k" * 257: ""}),
        f"Value '{'k' * 257}' at 'hyperParameters.key' {CONSTRAINT} have length less than or equal to 256",
    ),
    "a variable's name": (
        training(Environment={"MY-VARIABLE": ""}),
        f"Value 'MY-VARIABLE' at 'environment.key' {CONSTRAINT} satisfy regular expression pattern: "
        "[a-zA-Z_][a-zA-Z0-9_]*",
    ),
    "a variable of a training job": (
        training(Environment={"A": "a" * 513}),
        f"Value '{'a' * 513}' at 'environment.A.member' {CONSTRAINT} have length less than or equal to 512",
    ),
    "a variable of a processing job": (
        processing(Environment={"A": "a" * 257}),
        f"Value '{'a' * 257}' at 'environment.A.member' {CONSTRAINT} have length less than or equal to 256",
    ),
    "six security groups": (
        training(VpcConfig=network(SecurityGroupIds=["sg"] * 6)),
        f"Value '[sg, sg, sg, sg, sg, sg]' at 'vpcConfig.securityGroupIds' {CONSTRAINT} have length less than or "
        "equal to 5",
    ),
    "no subnet": (
        processing(NetworkConfig={"VpcConfig": network(Subnets=[])}),
        f"Value '[]' at 'networkConfig.vpcConfig.subnets' {CONSTRAINT} have length greater than or equal to 1",
    ),
    "a subnet's name": (
        training(VpcConfig=network(Subnets=["subnet_1"])),
        f"Value 'subnet_1' at 'vpcConfig.subnets.1.member' {CONSTRAINT} satisfy regular expression pattern: "
        "[-0-9a-zA-Z]+",
    ),
    "no entry point": (
        algorithm(ContainerEntrypoint=[]),
        f"Value '[]' at 'algorithmSpecification.containerEntrypoint' {CONSTRAINT} have length greater than or equal "
        "to 1",
    ),
    "an argument of a processing job": (
        application(ContainerArguments=["ok", LONG]),
        f"Value '{LONG}' at 'appSpecification.containerArguments.2.member' {CONSTRAINT} have length less than or "
        "equal to 256",
    ),
    "an image's name": (
        application(ImageUri=LONG),
        f"Value '{LONG}' at 'appSpecification.imageUri' {CONSTRAINT} have length less than or equal to 255",
    ),
    "an experiment's name": (
        training(ExperimentConfig={"ExperimentName": "a_b"}),
        f"Value 'a_b' at 'experimentConfig.experimentName' {CONSTRAINT} satisfy regular expression pattern: "
        "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,119}",
    ),
    "a hook's parameter": (
        hook(HookParameters={"": "x"}),
        f"Value '' at 'debugHookConfig.hookParameters.key' {CONSTRAINT} have length greater than or equal to 1",
    ),
    "a runtime of nothing": (
        processing(StoppingCondition={"MaxRuntimeInSeconds": 0}),
        f"Value '0' at 'stoppingCondition.maxRuntimeInSeconds' {CONSTRAINT} have value greater than or equal to 1",
    ),
    "a stopping condition of a processing job without a runtime": (
        processing(StoppingCondition={}),
        f"Value null at 'stoppingCondition.maxRuntimeInSeconds' {CONSTRAINT} not be null",
    ),
    "101 instances": (
        processing(cluster=single(CPU, 101)),
        f"Value '101' at 'processingResources.clusterConfig.instanceCount' {CONSTRAINT} have value less than or equal "
        "to 100",
    ),
    "a volume": (
        processing(cluster={**prefer(CPU), "VolumeSizeInGB": 16_385}),
        f"Value '16385' at 'processingResources.clusterConfig.volumeSizeInGB' {CONSTRAINT} have value less than or "
        "equal to 16384",
    ),
    "a plan": (
        training(resources=single(G5, TrainingPlanArn="december")),
        f"Value 'december' at 'resourceConfig.trainingPlanArn' {CONSTRAINT} have length greater than or equal to 50",
    ),
}


@pytest.mark.parametrize("case", ONE)
def test_one_breach(case):
    request, text = ONE[case]
    assert breaches(request)[0] == text


def test_all_breaches_come_in_one_answer_in_the_order_of_the_shape():
    found = breaches(training("under_score", RoleArn="short", Tags=[{"Value": "~"}]))
    assert [text.partition(" at '")[2].partition("'")[0] for text in found] == [
        "trainingJobName",
        "roleArn",
        "roleArn",
        "tags.1.member.key",
        "tags.1.member.value",
    ]


def test_constraints_come_before_every_other_rule():
    request = training("under_score", {**prefer(G5, G5), "InstanceType": G5})
    (only,) = breaches(request)
    assert "trainingJobName" in only


def test_null_in_a_list_or_a_map_is_a_breach():
    found = breaches(training(HyperParameters={"a": None}, Tags=[None]))
    assert found == [
        f"Value null at 'hyperParameters.a.member' {CONSTRAINT} not be null",
        f"Value null at 'tags.1.member' {CONSTRAINT} not be null",
    ]
