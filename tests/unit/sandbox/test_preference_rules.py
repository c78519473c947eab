"""AWS's twenty rules for a preference list, each by its own name, for training and for processing where it holds."""

import json
from typing import Any

import pytest

from airflow_sm_prefer.sandbox import protocol
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, P4D, P5, PLAN, Bench, prefer, processing

KINDS = ("training", "processing")
EBS = "ml.m4.xlarge"
SIX = tuple(f"ml.g5.{size}" for size in ("xlarge", "2xlarge", "4xlarge", "8xlarge", "12xlarge", "16xlarge"))
PLANS = [
    {"name": "december", "type": P5, "count": 2, "blocks": [{"lasts": "2h"}]},
    {"name": "other", "type": P4D, "count": 2, "blocks": [{"lasts": "2h"}]},
]
OTHER_PLAN = PLAN.replace("december", "other")


def counted(count: int | None, *own: int | None) -> dict[str, Any]:
    """A list with a count of the cluster's and one of each entry's, or None for no count."""
    entries = [
        {"InstanceType": name} | ({} if count_ is None else {"InstanceCount": count_})
        for name, count_ in zip((G5, CPU, EBS), own, strict=False)
    ]
    cluster = {} if count is None else {"InstanceCount": count}
    return {"InstancePreferences": entries, "VolumeSizeInGB": 30, **cluster}


def on_plans(*pairs: tuple[str, str | None], **more: Any) -> dict[str, Any]:
    """A list of types and the plans of its entries."""
    entries = [
        {"InstanceType": name, "InstanceCount": 1} | ({} if arn is None else {"TrainingPlanArns": [arn]})
        for name, arn in pairs
    ]
    return {"InstancePreferences": entries, "VolumeSizeInGB": 30, **more}


def without_volume(*types: str) -> dict[str, Any]:
    return {"InstancePreferences": prefer(*types)["InstancePreferences"]}


def create(bench: Bench, kind: str, resources: dict[str, Any], **more: Any) -> None:
    if kind == "training":
        bench.train(resources=resources, **more)
    else:
        bench.process(cluster=resources, **more)


def refused(kind: str, resources: dict[str, Any], bench: Bench | None = None, **more: Any) -> str:
    """The words in which AWS refuses a request for its form."""
    with pytest.raises(ApiError) as caught:
        create(bench or Bench(plans=PLANS), kind, resources, **more)
    assert (caught.value.code, caught.value.status) == ("ValidationException", 400)
    return caught.value.message


def place(kind: str) -> str:
    return "resourceConfig" if kind == "training" else "processingResources.clusterConfig"


@pytest.mark.parametrize("kind", KINDS)
class TestLists:
    def test_rule_1_a_list_has_one_to_five_entries(self, kind):
        message = refused(kind, prefer(*SIX))
        assert message.startswith("1 validation error detected: Value '[")
        where = f"at '{place(kind)}.instancePreferences' failed to satisfy constraint: Member must have length"
        assert message.endswith(f"{where} less than or equal to 5")
        assert refused(kind, {**prefer(), "InstanceCount": 1}).endswith(f"{where} greater than or equal to 1")
        create(Bench(), kind, prefer(*SIX[:5]))

    def test_rule_2_a_type_appears_once(self, kind):
        assert f"must not contain duplicate instance types: ['{G5}']" in refused(kind, prefer(G5, CPU, (G5, 2)))

    def test_rule_3_a_count_is_the_lists_or_every_entrys(self, kind):
        assert "mutually exclusive" in refused(kind, counted(2, 1, 1))
        assert "mutually exclusive" in refused(kind, counted(2, 1, None))
        for some in (counted(None, None, None), counted(None, 1, None), counted(None, None, 1)):
            assert "every element of InstancePreferences must set its own InstanceCount" in refused(kind, some)
        create(Bench(), kind, counted(2, None, None))
        create(Bench(), kind, counted(None, 2, 1))

    def test_rule_4_a_list_excludes_instance_type(self, kind):
        words = "InstancePreferences and InstanceType are mutually exclusive."
        assert refused(kind, {**prefer(G5), "InstanceType": G5}) == words

    def test_rule_12_the_volume_is_that_of_whichever_type_wins(self, kind):
        bench = Bench(capacity={"ml.m4.xlarge": 0})
        create(bench, kind, {**prefer(EBS, CPU, G5), "VolumeSizeInGB": 77})
        bench.advance(1)
        resources = bench.training()["ResourceConfig"] if kind == "training" else cluster(bench)
        assert resources["VolumeSizeInGB"] == 77
        create(Bench(), kind, {**prefer(EBS, CPU), "VolumeKmsKeyId": "k"})

    def test_rule_13_a_key_is_refused_if_any_type_has_storage_of_its_own(self, kind):
        message = refused(kind, {**prefer(EBS, G5), "VolumeKmsKeyId": "k"})
        assert message == f"VolumeKmsKeyId is not supported for instance type {G5}, which has local storage."

    def test_rule_15_a_built_in_algorithm_supports_every_type_of_the_list(self, kind):
        bench = Bench(algorithms={"*xgboost*": ["ml.m5.*"]})
        image = "1.dkr.ecr.us-east-1.amazonaws.com/xgboost:1"
        more = {
            "training": {"AlgorithmSpecification": {"TrainingImage": image, "TrainingInputMode": "File"}},
            "processing": {"AppSpecification": {"ImageUri": image}},
        }[kind]
        assert f"Instance type {G5} is not supported" in refused(kind, prefer(CPU, G5), bench, **more)
        create(bench, kind, prefer(CPU, "ml.m5.2xlarge"), **more)

    def test_rule_16_every_entrys_quota_has_to_do_for_its_own_count(self, kind):
        bench = Bench(quotas={f"{EBS} for {kind} job usage": 1})
        with pytest.raises(ApiError) as caught:
            create(bench, kind, prefer((CPU, 5), (EBS, 2)))
        assert caught.value.code == "ResourceLimitExceeded"
        assert f"'{EBS} for {kind} job usage' is 1 Instances, with current utilization of 0" in caught.value.message
        assert "request delta of 2 Instances" in caught.value.message
        create(bench, kind, prefer((CPU, 5), (EBS, 1)))

    def test_rule_17_nobody_asks_whether_a_type_is_fit_for_the_work(self, kind):
        create(Bench(), kind, prefer(G5, CPU, "ml.g4dn.xlarge"))

    def test_rule_18_what_aws_selects_is_not_accepted_in_a_request(self, kind):
        for member, value in (("SelectedInstanceType", G5), ("SelectedInstanceCount", 1)):
            assert refused(kind, {**prefer(G5), member: value}).startswith(f"{member} is read-only")

    def test_rule_19_an_ebs_volume_has_a_quota(self, kind):
        with pytest.raises(ApiError, match=f"'Size of EBS volume for a {kind} job instance'") as caught:
            create(Bench(), kind, {**prefer(CPU, EBS), "VolumeSizeInGB": 1025})
        assert caught.value.code == "ResourceLimitExceeded"


def cluster(bench: Bench) -> dict[str, Any]:
    found: dict[str, Any] = bench.processing()["ProcessingResources"]["ClusterConfig"]
    return found


class TestTrainingOnly:
    def test_rule_5_a_list_excludes_instance_groups(self):
        groups = [{"InstanceType": G5, "InstanceCount": 1, "InstanceGroupName": "g"}]
        words = "InstancePreferences and InstanceGroups are mutually exclusive."
        assert refused("training", {**prefer(G5), "InstanceGroups": groups}) == words

    def test_rule_6_a_list_excludes_a_placement(self):
        words = "InstancePreferences and InstancePlacementConfig are mutually exclusive."
        assert refused("training", {**prefer(G5), "InstancePlacementConfig": {"EnableMultipleJobs": True}}) == words

    def test_rule_7_a_list_excludes_spot(self):
        limits = {"MaxRuntimeInSeconds": 10, "MaxWaitTimeInSeconds": 10}
        message = refused("training", prefer(G5), EnableManagedSpotTraining=True, StoppingCondition=limits)
        assert message == "InstancePreferences and EnableManagedSpotTraining are mutually exclusive."
        create(Bench(), "training", prefer(G5), EnableManagedSpotTraining=False)

    def test_rule_8_a_jobs_plan_belongs_to_the_entry_of_its_type(self):
        message = refused("training", on_plans((G5, None), (P4D, None), TrainingPlanArn=PLAN))
        assert message == f"Training plan {PLAN} is for instance type {P5}, not for {G5}, {P4D}."
        bench = Bench(plans=PLANS, capacity={G5: 0, P5: 0})
        bench.train(resources=on_plans((G5, None), (P5, None), TrainingPlanArn=PLAN))
        bench.advance(1)
        assert bench.training()["ResourceConfig"]["SelectedInstanceType"] == P5

    def test_rule_9_a_jobs_plan_excludes_plans_of_entries(self):
        message = refused("training", on_plans((P5, None), (P4D, OTHER_PLAN), TrainingPlanArn=PLAN))
        assert message == "TrainingPlanArn and TrainingPlanArns in InstancePreferences are mutually exclusive."

    def test_rule_10_an_entrys_plan_is_of_its_type_and_the_only_one(self):
        assert f"is for instance type {P5}, not for {P4D}" in refused("training", on_plans((P4D, PLAN)))
        two = on_plans((P5, PLAN))
        two["InstancePreferences"][0]["TrainingPlanArns"].append(OTHER_PLAN)
        assert refused("training", two).endswith(
            "at 'resourceConfig.instancePreferences.1.member.trainingPlanArns' failed to satisfy constraint: "
            "Member must have length less than or equal to 1"
        )
        create(Bench(plans=PLANS), "training", on_plans((P5, PLAN), (P4D, OTHER_PLAN), (G5, None)))

    def test_rule_11_instances_may_be_kept_whichever_type_wins(self):
        bench = Bench()
        bench.train(resources={**prefer(G5), "KeepAlivePeriodInSeconds": 60})
        assert bench.training()["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 60

    def test_rule_14_an_ebs_type_needs_a_volume_and_another_needs_none(self):
        words = f"VolumeSizeInGB must be at least 1 for instance type {EBS}."
        for volume in ({}, {"VolumeSizeInGB": 0}):
            assert refused("training", {**without_volume(G5, EBS), **volume}) == words
        create(Bench(), "training", without_volume(G5))

    def test_rule_20_a_pending_limit_beside_cpu_types_has_no_effect(self):
        bench = Bench(capacity={CPU: 0})
        bench.train(resources=prefer(CPU), StoppingCondition={"MaxPendingTimeInSeconds": 1800})
        assert bench.state() == ("Failed", "Failed")


class TestProcessingOnly:
    def test_rule_10_an_entry_has_no_plans(self):
        """The member isn't in the shape: AWS drops what its model doesn't have."""
        body = json.dumps(processing(cluster=on_plans((CPU, PLAN)))).encode()
        asked = protocol.read("sagemaker", "CreateProcessingJob", body)
        assert asked["ProcessingResources"]["ClusterConfig"] == prefer(CPU)

    def test_rule_14_a_volume_is_required_and_no_bigger_than_a_types_own_storage(self):
        assert refused("processing", without_volume(CPU)) == (
            "1 validation error detected: Value null at 'processingResources.clusterConfig.volumeSizeInGB' failed to "
            "satisfy constraint: Member must not be null"
        )
        message = refused("processing", {**prefer(CPU, G5), "VolumeSizeInGB": 251})
        assert "VolumeSizeInGB 251 is greater than the total size of the local instance storage" in message
        create(Bench(), "processing", {**prefer(CPU, G5), "VolumeSizeInGB": 250})


def test_the_lists_limit_is_the_settings():
    """SageMaker's SDK calls it configurable on AWS's side."""
    bench = Bench(settings={"max_preferences": 6})
    for kind in KINDS:
        create(bench, kind, prefer(*SIX))
