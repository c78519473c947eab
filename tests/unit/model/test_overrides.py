"""What a preference changes in the request, and what it leaves alone."""

from __future__ import annotations

import copy
from datetime import timedelta

import pytest

from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.overrides import Overrides, read_overrides

TRAINING = {
    "AlgorithmSpecification": {"AlgorithmName": "mine", "TrainingInputMode": "File"},
    "HyperParameters": {"batch_size": "32", "epochs": "3"},
    "Environment": {"A": "1"},
    "ResourceConfig": {"VolumeSizeInGB": 50, "KeepAlivePeriodInSeconds": 60},
    "StoppingCondition": {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 7200},
    "InputDataConfig": [
        {"ChannelName": "train", "InputMode": "File", "ContentType": "text/csv"},
        {"ChannelName": "test", "InputMode": "File"},
    ],
    "Unheard": {"Of": ["it"]},
}


def read(kind=JobKind.TRAINING, **written):
    return read_overrides(written, kind, "prefer, entry 1 (ml.g5.xlarge)")


def applied(**written):
    before = copy.deepcopy(TRAINING)
    result = read(**written).apply(TRAINING, "training")
    assert before == TRAINING
    return result


def changed(**parts):
    return {**TRAINING, **parts}


def test_nothing_is_changed_by_default():
    assert Overrides().apply(TRAINING, "training") == TRAINING
    assert not Overrides()
    assert not read(image=None)


def test_hyperparameters_and_environment_merge_key_by_key():
    assert applied(hyperparameters={"batch_size": "64", "lr": "0.1"}, environment={"B": "2"}) == changed(
        HyperParameters={"batch_size": "64", "epochs": "3", "lr": "0.1"}, Environment={"A": "1", "B": "2"}
    )


def test_they_are_added_where_the_request_has_none():
    assert read(hyperparameters={"a": "b"}).apply({}, "training") == {"HyperParameters": {"a": "b"}}


def test_numbers_and_booleans_become_the_strings_of_json():
    written = {"a": 64, "b": 0.1, "c": True, "d": "as it is"}
    assert applied(hyperparameters=written)["HyperParameters"] == {
        **TRAINING["HyperParameters"],
        "a": "64",
        "b": "0.1",
        "c": "true",
        "d": "as it is",
    }


def test_an_image_takes_the_place_of_a_named_algorithm():
    assert applied(image="img:2") == changed(
        AlgorithmSpecification={"TrainingInputMode": "File", "TrainingImage": "img:2"}
    )


def test_volume_and_runtime_replace_the_requests():
    assert applied(volume_size_gb="100", max_runtime=timedelta(hours=2)) == changed(
        ResourceConfig={"VolumeSizeInGB": 100, "KeepAlivePeriodInSeconds": 60},
        StoppingCondition={"MaxRuntimeInSeconds": 7200, "MaxPendingTimeInSeconds": 7200},
    )


@pytest.mark.parametrize(
    ("written", "config"),
    [
        ("s3://b/c", {"S3Uri": "s3://b/c"}),
        ({"S3Uri": "s3://b/c", "LocalPath": "/opt/ml/x"}, {"S3Uri": "s3://b/c", "LocalPath": "/opt/ml/x"}),
        ({"S3Uri": "s3://b/c", "LocalPath": None}, {"S3Uri": "s3://b/c"}),
    ],
)
def test_a_checkpoint_is_an_address_or_a_whole_config(written, config):
    assert applied(checkpoint=written) == changed(CheckpointConfig=config)


def test_settings_of_a_channel_replace_its_own_and_leave_the_rest():
    settings = {"train": {"InputMode": "FastFile", "ShuffleConfig": {"Seed": "7"}}}
    assert applied(channels=settings) == changed(
        InputDataConfig=[
            {
                "ChannelName": "train",
                "InputMode": "FastFile",
                "ContentType": "text/csv",
                "ShuffleConfig": {"Seed": 7},
            },
            {"ChannelName": "test", "InputMode": "File"},
        ]
    )


def test_processing_jobs_keep_them_in_their_own_places():
    request = {
        "AppSpecification": {"ImageUri": "img:1", "ContainerEntrypoint": ["run"]},
        "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 10}},
        "ProcessingInputs": [{"InputName": "in", "S3Input": {"S3Uri": "s3://a"}}],
    }
    overrides = read(
        JobKind.PROCESSING,
        image="img:2",
        volume_size_gb=20,
        max_runtime=60,
        environment={"A": "1"},
        channels={"in": {"S3Input": {"S3Uri": "s3://b"}}},
    )
    assert overrides.apply(request, "processing") == {
        "AppSpecification": {"ImageUri": "img:2", "ContainerEntrypoint": ["run"]},
        "ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 20}},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
        "Environment": {"A": "1"},
        "ProcessingInputs": [{"InputName": "in", "S3Input": {"S3Uri": "s3://b"}}],
    }


def test_equal_changes_are_equal_whatever_their_order():
    one = read(hyperparameters={"a": "1", "b": "2"}, channels={"x": {"p": 1, "q": 2}})
    other = read(channels={"x": {"q": 2, "p": 1}}, hyperparameters={"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert one != read(hyperparameters={"a": "1"})
    assert one


def test_the_repr_keeps_secrets_out():
    assert "hunter2" not in repr(read(environment={"P": "hunter2"}, hyperparameters={"P": "hunter2"}))


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"hyperparameters": "{'a': 1}"}, "a dict of strings, and it is str"),
        ({"hyperparameters": {"a": [1]}}, "'a' is list; json.dumps makes a string of it"),
        ({"environment": {"a": None}}, "'a' is NoneType"),
        ({"image": " "}, "a string, and it is ' '"),
        ({"image": 5}, "a string, and it is 5"),
        ({"volume_size_gb": 0}, "an integer of 1 or more, and it is 0"),
        ({"volume_size_gb": True}, "an integer of 1 or more, and it is True"),
        ({"max_runtime": "1h"}, "a timedelta or whole seconds, 1 or more, and it is '1h'"),
        ({"max_runtime": timedelta(0)}, "and it is datetime.timedelta(0)"),
        ({"checkpoint": "/local"}, "an s3:// address"),
        ({"checkpoint": {"LocalPath": "/x"}}, "an s3:// address"),
        ({"channels": ["train"]}, "a dict of dicts by the name of the channel"),
        ({"channels": {"train": "File"}}, "a dict of dicts by the name of the channel"),
        ({"channels": {"train": {"ChannelName": "x"}}}, "leave the name of the channel 'train' as it is"),
        ({"channels": {"train": {"a": object()}}}, "plain data, and for the channel 'train' it isn't"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_name(written, message):
    with pytest.raises(InvalidPreference) as caught:
        read(**written)
    place, remedy = str(caught.value).splitlines()
    assert place == f"prefer, entry 1 (ml.g5.xlarge): the override {next(iter(written))} can't be used."
    assert message in remedy


def test_a_secret_value_is_not_shown():
    with pytest.raises(InvalidPreference) as caught:
        read(environment={"P": ["hunter2"]})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", ["hyperparameters", "checkpoint"])
def test_processing_jobs_lack_what_is_for_training(name):
    with pytest.raises(InvalidPreference, match=f"processing jobs have no {name}"):
        read(JobKind.PROCESSING, **{name: {"a": "b"}})


def test_an_unknown_name_gets_a_suggestion():
    with pytest.raises(InvalidPreference, match=r"Did you mean hyperparameters\?"):
        read(HyperParameters={})
    with pytest.raises(InvalidPreference, match="there is no override 5"):
        read_overrides({5: 1}, JobKind.TRAINING, "here")


def test_overrides_have_to_be_a_dict():
    with pytest.raises(InvalidPreference, match=r"Overrides has to be a dict, and it is \['image'\]"):
        read_overrides(["image"], JobKind.TRAINING, "here")


@pytest.mark.parametrize(
    ("inputs", "missing"),
    [
        ([{"ChannelName": "train"}], ["val"]),
        (None, ["train", "val"]),
        ([{"ChannelName": "train"}, {"ChannelName": "val"}, "odd"], []),
        ([{"ChannelName": "{{ name }}"}], []),
        ("{{ channels }}", []),
    ],
)
def test_channels_that_the_request_lacks_are_found_once_they_are_known(inputs, missing):
    overrides = read(channels={"train": {}, "val": {}})
    assert overrides.missing_channels({"InputDataConfig": inputs}, "training") == missing
