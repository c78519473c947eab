"""The request around a list is judged before AWS sees it."""

from __future__ import annotations

import copy

import pytest

from airflow_sm_prefer.errors import InvalidInput, InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.overrides import Overrides
from airflow_sm_prefer.model.preference import AS_WRITTEN, CapacityKind, InstancePreference, PreferenceList
from airflow_sm_prefer.model.rules import validate_config, validate_request

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5"


def training(stopping=None, resources=None, **more):
    return {"ResourceConfig": {"VolumeSizeInGB": 30, **(resources or {})}, "StoppingCondition": stopping or {}, **more}


def processing(stopping=None, **cluster):
    return {
        "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 30, **cluster}},
        "StoppingCondition": stopping or {},
    }


def candidates(*names, **more):
    return PreferenceList(tuple(InstancePreference(name, **more) for name in names))


def said(config, preferences, kind="training", error=InvalidInput):
    with pytest.raises(error) as caught:
        validate_request(config, preferences, kind)
    assert len(str(caught.value).splitlines()) <= 5
    return str(caught.value)


def test_an_ordinary_request_passes_and_is_left_alone():
    config = training(
        {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800},
        {"KeepAlivePeriodInSeconds": 3600, "VolumeKmsKeyId": "key", "TrainingPlanArn": ARN},
        Unheard={"Of": "it"},
    )
    before = copy.deepcopy(config)
    validate_request(config, candidates("ml.p3.2xlarge", "ml.m5.large"), "training")
    validate_request(processing({"MaxRuntimeInSeconds": 60}), candidates("ml.g5.xlarge"), "processing")
    assert config == before


@pytest.mark.parametrize("key", ["SelectedInstanceType", "SelectedInstanceCount"])
def test_what_aws_selected_is_not_for_a_request(key):
    text = said(training(resources={key: 1}), candidates("ml.g5.xlarge"), error=InvalidRequest)
    assert text.startswith(f"config: ResourceConfig.{key} is not accepted in a request.\n")
    text = said(processing(**{key: 1}), candidates("ml.g5.xlarge"), "processing")
    assert text.startswith(f"config: ProcessingResources.ClusterConfig.{key} is not accepted")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (training({"MaxPendingTimeInSeconds": 1799}), "StoppingCondition.MaxPendingTimeInSeconds is 1799."),
        (training({"MaxPendingTimeInSeconds": 2_419_201}), "is 2419201.\nAWS takes 1800 to 2419200."),
        (training({"MaxPendingTimeInSeconds": "1h"}), "is '1h'.\nAWS wants an integer there."),
        (training({"MaxRuntimeInSeconds": 0}), "StoppingCondition.MaxRuntimeInSeconds is 0."),
        (training({"MaxRuntimeInSeconds": 2_419_201}), "AWS takes 1 to 2419200."),
        (training(resources={"KeepAlivePeriodInSeconds": -1}), "ResourceConfig.KeepAlivePeriodInSeconds is -1."),
        (training(resources={"KeepAlivePeriodInSeconds": 21_601}), "AWS takes 0 to 21600."),
        (training(resources={"TrainingPlanArn": "p5"}), "ResourceConfig.TrainingPlanArn is wrong: 'p5' is not the ARN"),
    ],
)
@pytest.mark.parametrize("preferences", [candidates("ml.g5.xlarge"), AS_WRITTEN])
def test_limits_of_training_jobs(config, message, preferences):
    assert message in said(config, preferences, error=InvalidRequest)


@pytest.mark.parametrize("value", [1800, 2_419_200, "7200"])
def test_the_ends_of_a_range_are_in_it(value):
    validate_request(training({"MaxPendingTimeInSeconds": value}), candidates("ml.m5.large"), "training")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (processing({"MaxRuntimeInSeconds": 777_601}), "AWS takes 1 to 777600."),
        (processing({"MaxPendingTimeInSeconds": 7200}), "MaxPendingTimeInSeconds doesn't exist for processing jobs.\n"),
        (processing({"MaxWaitTimeInSeconds": 7200}), "MaxWaitTimeInSeconds doesn't exist for processing jobs.\n"),
        (processing(VolumeSizeInGB=0), "ClusterConfig.VolumeSizeInGB is 0.\nAWS takes 1 to 16384."),
        (processing(VolumeSizeInGB=16_385), "ClusterConfig.VolumeSizeInGB is 16385."),
        (processing(VolumeSizeInGB=None), "ClusterConfig.VolumeSizeInGB is missing, and processing jobs need it."),
    ],
)
def test_limits_of_processing_jobs(config, message):
    assert message in said(config, candidates("ml.m5.large"), "processing", error=InvalidRequest)


# -- spot -------------------------------------------------------------------------------------------------

SPOT = candidates("ml.g5.xlarge", kind=CapacityKind.SPOT)


def test_a_wait_for_spot_needs_spot():
    text = said(training({"MaxWaitTimeInSeconds": 7200}), candidates("ml.g5.xlarge"), error=InvalidRequest)
    assert text.startswith("config: StoppingCondition.MaxWaitTimeInSeconds is for spot capacity")
    assert "max_pending" in text
    said(training({"MaxWaitTimeInSeconds": 7200}), AS_WRITTEN)


@pytest.mark.parametrize(
    ("stopping", "more"),
    [
        ({"MaxWaitTimeInSeconds": 3600, "MaxRuntimeInSeconds": 3600}, {}),
        ({"MaxWaitTimeInSeconds": 86_400}, {}),
        ({"MaxRuntimeInSeconds": 3600}, {}),
        ({"MaxWaitTimeInSeconds": 60}, {"overrides": Overrides(max_runtime=60)}),
    ],
)
def test_a_wait_for_spot_covers_the_run(stopping, more):
    validate_request(training(stopping), candidates("ml.g5.xlarge", kind=CapacityKind.SPOT, **more), "training")


@pytest.mark.parametrize(
    ("stopping", "more", "longest"),
    [
        ({"MaxWaitTimeInSeconds": 3599, "MaxRuntimeInSeconds": 3600}, {}, 3600),
        ({"MaxWaitTimeInSeconds": 3600}, {}, 86_400),
        ({"MaxWaitTimeInSeconds": 60, "MaxRuntimeInSeconds": 30}, {"overrides": Overrides(max_runtime=61)}, 61),
    ],
)
def test_a_wait_that_is_shorter_than_the_run_is_refused(stopping, more, longest):
    preferences = candidates("ml.g5.xlarge", kind=CapacityKind.SPOT, **more)
    assert f"and the job may run for {longest} seconds" in said(training(stopping), preferences, error=InvalidRequest)


def test_a_spot_request_that_goes_as_written_may_wait():
    config = training({"MaxWaitTimeInSeconds": 3600, "MaxRuntimeInSeconds": 60}, EnableManagedSpotTraining=True)
    validate_request(config, AS_WRITTEN, "training")
    config = training({"MaxWaitTimeInSeconds": 30, "MaxRuntimeInSeconds": 60}, EnableManagedSpotTraining=True)
    assert "may run for 60 seconds" in said(config, AS_WRITTEN)


# -- volumes ----------------------------------------------------------------------------------------------


def test_a_training_type_without_disks_needs_a_volume():
    text = said({"ResourceConfig": {}}, candidates("ml.g5.xlarge", "ml.m5.large"), error=InvalidPreference)
    assert text.startswith("entry 2 (ml.m5.large): the type has no disks of its own, and the request has no VolumeSize")
    own = candidates("ml.m5.large", overrides=Overrides(volume_size_gb=10))
    validate_request({"ResourceConfig": {}}, own, "training")
    validate_request({"ResourceConfig": {}}, candidates("ml.g5.xlarge"), "training")
    validate_request({"ResourceConfig": {}}, candidates("ml.m99.large"), "training")


def test_a_processing_volume_fits_the_types_own_disks():
    two = candidates("ml.g5.48xlarge", "ml.g5.xlarge")
    text = said(processing(VolumeSizeInGB=251), two, "processing", error=InvalidPreference)
    assert text.startswith("entry 2 (ml.g5.xlarge): VolumeSizeInGB is 251, and the type's own disks have 250 GB.")
    validate_request(processing(VolumeSizeInGB=250), two, "processing")


def test_a_processing_volume_may_be_any_where_there_are_no_disks_or_of_unknown_size():
    validate_request(processing(VolumeSizeInGB=16_384), candidates("ml.m5.large", "ml.r5d.large"), "processing")


def test_an_overridden_volume_is_what_counts():
    fits = candidates("ml.g5.xlarge", overrides=Overrides(volume_size_gb=250))
    validate_request(processing(VolumeSizeInGB=500), fits, "processing")
    validate_request({}, fits, "processing")
    over = candidates("ml.m5.large", overrides=Overrides(volume_size_gb=16_385))
    assert "entry 1 (ml.m5.large): its volume_size_gb is 16385.\nAWS takes 1 to 16384." in said(
        processing(), over, "processing"
    )


@pytest.mark.parametrize("name", ["ml.g5.xlarge", "ml.r5d.large", "ml.p3dn.24xlarge"])
def test_a_key_for_the_volume_is_refused_where_a_type_has_disks(name):
    text = said(training(resources={"VolumeKmsKeyId": "key"}), candidates("ml.m5.large", name))
    assert text.startswith(f"entry 2 ({name}): the type has disks of its own, and AWS takes no VolumeKmsKeyId for it.")
    assert "VolumeKmsKeyId" in said(processing(VolumeKmsKeyId="key"), candidates(name), "processing")


# -- overrides --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "most"), [("training", 2_419_200), ("processing", 777_600)])
def test_an_overridden_runtime_has_the_same_limit(kind, most):
    config = training() if kind == "training" else processing()
    validate_request(config, candidates("ml.m5.large", overrides=Overrides(max_runtime=most)), kind)
    text = said(config, candidates("ml.m5.large", overrides=Overrides(max_runtime=most + 1)), kind)
    assert text == f"entry 1 (ml.m5.large): its max_runtime is {most + 1} seconds.\nAWS takes 1 to {most}."


def test_an_override_for_a_channel_that_is_not_there_is_refused():
    preferences = candidates("ml.g5.xlarge", overrides=Overrides(channels=(("val", "{}"),)))
    config = training(InputDataConfig=[{"ChannelName": "train"}])
    text = said(config, preferences, error=InvalidPreference)
    assert text.startswith("entry 1 (ml.g5.xlarge): it changes channels that the request doesn't have: 'val'.")


def test_a_config_can_be_judged_before_its_list_is_known():
    validate_config(training({"MaxWaitTimeInSeconds": 5}), "training")
    with pytest.raises(InvalidRequest):
        validate_config(training({"MaxPendingTimeInSeconds": 5}), "training")


@pytest.mark.parametrize(
    "tags",
    [
        {"team": "vision"},
        "team=vision",
        ["team"],
        [{"team": "vision"}],
        [{"Key": "team"}],
        [{"Key": "team", "Value": 7}],
        [{"Key": None, "Value": "vision"}],
        [{"Key": "team", "Value": "vision", "More": "x"}],
    ],
)
def test_tags_of_another_shape_than_awss_are_refused(tags):
    message = said(training(Tags=tags), candidates("ml.g5.xlarge"), error=InvalidRequest)
    assert "config: Tags have to be a list of dicts" in message
    assert '[{"Key": "team", "Value": "vision"}]' in message


@pytest.mark.parametrize(
    "tags", [None, [], [{"Key": "team", "Value": "vision"}], [{"Key": "day", "Value": "{{ ds }}"}], "{{ tags }}"]
)
def test_tags_of_awss_shape_pass_and_what_is_still_a_template_does(tags):
    validate_request(training(Tags=tags), candidates("ml.g5.xlarge"), "training")
