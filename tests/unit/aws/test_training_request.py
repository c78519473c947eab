"""A training request, checked as SageMaker would."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import botocore.session
import pytest

from airflow_sm_prefer.aws.training_request import check_training_request
from airflow_sm_prefer.errors import InvalidRequest

GOOD: dict[str, Any] = {
    "TrainingJobName": "nightly",
    "AlgorithmSpecification": {
        "TrainingImage": "123456789012.dkr.ecr.us-east-1.amazonaws.com/trainer:1",
        "TrainingInputMode": "File",
        "MetricDefinitions": [{"Name": "loss", "Regex": "loss=(.*)"}],
    },
    "RoleArn": "arn:aws:iam::123456789012:role/training",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/models", "KmsKeyId": ""},
    "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 2, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    "HyperParameters": {"lr": "0.1", "layers": "[1, 2, 3]"},
    "Environment": {"LONG": "a\nb"},
    "InputDataConfig": [
        {
            "ChannelName": "train",
            "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/data/"}},
        }
    ],
    "CheckpointConfig": {"S3Uri": "s3://bucket/checkpoints", "LocalPath": "/opt/ml/checkpoints"},
    "VpcConfig": {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]},
    "RetryStrategy": {"MaximumRetryAttempts": 30},
    "EnableNetworkIsolation": True,
}


def changed(path: str, value: Any) -> dict[str, Any]:
    request = copy.deepcopy(GOOD)
    part: Any = request
    *parents, last = path.split(".")
    for key in parents:
        part = part[int(key) if key.isdigit() else key]
    if value is None:
        del part[last]
    else:
        part[last] = value
    return request


def said(request: dict[str, Any]) -> str:
    with pytest.raises(InvalidRequest) as caught:
        check_training_request(request)
    message = str(caught.value)
    assert message.startswith("config: SageMaker would refuse it when its turn comes in the queue.\n")
    assert len(message.splitlines()) <= 5
    return message


def test_what_sagemaker_takes_is_let_through() -> None:
    before = copy.deepcopy(GOOD)
    check_training_request(GOOD)
    assert before == GOOD


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("OutputDataConfig", None, ['Missing required parameter in input: "OutputDataConfig"']),
        ("AlgorithmSpecification.TrainingInputMode", None, ["AlgorithmSpecification", "TrainingInputMode"]),
        ("Hyperparameters", {}, ["Hyperparameters"]),
        ("HyperParameters.lr", 0.1, ["HyperParameters.lr", "str"]),
        ("StoppingCondition.MaxRuntimeInSeconds", 0, ["MaxRuntimeInSeconds", "0"]),
        ("ResourceConfig.InstanceCount", "2", ["InstanceCount", "int"]),
        ("RoleArn", "arn:aws:s3:::no-role-at-all", ["RoleArn doesn't have the form that AWS wants"]),
        ("TrainingJobName", "not_this", ["TrainingJobName doesn't have the form"]),
        ("TrainingJobName", "n" * 64, ["TrainingJobName", "64 long, and AWS takes 63 at most"]),
        ("OutputDataConfig.S3OutputPath", "/local/models", ["OutputDataConfig.S3OutputPath doesn't have the form"]),
        ("HyperParameters.lr", "x" * 2501, ["HyperParameters.lr is 2501 long, and AWS takes 2500 at most"]),
        ("HyperParameters", {"k" * 257: "v"}, ["HyperParameters (key 'kkk", "257 long, and AWS takes 256"]),
        ("HyperParameters", {f"k{n}": "v" for n in range(101)}, ["HyperParameters is 101 long, and AWS takes 100"]),
        ("RetryStrategy.MaximumRetryAttempts", 31, ["RetryStrategy.MaximumRetryAttempts is 31, and AWS takes 30"]),
        ("InputDataConfig.0.ChannelName", "my channel", ["InputDataConfig[0].ChannelName doesn't have the form"]),
        ("InputDataConfig.0.DataSource.S3DataSource.S3Uri", "gs://b", ["[0].DataSource.S3DataSource.S3Uri"]),
        ("VpcConfig.SecurityGroupIds", [f"sg-{n}" for n in range(6)], ["VpcConfig.SecurityGroupIds is 6 long"]),
    ],
)  # fmt: skip
def test_what_sagemaker_would_refuse_is_refused_with_the_member(path: str, value: Any, says: list[str]) -> None:
    message = said(changed(path, value))
    for words in says:
        assert words in message


def test_three_problems_are_named_and_the_others_counted() -> None:
    request = changed("HyperParameters", {f"k{n}": "x" * 3000 for n in range(5)})
    assert said(request).splitlines()[-1] == "and 2 more."
    assert "more" not in said(changed("HyperParameters", {f"k{n}": "x" * 3000 for n in range(3)}))


def test_every_pattern_of_the_model_that_python_reads_is_read_without_a_warning() -> None:
    from airflow_sm_prefer.aws.training_request import _compiled

    patterns = set()
    seen = set()

    def collect(shape: Any) -> None:
        if shape.name in seen:
            return
        seen.add(shape.name)
        patterns.add(shape.metadata.get("pattern"))
        members = list(shape.members.values()) if shape.type_name == "structure" else []
        members += [shape.member] if shape.type_name == "list" else []
        members += [shape.key, shape.value] if shape.type_name == "map" else []
        for member in members:
            collect(member)

    model = botocore.session.get_session().get_service_model("sagemaker")
    collect(model.operation_model("CreateTrainingJob").input_shape)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unread = {pattern for pattern in patterns if pattern and _compiled(pattern) is None}
    assert all("\\p{" in pattern for pattern in unread), "only Java's own classes are past Python"
