"""Each rule for a Create request, by the code and the words of the refusal."""

from typing import Any

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, PLAN, Bench, prefer, processing, single, training

SPOT = {"EnableManagedSpotTraining": True}
DECEMBER = {"name": "december", "type": P5, "count": 2, "blocks": [{"lasts": "2h"}]}


def refusal(bench: Bench, operation: str, request: dict[str, Any]) -> ApiError:
    with pytest.raises(ApiError) as caught:
        bench.call(operation, request)
    assert caught.value.status == 400
    return caught.value


def with_plan(resources: dict[str, Any], index: int = 0, arn: str = PLAN) -> dict[str, Any]:
    resources["InstancePreferences"][index]["TrainingPlanArns"] = [arn]
    return resources


def without_counts(resources: dict[str, Any], *indexes: int) -> dict[str, Any]:
    for index in indexes:
        del resources["InstancePreferences"][index]["InstanceCount"]
    return resources


SIX = ("ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.4xlarge", "ml.g5.8xlarge", "ml.g5.12xlarge", "ml.g5.16xlarge")

TRAINING = {
    "six entries": (
        training(resources=prefer(*SIX)),
        "at 'resourceConfig.instancePreferences' failed to satisfy constraint: "
        "Member must have length less than or equal to 5",
    ),
    "no entry": (training(resources={**prefer(), "InstanceCount": 1}), "length greater than or equal to 1"),
    "a type twice": (training(resources=prefer(G5, G5)), f"duplicate instance types: ['{G5}']"),
    "both counts": (training(resources={**prefer(G5), "InstanceCount": 1}), "mutually exclusive"),
    "no count": (training(resources=without_counts(prefer(G5), 0)), "InstanceCount is required"),
    "a count on some": (training(resources=without_counts(prefer(G5, P5), 1)), "must set its own InstanceCount"),
    "a count of 0": (training(resources=prefer((G5, 0))), "InstanceCount must be at least 1"),
    "a classic count of 0": (training(resources=single(G5, 0)), "InstanceCount must be at least 1"),
    "a type beside the list": (
        training(resources={**prefer(G5), "InstanceType": G5}),
        "InstancePreferences and InstanceType are mutually exclusive",
    ),
    "groups beside the list": (
        training(
            resources={
                **prefer(G5),
                "InstanceGroups": [{"InstanceType": G5, "InstanceCount": 1, "InstanceGroupName": "g"}],
            }
        ),
        "InstancePreferences and InstanceGroups are mutually exclusive",
    ),
    "a placement beside the list": (
        training(resources={**prefer(G5), "InstancePlacementConfig": {}}),
        "InstancePreferences and InstancePlacementConfig are mutually exclusive",
    ),
    "spot beside the list": (
        training(
            resources=prefer(G5),
            **SPOT,
            StoppingCondition={"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10},
        ),
        "InstancePreferences and EnableManagedSpotTraining are mutually exclusive",
    ),
    "spot on a plan": (
        training(resources=single(P5, TrainingPlanArn=PLAN), **SPOT),
        "TrainingPlanArn and EnableManagedSpotTraining are mutually exclusive",
    ),
    "both kinds of plan": (
        training(resources={**with_plan(prefer(P5)), "TrainingPlanArn": PLAN}),
        "TrainingPlanArn and TrainingPlanArns in InstancePreferences are mutually exclusive",
    ),
    "a plan for another type": (training(resources=with_plan(prefer(P4D))), f"is for instance type {P5}"),
    "a job's plan for no entry": (
        training(resources={**prefer(G5, P4D), "TrainingPlanArn": PLAN}),
        f"is for instance type {P5}, not for {G5}, {P4D}",
    ),
    "an unknown plan": (training(resources=with_plan(prefer(P5), arn=PLAN + "x")), "does not exist"),
    "two plans on an entry": (
        training(
            resources={
                "InstancePreferences": [{"InstanceType": P5, "InstanceCount": 1, "TrainingPlanArns": [PLAN, PLAN]}],
                "VolumeSizeInGB": 1,
            }
        ),
        "at 'resourceConfig.instancePreferences.1.member.trainingPlanArns' failed to satisfy constraint",
    ),
    "a selection in the request": (
        training(resources={**prefer(G5), "SelectedInstanceType": G5}),
        "SelectedInstanceType is read-only",
    ),
    "a selected count in the request": (
        training(resources={**prefer(G5), "SelectedInstanceCount": 1}),
        "SelectedInstanceCount is read-only",
    ),
    "a key with local storage": (
        training(resources={**prefer("ml.p3.2xlarge", G5), "VolumeKmsKeyId": "k"}),
        f"VolumeKmsKeyId is not supported for instance type {G5}",
    ),
    "no volume for an EBS type": (
        training(resources={"InstanceType": CPU, "InstanceCount": 1}),
        f"VolumeSizeInGB must be at least 1 for instance type {CPU}",
    ),
    "no type at all": (training(resources={"InstanceCount": 1}), "InstanceType or InstancePreferences"),
    "groups": (
        training(
            resources={
                "InstanceGroups": [{"InstanceType": G5, "InstanceCount": 1, "InstanceGroupName": "g"}],
            }
        ),
        "does not run InstanceGroups",
    ),
    "no resources": (
        {k: v for k, v in training().items() if k != "ResourceConfig"},
        "ResourceConfig is required",
    ),
    "no algorithm": (
        {k: v for k, v in training().items() if k != "AlgorithmSpecification"},
        "AlgorithmSpecification is required",
    ),
    "an image and an algorithm": (
        training(
            AlgorithmSpecification={
                "TrainingImage": "i",
                "AlgorithmName": "a",
                "TrainingInputMode": "File",
            }
        ),
        "Exactly one of TrainingImage and AlgorithmName",
    ),
    "an unknown type": (
        training(resources=prefer("ml.g5.huge")),
        "at 'resourceConfig.instancePreferences.1.member.instanceType' failed to satisfy constraint: "
        "Member must satisfy enum value set: [",
    ),
    "too short a pending limit": (
        training(StoppingCondition={"MaxPendingTimeInSeconds": 1799}),
        "1 validation error detected: Value '1799' at 'stoppingCondition.maxPendingTimeInSeconds' failed to satisfy "
        "constraint: Member must have value greater than or equal to 1800",
    ),
    "too long a pending limit": (
        training(StoppingCondition={"MaxPendingTimeInSeconds": 2_419_201}),
        "Member must have value less than or equal to 2419200",
    ),
    "too long a runtime": (
        training(StoppingCondition={"MaxRuntimeInSeconds": 28 * 86_400 + 1}),
        "MaxRuntimeInSeconds must be at most",
    ),
    "a wait limit without spot": (
        training(StoppingCondition={"MaxWaitTimeInSeconds": 10}),
        "Invalid MaxWaitTimeInSeconds. It is only supported when EnableManagedSpotTraining is set to true",
    ),
    "spot without a wait limit": (
        training(resources=single(G5), **SPOT),
        "MaxWaitTimeInSeconds is required when EnableManagedSpotTraining is set to true",
    ),
    "a wait limit below the runtime": (
        training(
            resources=single(G5),
            **SPOT,
            StoppingCondition={"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 9},
        ),
        "Invalid MaxWaitTimeInSeconds",
    ),
    "a bad name": (
        training(name="under_score"),
        "at 'trainingJobName' failed to satisfy constraint: Member must satisfy regular expression pattern: "
        "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}",
    ),
    "no role": (
        {k: v for k, v in training().items() if k != "RoleArn"},
        "Value null at 'roleArn' failed to satisfy constraint: Member must not be null",
    ),
    "a tag key twice": (
        training(Tags=[{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}]),
        "Duplicate tag key",
    ),
    "a reserved tag key": (training(Tags=[{"Key": "aws:x", "Value": "1"}]), "reserved for AWS"),
    "a tag value with other characters": (
        training(Tags=[{"Key": "a", "Value": "a~b"}]),
        "at 'tags.1.member.value' failed to satisfy constraint: Member must satisfy regular expression pattern",
    ),
    "a hyperparameter that is too long": (
        training(HyperParameters={"a": "x" * 2501}),
        "at 'hyperParameters.a.member' failed to satisfy constraint: Member must have length",
    ),
    "a type that the algorithm does not support": (
        training(
            resources=prefer(P5, G5),
            AlgorithmSpecification={"TrainingImage": "x/xgboost:1", "TrainingInputMode": "File"},
        ),
        f"Instance type {P5} is not supported by the algorithm",
    ),
}


@pytest.mark.parametrize("case", TRAINING)
def test_a_training_request_is_refused(case):
    request, words = TRAINING[case]
    bench = Bench(plans=[DECEMBER], algorithms={"*xgboost*": ["ml.g5.*", "ml.m5.*"]})
    error = refusal(bench, "CreateTrainingJob", request)
    assert error.code == "ValidationException"
    assert words in error.message
    assert not bench.call("ListTrainingJobs")["TrainingJobSummaries"]


PROCESSING = {
    "six entries": (processing(cluster=prefer(*SIX)), "less than or equal to 5"),
    "a type twice": (processing(cluster=prefer(CPU, CPU)), "duplicate instance types"),
    "both counts": (processing(cluster={**prefer(CPU), "InstanceCount": 1}), "mutually exclusive"),
    "a type beside the list": (
        processing(cluster={**prefer(CPU), "InstanceType": CPU}),
        "InstancePreferences and InstanceType are mutually exclusive",
    ),
    "a type that processing lacks": (processing(cluster=prefer(P5)), "Member must satisfy enum value set"),
    "no volume": (
        processing(cluster={"InstanceType": CPU, "InstanceCount": 1}),
        "Value null at 'processingResources.clusterConfig.volumeSizeInGB'",
    ),
    "a volume over the local storage": (
        processing(cluster={**prefer(G5), "VolumeSizeInGB": 251}),
        "greater than the total size of the local instance storage",
    ),
    "a key with local storage": (
        processing(cluster={**prefer(CPU, G5), "VolumeKmsKeyId": "k"}),
        "VolumeKmsKeyId is not supported",
    ),
    "a selection": (
        processing(cluster={**prefer(CPU), "SelectedInstanceType": CPU}),
        "SelectedInstanceType is read-only",
    ),
    "too long a runtime": (
        processing(StoppingCondition={"MaxRuntimeInSeconds": 777_601}),
        "less than or equal to 777600",
    ),
    "a type that the algorithm does not support": (
        processing(cluster=prefer(CPU, "ml.m4.xlarge"), AppSpecification={"ImageUri": "x/xgboost:1"}),
        "Instance type ml.m4.xlarge is not supported",
    ),
}


@pytest.mark.parametrize("case", PROCESSING)
def test_a_processing_request_is_refused(case):
    request, words = PROCESSING[case]
    error = refusal(Bench(algorithms={"*xgboost*": ["ml.m5.*"]}), "CreateProcessingJob", request)
    assert error.code == "ValidationException"
    assert words in error.message


def test_several_breaches_of_constraints_come_in_one_answer():
    error = refusal(Bench(), "CreateTrainingJob", training(name="a_b", RoleArn="short"))
    assert error.message.startswith("3 validation errors detected: ")


@pytest.mark.parametrize(
    "request_",
    [
        training(resources={**prefer(G5), "KeepAlivePeriodInSeconds": 60}),
        training(resources=without_counts({**prefer(G5, P5), "InstanceCount": 2}, 0, 1)),
        training(resources=with_plan(prefer(P5, G5))),
        training(resources=single(CPU), StoppingCondition={"MaxPendingTimeInSeconds": 1800}),
        training(resources={**prefer("ml.p3.2xlarge"), "VolumeKmsKeyId": "k"}),
        training(EnableManagedSpotTraining=False),
        training(AlgorithmSpecification={"TrainingImage": "x/xgboost:1", "TrainingInputMode": "File"}),
        training(Tags=[{"Key": "größe", "Value": "a b_c.d:e/f=g+h-i@j"}]),
        training(
            resources=single(G5),
            **SPOT,
            StoppingCondition={"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10},
        ),
    ],
)
def test_a_good_request_is_accepted(request_):
    bench = Bench(plans=[DECEMBER], algorithms={"*xgboost*": ["ml.g5.*"]})
    bench.call("CreateTrainingJob", request_)
    bench.advance(1)
    assert bench.state() == ("InProgress", "Training")


def test_a_plan_that_is_over_takes_no_job():
    bench = Bench(plans=[DECEMBER])
    bench.advance(7201)
    error = refusal(bench, "CreateTrainingJob", training(resources=with_plan(prefer(P5))))
    assert "is in status Expired; it must be Scheduled or Active" in error.message


def test_a_longer_list_and_unknown_types_pass_if_the_settings_say_so():
    bench = Bench(settings={"max_preferences": 6, "allow_unknown_types": True})
    bench.train("six", prefer(*SIX))
    bench.train("new", prefer("ml.g9.xlarge"))
    assert bench.state("new") == ("InProgress", "Training")


class TestNames:
    @pytest.mark.parametrize("end_first", [False, True])
    def test_a_name_that_was_used_once_stays_used(self, end_first):
        bench = Bench(seconds=10)
        bench.train()
        bench.advance(20 if end_first else 1)
        error = refusal(bench, "CreateTrainingJob", training())
        assert error.code == "ResourceInUse"
        assert "arn:aws:sagemaker:us-east-1:123456789012:training-job/job" in error.message

    def test_training_and_processing_jobs_may_share_a_name(self):
        bench = Bench()
        bench.train()
        bench.process()

    def test_an_unknown_job_is_a_validation_error(self):
        for operation in ("DescribeTrainingJob", "StopTrainingJob"):
            error = refusal(Bench(), operation, {"TrainingJobName": "none"})
            assert (error.code, error.message) == ("ValidationException", "Requested resource not found.")

    @pytest.mark.parametrize(("kind", "create"), [("Training", "train"), ("Processing", "process")])
    def test_an_ended_job_cannot_be_stopped(self, kind, create):
        bench = Bench(seconds=10)
        getattr(bench, create)()
        bench.advance(11)
        error = refusal(bench, f"Stop{kind}Job", {f"{kind}JobName": "job"})
        assert error.code == "ValidationException"
        expected = f"The request was rejected because the {kind.lower()} job is in status Completed."
        assert error.message == expected
