"""A training job's other settings, by the words of the refusal."""

from typing import Any

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, P5, Bench, single, training

RULE = {"RuleConfigurationName": "r", "RuleEvaluatorImage": "image"}
OTHER_RULE = {**RULE, "RuleConfigurationName": "s"}
VPC = {"SecurityGroupIds": ["sg-1"], "Subnets": ["subnet-1"]}
SERVERLESS = {
    "BaseModelArn": "arn:aws:sagemaker:us-east-1:aws:hub-content/SageMakerPublicHub/Model/base",
    "JobType": "FineTuning",
}


def image(**more: Any) -> dict[str, Any]:
    return {"AlgorithmSpecification": {"TrainingInputMode": "File", **more}}


def hook(*names: str) -> dict[str, Any]:
    collections = [{"CollectionName": name} for name in names]
    return {"DebugHookConfig": {"S3OutputPath": "s3://bucket/d", "CollectionConfigurations": collections}}


PRIVATE = image(TrainingImage="registry/image", TrainingImageConfig={"TrainingRepositoryAccessMode": "Vpc"})

REFUSED = {
    "neither an image nor an algorithm": (image(), "Exactly one of TrainingImage and AlgorithmName"),
    "an image and an algorithm": (image(TrainingImage="i", AlgorithmName="a"), "Exactly one of TrainingImage"),
    "a private registry outside of a VPC": (PRIVATE, "TrainingRepositoryAccessMode Vpc requires VpcConfig"),
    "an interval that the profiler does not have": (
        {"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 300}},
        "ProfilingIntervalInMilliseconds 300 must be one of [100, 200, 500, 1000, 5000, 60000].",
    ),
    "a debugger's rule twice": (
        {"DebugRuleConfigurations": [RULE, OTHER_RULE, RULE]},
        "DebugRuleConfigurations must not contain duplicate rule configuration names: ['r'].",
    ),
    "a profiler's rule twice": (
        {"ProfilerRuleConfigurations": [RULE, RULE]},
        "ProfilerRuleConfigurations must not contain duplicate rule configuration names: ['r'].",
    ),
    "a collection twice": (hook("a", "b", "a"), "must not contain duplicate collection names: ['a']."),
    "a placement outside of an UltraServer": (
        {"resources": single(P5, InstancePlacementConfig={"EnableMultipleJobs": True})},
        "InstancePlacementConfig is supported for UltraServer capacity only.",
    ),
    "a serverless job": ({"ServerlessJobConfig": SERVERLESS}, "This sandbox does not run serverless jobs."),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_setting_is_refused(case):
    more, words = REFUSED[case]
    with pytest.raises(ApiError) as caught:
        Bench().train(**more)
    assert caught.value.code == "ValidationException"
    assert words in caught.value.message


def test_a_serverless_job_is_refused_in_words_without_any_resources():
    request = training(ServerlessJobConfig=SERVERLESS)
    del request["ResourceConfig"]
    with pytest.raises(ApiError, match="does not run serverless jobs"):
        Bench().call("CreateTrainingJob", request)


@pytest.mark.parametrize(
    "more",
    [
        image(AlgorithmName="mine"),
        {**PRIVATE, "VpcConfig": VPC},
        {"ProfilerConfig": {"ProfilingIntervalInMilliseconds": 60_000}},
        {"DebugRuleConfigurations": [RULE, OTHER_RULE], "ProfilerRuleConfigurations": [RULE]},
        hook("a", "b"),
        {"resources": single("ml.p6e-gb200.36xlarge", InstancePlacementConfig={})},
        {"resources": single(CPU), "RetryStrategy": {"MaximumRetryAttempts": 30}},
    ],
)
def test_a_setting_is_accepted(more):
    Bench().train(**more)
