"""From what a DAG author wrote to a preference list."""

from __future__ import annotations

import copy

import pytest

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidInput, InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.helpers import on_demand, spot, training_plan
from airflow_sm_prefer.model.overrides import Overrides
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import CapacityKind, InstancePreference, PreferenceList

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p5"
OTHER = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/p4d"
KNOWN = {"training": catalog.TRAINING_TYPES, "processing": catalog.PROCESSING_TYPES}


def config_of(kind="training", **resources):
    if kind == "training":
        return {"ResourceConfig": resources}
    return {"ProcessingResources": {"ClusterConfig": resources}}


def parse(prefer, kind="training", config=None, **more):
    config = config_of(kind) if config is None else config
    return parse_preferences(prefer, kind=kind, config=config, known_types=KNOWN[kind], **more)


def native(name, count=None, **more):
    return {"InstanceType": name, **({} if count is None else {"InstanceCount": count}), **more}


def said(*args, error=InvalidPreference, **more):
    with pytest.raises(error) as caught:
        parse(*args, **more)
    assert len(str(caught.value).splitlines()) <= 5
    return str(caught.value)


# -- what works -------------------------------------------------------------------------------------------


def test_every_way_of_writing_goes_into_one_list_in_order():
    found = parse(
        [
            training_plan("ml.p5.48xlarge", arn=ARN),
            "ml.p5.48xlarge",
            on_demand("ml.p4d.24xlarge", count=2, hyperparameters={"batch_size": "64"}),
            native("ml.g6.48xlarge", "3"),
            spot("ml.g5.48xlarge", count=4),
            training_plan("ml.p4d.24xlarge", OTHER, wait_for_plan="True"),
        ]
    )
    assert found == PreferenceList(
        (
            InstancePreference("ml.p5.48xlarge", 1, CapacityKind.TRAINING_PLAN, ARN),
            InstancePreference("ml.p5.48xlarge", 1),
            InstancePreference("ml.p4d.24xlarge", 2, overrides=Overrides(hyperparameters=(("batch_size", "64"),))),
            InstancePreference("ml.g6.48xlarge", 3),
            InstancePreference("ml.g5.48xlarge", 4, CapacityKind.SPOT),
            InstancePreference("ml.p4d.24xlarge", 1, CapacityKind.TRAINING_PLAN, OTHER, wait_for_plan=True),
        )
    )


def test_strings_and_helpers_without_a_count_take_the_configs():
    found = parse(["ml.g5.xlarge", on_demand("ml.g6.xlarge", count=5)], config=config_of(InstanceCount="2"))
    assert [p.instance_count for p in found] == [2, 5]
    assert found.uniform_count is None


def test_awss_dict_beside_a_helper_is_counted_like_a_helper():
    found = parse([native("ml.g5.xlarge"), "ml.g6.xlarge"], config=config_of(InstanceCount=3))
    assert [p.instance_count for p in found] == [3, 3]


def test_a_list_of_strings_may_be_long_and_repeat_itself():
    names = ["ml.g5.xlarge", "ml.g6.xlarge"] * 4
    assert [p.instance_type for p in parse(names)] == names


def test_awss_own_list_keeps_the_count_of_the_cluster():
    found = parse([native("ml.g5.xlarge"), native("ml.g6.xlarge")], config=config_of(InstanceCount=3))
    assert found.uniform_count == 3
    assert [p.instance_count for p in found] == [None, None]
    assert [found.count_of(n) for n in (0, 1)] == [3, 3]


def test_awss_own_list_keeps_the_counts_of_its_entries():
    found = parse([native("ml.p5.48xlarge", 1, TrainingPlanArns=[ARN]), native("ml.g6.xlarge", 2)])
    assert [p.instance_count for p in found] == [1, 2]
    assert found.preferences[0].kind is CapacityKind.TRAINING_PLAN
    assert found.uniform_count is None


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_a_list_inside_the_config_works(kind):
    config = config_of(kind, InstancePreferences=[native("ml.g5.xlarge", 1), native("ml.m5.large", 2)])
    assert [p.instance_type for p in parse(None, kind, config)] == ["ml.g5.xlarge", "ml.m5.large"]


def test_a_list_inside_the_config_may_be_a_rendered_string():
    config = config_of(InstancePreferences='["ml.g5.xlarge"]')
    assert [p.instance_type for p in parse(None, config=config)] == ["ml.g5.xlarge"]


def test_a_rendered_string_is_a_list_too():
    found = parse('[{"InstanceType": " ml.g5.xlarge", "InstanceCount": "2"}, "ml.g6.xlarge"]')
    assert [(p.instance_type, p.instance_count) for p in found] == [("ml.g5.xlarge", 2), ("ml.g6.xlarge", 1)]


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_without_a_list_the_configs_type_is_a_list_of_one(kind):
    found = parse(None, kind, config_of(kind, InstanceType="ml.g5.xlarge", InstanceCount="2"))
    assert found == PreferenceList((InstancePreference("ml.g5.xlarge", 2),))


def test_without_a_count_the_list_of_one_is_of_one_instance():
    assert parse(None, config=config_of(InstanceType="ml.g5.xlarge")).count_of(0) == 1


def test_managed_spot_training_is_a_spot_list_of_one():
    config = {**config_of(InstanceType="ml.g5.xlarge"), "EnableManagedSpotTraining": True}
    assert parse(None, config=config).preferences[0].kind is CapacityKind.SPOT


def test_a_plan_for_the_whole_job_is_waited_for_as_aws_does():
    only = parse(None, config=config_of(InstanceType="ml.p5.48xlarge", TrainingPlanArn=ARN)).preferences[0]
    assert (only.kind, only.training_plan_arn, only.wait_for_plan) == (CapacityKind.TRAINING_PLAN, ARN, True)


def test_a_plan_for_the_whole_job_may_stand_beside_a_list_that_it_fits():
    config = config_of(TrainingPlanArn=ARN)
    assert [p.kind for p in parse(["ml.g5.xlarge", "ml.p5.48xlarge"], config=config)] == [CapacityKind.ON_DEMAND] * 2


def test_one_plan_may_be_named_twice_for_its_type():
    found = parse([training_plan("ml.p5.48xlarge", ARN), training_plan("ml.p5.48xlarge", ARN, count=2)])
    assert [p.instance_count for p in found] == [1, 2]


@pytest.mark.parametrize(
    "config",
    [
        config_of(InstanceGroups=[{"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "InstanceGroupName": "a"}]),
        config_of(InstanceType="ml.p6e-gb200.36xlarge", InstancePlacementConfig={"EnableMultipleJobs": True}),
        {"ServerlessJobConfig": {"BaseModelArn": "x"}},
    ],
)
def test_what_names_its_instances_in_another_way_goes_as_written(config):
    assert parse(None, config=config) == PreferenceList((), as_written=True)


def test_false_and_empty_things_may_stand_beside_a_list():
    config = {**config_of(InstanceGroups=[], InstanceType=None), "EnableManagedSpotTraining": False}
    assert len(parse(["ml.g5.xlarge"], config=config).preferences) == 1


def test_types_newer_than_botocore_pass_when_told_so():
    assert parse(["ml.p9.48xlarge"], allow_unknown_types=True).preferences[0].instance_type == "ml.p9.48xlarge"


def test_nothing_that_is_handed_in_changes():
    prefer = [training_plan("ml.p5.48xlarge", ARN), native("ml.g5.xlarge"), spot("ml.g5.xlarge", channels={"a": {}})]
    config = config_of(InstanceCount="2", VolumeSizeInGB="1")
    before = copy.deepcopy((prefer, config))
    assert parse(prefer, config=config) == parse(prefer, config=config)
    assert (prefer, config) == before


# -- what is refused --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("ml.g5.xlagre", "prefer, entry 2 (ml.g5.xlagre): the installed botocore knows no training instance type"),
        ("g5.xlarge", "prefer, entry 2 (g5.xlarge): 'g5.xlarge' is no SageMaker instance type"),
        (5, "prefer, entry 2: it is 5."),
        (None, "prefer, entry 2: it is None."),
        (["ml.g5.xlarge"], "prefer, entry 2: it is ['ml.g5.xlarge']."),
        ("", "prefer, entry 2: its InstanceType is ''."),
        ("ml.g5.xlarge, ml.g6.xlarge", "prefer, entry 2: its InstanceType is 'ml.g5.xlarge, ml.g6.xlarge'."),
        ("{{ params.first }}", "prefer, entry 2: its InstanceType is '{{ params.first }}'."),
        ({"InstanceCount": 1}, "prefer, entry 2: its InstanceType is None."),
        ({"InstanceTyp": "ml.g5.xlarge"}, "Did you mean InstanceType"),
        ({5: 1}, "prefer, entry 2: there is no key 5."),
        (native("ml.g5.xlarge", 0), "prefer, entry 2 (ml.g5.xlarge): the InstanceCount is 0."),
        (native("ml.g5.xlarge", -1), "the InstanceCount is -1."),
        (native("ml.g5.xlarge", True), "the InstanceCount can't be read: True is not an integer."),
        (native("ml.g5.xlarge", 1.0), "the InstanceCount can't be read: 1.0 is not an integer."),
        (native("ml.g5.xlarge", "8x"), "the InstanceCount can't be read: '8x' is not an integer."),
        (native("ml.g5.xlarge", Capacity="on-demand"), "Did you mean on_demand?"),
        (native("ml.g5.xlarge", Capacity=3), "there is no Capacity 3."),
        (native("ml.g5.xlarge", Capacity=["spot"]), "there is no Capacity ['spot']."),
        (native("ml.p5.48xlarge", TrainingPlanArns=[]), "a list of exactly one ARN, and it is []"),
        (native("ml.p5.48xlarge", TrainingPlanArns=[ARN, OTHER]), "a list of exactly one ARN"),
        (native("ml.p5.48xlarge", TrainingPlanArns=ARN), "a list of exactly one ARN"),
        (native("ml.p5.48xlarge", Capacity="training_plan"), "a list of exactly one ARN, and it is None"),
        (
            native("ml.p5.48xlarge", Capacity="spot", TrainingPlanArns=[ARN]),
            "its Capacity is spot, and it has Training",
        ),
        (training_plan("ml.p5.48xlarge", "arn:aws:s3:::bucket"), "'arn:aws:s3:::bucket' is not the ARN of a training"),
        (training_plan("ml.p5.48xlarge", ARN + "x" * 2000), "is not the ARN of a training plan"),
        (training_plan("ml.p5.48xlarge", None), "None is not the ARN of a training plan"),
        (training_plan("ml.g5.xlarge", ARN), "there are no training plans for ml.g5.xlarge."),
        (native("ml.g5.xlarge", WaitForPlan=True), "it is to wait for a plan and has none."),
        (training_plan("ml.p5.48xlarge", ARN, wait_for_plan="perhaps"), "WaitForPlan can't be read: 'perhaps'"),
        (on_demand("ml.g5.xlarge", image=""), "the override image can't be used"),
        (native("ml.g5.xlarge", Overrides=[1]), "Overrides has to be a dict"),
    ],
)
def test_an_entry_that_cannot_work_is_named(entry, message):
    assert message in said(["ml.g6.xlarge", entry])


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (spot("ml.g5.xlarge"), "entry 1 (ml.g5.xlarge): processing jobs can't use spot capacity."),
        (native("ml.p5.4xlarge", TrainingPlanArns=[ARN]), "processing jobs can't use training plans."),
        ("ml.p4d.24xlarge", "processing jobs can't run on ml.p4d.24xlarge, only training jobs can."),
        (native("ml.g5.xlarge", 101), "the InstanceCount is 101.\nA processing job can have 100 at most."),
        (on_demand("ml.g5.xlarge", hyperparameters={"a": "b"}), "processing jobs have no hyperparameters."),
    ],
)
def test_processing_jobs_have_less_to_choose_from(entry, message):
    assert message in said([entry], "processing")


def test_a_processing_job_may_have_a_hundred_instances_and_a_training_job_more():
    assert parse([native("ml.g5.xlarge", 100)], "processing").count_of(0) == 100
    assert parse([native("ml.g5.xlarge", 101)]).count_of(0) == 101


def test_an_empty_list_is_refused_wherever_it_is():
    assert said([]).startswith("prefer: the list is empty.")
    text = said(None, config=config_of(InstancePreferences=[]))
    assert text.startswith("ResourceConfig.InstancePreferences: the list is empty.")


def test_what_is_no_list_is_refused():
    assert "prefer has to be a list, and it is 'ml.g5.xlarge'" in said("ml.g5.xlarge")


def test_two_lists_are_refused():
    config = config_of("processing", InstancePreferences=[native("ml.g5.xlarge", 1)])
    text = said(["ml.g5.xlarge"], "processing", config)
    assert text.startswith("There are two lists, prefer and config's ProcessingResources.ClusterConfig.InstancePref")


def test_six_of_awss_own_dicts_are_refused_with_the_remedy():
    names = sorted(catalog.TRAINING_TYPES)[:6]
    text = said([native(name, 1) for name in names])
    assert text.startswith("prefer: the list has 6 entries, and AWS takes 5 in a list of its own dicts.")
    assert "on_demand(" in text
    assert len(parse([native(name, 1) for name in names[:5]]).preferences) == 5


def test_a_type_twice_in_awss_own_dicts_is_refused_with_the_remedy():
    text = said([native("ml.g5.xlarge", 1), native("ml.g6.xlarge", 1), native("ml.g5.xlarge", 2)])
    assert text.startswith("prefer, entry 3 (ml.g5.xlarge): entry 1 has the same type")
    assert "to have the type twice" in text


def test_counts_in_both_places_are_refused():
    text = said([native("ml.g5.xlarge"), native("ml.g6.xlarge", 2)], config=config_of(InstanceCount=3))
    assert text.startswith(
        "prefer, entry 2 (ml.g6.xlarge): it has an InstanceCount, and ResourceConfig.InstanceCount is 3"
    )


def test_counts_on_some_or_none_are_refused():
    some = said([native("ml.g5.xlarge", 2), native("ml.g6.xlarge")])
    assert some.startswith("prefer, entry 2 (ml.g6.xlarge): it has no InstanceCount, and the config has none for all.")
    assert said([native("ml.g5.xlarge")]).startswith("prefer, entry 1 (ml.g5.xlarge): it has no InstanceCount")


@pytest.mark.parametrize("count", [0, "x", True])
def test_a_count_of_the_cluster_that_cannot_work_is_named(count):
    assert said(["ml.g5.xlarge"], config=config_of(InstanceCount=count)).startswith("config: ResourceConfig: the Insta")
    config = config_of(InstanceType="ml.g5.xlarge", InstanceCount=count)
    assert said(None, config=config).startswith("config: ResourceConfig (ml.g5.xlarge): the InstanceCount")


@pytest.mark.parametrize(
    ("kind", "key", "value"),
    [
        ("training", "InstanceType", "ml.g5.xlarge"),
        ("training", "InstanceGroups", [{}]),
        ("training", "InstancePlacementConfig", {"EnableMultipleJobs": True}),
        ("processing", "InstanceType", "ml.g5.xlarge"),
    ],
)
@pytest.mark.parametrize("inside", [True, False])
def test_what_cannot_stand_beside_a_list_is_named_with_its_path(kind, key, value, inside):
    lists = {"InstancePreferences": [native("ml.g5.xlarge", 1)]} if inside else {}
    config = config_of(kind, **{key: value}, **lists)
    text = said(None if inside else ["ml.g5.xlarge"], kind, config, error=InvalidRequest)
    path = "ResourceConfig" if kind == "training" else "ProcessingResources.ClusterConfig"
    assert text.startswith(f"config: {path}.{key} can't stand beside a preference list.\n")


@pytest.mark.parametrize("value", [True, "True"])
def test_managed_spot_training_beside_a_list_points_to_the_helper(value):
    config = {**config_of(), "EnableManagedSpotTraining": value}
    text = said(["ml.g5.xlarge"], config=config, error=InvalidRequest)
    assert text.startswith("config: EnableManagedSpotTraining can't stand beside a preference list.\n")
    assert 'spot("ml.' in text


def test_a_flag_that_is_none_is_refused():
    config = {**config_of(InstanceType="ml.g5.xlarge"), "EnableManagedSpotTraining": "maybe"}
    assert "EnableManagedSpotTraining can't be read" in said(None, config=config, error=InvalidRequest)


@pytest.mark.parametrize(
    ("prefer", "message"),
    [
        ([training_plan("ml.p5.48xlarge", ARN)], "can't stand beside training plans in the list"),
        (["ml.p5.48xlarge", spot("ml.g5.xlarge")], "can't stand beside spot entries in the list"),
        (["ml.g5.xlarge", "ml.m5.large"], "fits no entry: there are no training plans for any type in the list"),
    ],
)
def test_a_plan_for_the_whole_job_has_to_fit_the_list(prefer, message):
    text = said(prefer, config=config_of(TrainingPlanArn=OTHER), error=InvalidRequest)
    assert text.startswith(f"config: ResourceConfig.TrainingPlanArn {message}")


def test_a_plan_has_one_type():
    text = said([training_plan("ml.p5.48xlarge", ARN), "ml.g5.xlarge", training_plan("ml.p4d.24xlarge", ARN)])
    assert text.startswith("prefer, entry 3 (ml.p4d.24xlarge): its training plan is also that of ml.p5.48xlarge.")


def test_plan_and_spot_for_one_job_are_refused():
    config = {**config_of(InstanceType="ml.p5.48xlarge", TrainingPlanArn=ARN), "EnableManagedSpotTraining": True}
    assert "stands beside EnableManagedSpotTraining" in said(None, config=config, error=InvalidRequest)


@pytest.mark.parametrize("kind", ["training", "processing"])
def test_a_request_that_names_nothing_to_run_on_is_refused(kind):
    text = said(None, kind, {}, error=InvalidRequest)
    assert "doesn't say what to run on, and there is no list." in text


def test_a_config_of_another_shape_is_refused():
    assert "ResourceConfig has to be a dict" in said(
        ["ml.g5.xlarge"], config={"ResourceConfig": []}, error=InvalidInput
    )
