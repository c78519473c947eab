"""Rules and scripts of AWS's documentation, over the wire, by a client that checks nothing itself."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError, WaiterError

from airflow_sm_prefer.sandbox import Script, ScriptedRunner
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, PLAN, prefer, processing, single, training

SIX = ("ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.4xlarge", "ml.g5.8xlarge", "ml.g5.12xlarge", "ml.g5.16xlarge")
SCENARIO = {
    "rates": False,
    "plans": [{"name": "december", "type": P5, "count": 2}],
    "algorithms": {"*xgboost*": ["ml.m5.*", "ml.g5.*"]},
    "quotas": {f"{P4D} for training job usage": 1, "ml.c5.xlarge for processing job usage": 0},
}
INVALID, SHORT = "ValidationException", "ResourceLimitExceeded"


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    with SandboxServer(SCENARIO, runner=ScriptedRunner({"long*": Script(seconds=10_000)}, Script(seconds=0.1))) as one:
        yield one


def client(server: SandboxServer, service: str = "sagemaker") -> Any:
    once = {"total_max_attempts": 1, "mode": "standard"}
    return aws.client(server.endpoint_url, service, parameter_validation=False, retries=once)


def without_count(resources: dict[str, Any], index: int) -> dict[str, Any]:
    changed = copy.deepcopy(resources)
    del changed["InstancePreferences"][index]["InstanceCount"]
    return changed


def on_plan(resources: dict[str, Any], index: int = 0, arn: str = PLAN) -> dict[str, Any]:
    changed = copy.deepcopy(resources)
    changed["InstancePreferences"][index]["TrainingPlanArns"] = [arn]
    return changed


GROUP = [{"InstanceType": G5, "InstanceCount": 1, "InstanceGroupName": "g"}]
SPOT_LIMITS = {"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10}
XGBOOST = {"TrainingImage": "x/xgboost:1", "TrainingInputMode": "File"}
LENGTH = "failed to satisfy constraint: Member must have length less than or equal to 5"

#: The number of a rule in the order of the documentation's pages, what breaks it, and the answer.
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "1 training": (training(resources=prefer(*SIX)), INVALID, f"at 'resourceConfig.instancePreferences' {LENGTH}"),
    "1 processing": (
        processing(cluster=prefer(*SIX)),
        INVALID,
        f"at 'processingResources.clusterConfig.instancePreferences' {LENGTH}",
    ),
    "2 training": (training(resources=prefer(G5, P5, G5)), INVALID, f"duplicate instance types: ['{G5}']"),
    "2 processing": (processing(cluster=prefer(CPU, CPU)), INVALID, f"duplicate instance types: ['{CPU}']"),
    "3 both": (training(resources={**prefer(G5), "InstanceCount": 1}), INVALID, "are mutually exclusive"),
    "3 neither": (training(resources=without_count(prefer(G5), 0)), INVALID, "InstanceCount is required"),
    "3 some": (training(resources=without_count(prefer(G5, P5), 1)), INVALID, "must set its own InstanceCount"),
    "3 processing": (processing(cluster=without_count(prefer(CPU, G5), 1)), INVALID, "must set its own InstanceCount"),
    "4 training": (
        training(resources={**prefer(G5), "InstanceType": G5}),
        INVALID,
        "InstancePreferences and InstanceType are mutually exclusive.",
    ),
    "4 processing": (
        processing(cluster={**prefer(CPU), "InstanceType": CPU}),
        INVALID,
        "InstancePreferences and InstanceType are mutually exclusive.",
    ),
    "5": (
        training(resources={**prefer(G5), "InstanceGroups": GROUP}),
        INVALID,
        "InstancePreferences and InstanceGroups are mutually exclusive.",
    ),
    "6": (
        training(resources={**prefer(G5), "InstancePlacementConfig": {"EnableMultipleJobs": True}}),
        INVALID,
        "InstancePreferences and InstancePlacementConfig are mutually exclusive.",
    ),
    "7": (
        training(resources=prefer(G5), EnableManagedSpotTraining=True, StoppingCondition=SPOT_LIMITS),
        INVALID,
        "InstancePreferences and EnableManagedSpotTraining are mutually exclusive.",
    ),
    "8": (training(resources={**prefer(G5), "TrainingPlanArn": PLAN}), INVALID, f"is for instance type {P5}, not for"),
    "9": (
        training(resources={**on_plan(prefer(P5)), "TrainingPlanArn": PLAN}),
        INVALID,
        "TrainingPlanArn and TrainingPlanArns in InstancePreferences are mutually exclusive.",
    ),
    "10": (training(resources=on_plan(prefer(G5))), INVALID, f"is for instance type {P5}, not for {G5}."),
    "11": (
        training(resources={**prefer(G5), "KeepAlivePeriodInSeconds": 21_601}),
        INVALID,
        "at 'resourceConfig.keepAlivePeriodInSeconds' failed to satisfy constraint: Member must have value less than "
        "or equal to 21600",
    ),
    "12": (processing(cluster={**prefer(CPU), "VolumeSizeInGB": 16_385}), INVALID, "less than or equal to 16384"),
    "13": (training(resources={**prefer(CPU, G5), "VolumeKmsKeyId": "k"}), INVALID, "VolumeKmsKeyId is not supported"),
    "14 training": (training(resources={"InstanceType": CPU, "InstanceCount": 1}), INVALID, "VolumeSizeInGB must be"),
    "14 processing": (
        processing(cluster={**prefer(G5), "VolumeSizeInGB": 251}),
        INVALID,
        "greater than the total size of the local instance storage",
    ),
    "15": (
        training(resources=prefer(G5, P5), AlgorithmSpecification=XGBOOST),
        INVALID,
        f"Instance type {P5} is not supported by the algorithm",
    ),
    "16 training": (
        training(resources=prefer(G5, (P4D, 2))),
        SHORT,
        f"The account-level service limit '{P4D} for training job usage' is 1 Instances, with current utilization of "
        "0 Instances and a request delta of 2 Instances.",
    ),
    "16 processing": (
        processing(cluster=prefer(CPU, "ml.c5.xlarge")),
        SHORT,
        "'ml.c5.xlarge for processing job usage'",
    ),
    "18": (
        training(resources={**prefer(G5), "SelectedInstanceCount": 1}),
        INVALID,
        "SelectedInstanceCount is read-only",
    ),
    "19 training": (
        training(resources={**prefer(CPU), "VolumeSizeInGB": 1025}),
        SHORT,
        "'Size of EBS volume for a training job instance' is greater than the account-level service-limit of 1024",
    ),
    "19 processing": (
        processing(cluster={**prefer(CPU), "VolumeSizeInGB": 1025}),
        SHORT,
        "'Size of EBS volume for a processing job instance' is greater than the account-level service-limit of 1024",
    ),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_request_that_breaks_a_rule_is_refused_and_leaves_no_job(server: SandboxServer, rule: str) -> None:
    request, code, words = REFUSED[rule]
    sagemaker = client(server)
    kind = "training" if "TrainingJobName" in request else "processing"
    with pytest.raises(ClientError) as caught:
        getattr(sagemaker, f"create_{kind}_job")(**request)
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400
    assert caught.value.response["Error"]["Code"] == code
    assert words in caught.value.response["Error"]["Message"]
    assert not getattr(sagemaker, f"list_{kind}_jobs")(NameContains="job", StatusEquals="InProgress")[
        f"{kind.title()}JobSummaries"
    ]


#: What a rule lets through, by its number.
ACCEPTED = {
    "3": {"InstancePreferences": [{"InstanceType": P5}, {"InstanceType": G5}], "InstanceCount": 1},
    "8": {**prefer(P5, G5), "TrainingPlanArn": PLAN},
    "10": on_plan(prefer(P5, G5)),
    "11": {**prefer(G5), "KeepAlivePeriodInSeconds": 3600},
    "14": {"InstanceType": G5, "InstanceCount": 1},
    "17": prefer("ml.trn1.2xlarge", "ml.p3.2xlarge"),
    "20": prefer(CPU),
}


@pytest.mark.parametrize("rule", ACCEPTED)
def test_what_a_rule_allows_is_accepted(server: SandboxServer, rule: str) -> None:
    sagemaker, name = client(server), f"accepted-{rule}"
    stopping = {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
    sagemaker.create_training_job(**training(name, ACCEPTED[rule], StoppingCondition=stopping))
    waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
    waiter.wait(TrainingJobName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 20})
    assert sagemaker.describe_training_job(TrainingJobName=name)["TrainingJobStatus"] == "Completed"


class TestScripts:
    """Scripts in the shape of those in the developer guide."""

    def test_a_list_with_a_plan_first_waits_and_takes_what_comes_free(self, server: SandboxServer) -> None:
        sagemaker, control = client(server), SandboxControl(server.endpoint_url)
        control.set_capacity({"ml.g6.xlarge": 0, "ml.g6.2xlarge": 0})
        wanted = prefer("ml.g6.xlarge", ("ml.g6.2xlarge", 2))
        limits = {"MaxRuntimeInSeconds": 86400, "MaxPendingTimeInSeconds": 7200}
        sagemaker.create_training_job(**training("waiting", wanted, StoppingCondition=limits))
        before = sagemaker.describe_training_job(TrainingJobName="waiting")
        assert before["SecondaryStatus"] == "Pending"
        assert "SelectedInstanceType" not in before["ResourceConfig"]
        control.set_capacity({"ml.g6.2xlarge": 2})
        waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName="waiting", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
        after = sagemaker.describe_training_job(TrainingJobName="waiting")["ResourceConfig"]
        assert (after["SelectedInstanceType"], after["SelectedInstanceCount"]) == ("ml.g6.2xlarge", 2)
        assert after["InstancePreferences"] == wanted["InstancePreferences"]
        assert not {"InstanceType", "InstanceCount"} & after.keys()

    def test_a_processing_job_is_waited_for(self, server: SandboxServer) -> None:
        sagemaker = client(server)
        sagemaker.create_processing_job(**processing("documented"))
        waiter = sagemaker.get_waiter("processing_job_completed_or_stopped")
        waiter.wait(ProcessingJobName="documented", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
        job = sagemaker.describe_processing_job(ProcessingJobName="documented")
        assert job["ProcessingResources"]["ClusterConfig"]["SelectedInstanceType"] == CPU

    def test_a_waiter_fails_for_a_job_that_is_not_there(self, server: SandboxServer) -> None:
        with pytest.raises(WaiterError, match="ValidationException"):
            client(server).get_waiter("training_job_completed_or_stopped").wait(TrainingJobName="none")

    def test_jobs_are_paged_through_and_searched(self, server: SandboxServer) -> None:
        sagemaker = client(server)
        for number in range(5):
            sagemaker.create_training_job(
                **training(f"long-page-{number}", single(G5), Tags=[{"Key": "set", "Value": "pages"}])
            )
        pages = sagemaker.get_paginator("list_training_jobs").paginate(
            NameContains="long-page", SortBy="Name", SortOrder="Ascending", PaginationConfig={"PageSize": 2}
        )
        names = [[row["TrainingJobName"][-1] for row in page["TrainingJobSummaries"]] for page in pages]
        # A name is looked for in a page that is cut already, so that pages are short and may be empty.
        assert [one for page in names for one in page] == ["0", "1", "2", "3", "4"]
        assert max(map(len, names)) == 2
        found = sagemaker.get_paginator("search").paginate(
            Resource="TrainingJob",
            SearchExpression={
                "Filters": [
                    {"Name": "Tags.set", "Operator": "Equals", "Value": "pages"},
                    {"Name": "TrainingJobStatus", "Operator": "Equals", "Value": "InProgress"},
                ]
            },
            SortBy="CreationTime",
            SortOrder="Ascending",
            PaginationConfig={"PageSize": 2},
        )
        jobs = [result["TrainingJob"]["TrainingJobName"] for page in found for result in page["Results"]]
        assert jobs == [f"long-page-{number}" for number in range(5)]

    def test_quotas_are_paged_through(self, server: SandboxServer) -> None:
        pages = client(server, "service-quotas").get_paginator("list_service_quotas").paginate(ServiceCode="sagemaker")
        values = {quota["QuotaName"]: quota["Value"] for page in pages for quota in page["Quotas"]}
        assert values[f"{P4D} for training job usage"] == 1
        assert len(values) > 400

    def test_an_ended_job_is_not_stopped_and_a_live_one_is_not_deleted(self, server: SandboxServer) -> None:
        sagemaker = client(server)
        sagemaker.create_training_job(**training("long-live", single(G5)))
        with pytest.raises(ClientError, match="ResourceInUse"):
            sagemaker.delete_training_job(TrainingJobName="long-live")
        sagemaker.stop_training_job(TrainingJobName="long-live")
        waiter = sagemaker.get_waiter("training_job_completed_or_stopped")
        waiter.wait(TrainingJobName="long-live", WaiterConfig={"Delay": 1, "MaxAttempts": 20})
        with pytest.raises(ClientError, match="The request was rejected because the training job is in status Stopped"):
            sagemaker.stop_training_job(TrainingJobName="long-live")
        sagemaker.delete_training_job(TrainingJobName="long-live")
        with pytest.raises(ClientError, match="Requested resource not found"):
            sagemaker.describe_training_job(TrainingJobName="long-live")
