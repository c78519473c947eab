"""What is plain when the DAG is parsed is checked then, and what isn't is left for later."""

from __future__ import annotations

import pytest

from airflow_sm_prefer import catalog
from airflow_sm_prefer.errors import InvalidPreference, InvalidRequest
from airflow_sm_prefer.model.early import check_what_is_plain
from airflow_sm_prefer.model.helpers import training_plan

LATER = object()
TYPO = "ml.g5.xlagre"


def check(prefer, config, kind="training"):
    known = catalog.TRAINING_TYPES if kind == "training" else catalog.PROCESSING_TYPES
    check_what_is_plain(prefer, config, kind, known_types=known)


def config_of(stopping=None, **resources):
    return {
        "RoleArn": "{{ var.value.role }}",
        "InputDataConfig": [{"ChannelName": "{{ params.channel }}", "ShuffleConfig": {"Seed": "{{ seed }}"}}],
        "ResourceConfig": {"VolumeSizeInGB": "30", **resources},
        "StoppingCondition": stopping or {},
    }


def test_templates_elsewhere_do_not_hinder_the_check():
    check(["ml.g5.xlarge"], config_of())
    with pytest.raises(InvalidPreference, match="entry 1"):
        check([TYPO], config_of())
    with pytest.raises(InvalidRequest, match="MaxPendingTimeInSeconds is 5"):
        check(["ml.g5.xlarge"], config_of({"MaxPendingTimeInSeconds": "5"}))
    with pytest.raises(InvalidRequest, match="InstanceType can't stand beside"):
        check(["ml.g5.xlarge"], config_of(InstanceType="ml.g5.xlarge"))


@pytest.mark.parametrize("prefer", [LATER, "{{ var.json.prefer }}", None, ["{{ params.first }}"], [LATER]])
@pytest.mark.parametrize(
    "config", [LATER, "{{ var.json.job }}", config_of(InstanceCount="{{ n }}"), config_of(X=LATER)]
)
def test_what_is_not_known_yet_passes(prefer, config):
    check(prefer, config)


@pytest.mark.parametrize("config", [LATER, "{{ var.json.job }}", config_of(), config_of(InstanceCount="{{ n }}")])
def test_plain_entries_beside_templates_are_checked(config):
    with pytest.raises(InvalidPreference, match=r"prefer, entry 2 \(ml.g5.xlagre\)"):
        check(["{{ params.first }}", TYPO], config)


def test_the_plain_type_of_an_entry_with_templates_is_checked():
    arn = "{{ var.value.plan }}"
    check([training_plan("ml.p5.48xlarge", arn=arn)], config_of())
    with pytest.raises(InvalidPreference, match=r"prefer, entry 1 \(ml.p5.48xlagre\)"):
        check([training_plan("ml.p5.48xlagre", arn=arn)], config_of())


def test_a_type_that_is_a_template_is_left_for_later():
    check([training_plan("{{ t }}", arn="{{ a }}"), "{{ x }}"], LATER)


def test_a_plain_config_beside_a_list_that_is_not_known_is_checked():
    with pytest.raises(InvalidRequest, match="KeepAlivePeriodInSeconds is -5"):
        check(LATER, config_of(KeepAlivePeriodInSeconds=-5))
    with pytest.raises(InvalidRequest, match="SelectedInstanceType is not accepted"):
        check("{{ prefer }}", config_of(SelectedInstanceType="ml.g5.xlarge"))
    check(LATER, config_of(InstanceType="ml.g5.xlarge"))


def test_what_cannot_stand_beside_any_list_is_refused_whatever_is_in_the_list():
    with pytest.raises(InvalidRequest, match="InstanceType can't stand beside"):
        check(["{{ params.first }}"], config_of(InstanceType="ml.g5.xlarge"))
    inside = config_of(InstancePreferences=["{{ x }}"], InstanceGroups=[{"InstanceGroupName": "a"}])
    with pytest.raises(InvalidRequest, match="InstanceGroups can't stand beside"):
        check(None, inside)


def test_a_list_inside_the_config_is_checked_as_far_as_it_is_plain():
    check(None, config_of(InstancePreferences="{{ var.json.prefer }}"))
    check(None, {"ResourceConfig": "{{ var.json.resources }}"})
    with pytest.raises(InvalidPreference, match=r"ResourceConfig\.InstancePreferences, entry 2"):
        check(None, config_of(InstancePreferences=["{{ x }}", TYPO]))


def test_processing_requests_are_checked_in_their_own_places():
    config = {"ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 5, "InstancePreferences": ["{{ x }}", TYPO]}}}
    with pytest.raises(InvalidPreference, match=r"ClusterConfig\.InstancePreferences, entry 2"):
        check(None, config, "processing")


def test_plain_text_is_read_as_what_it_holds():
    check('["ml.g5.xlarge"]', '{"ResourceConfig": {"VolumeSizeInGB": 5}}')
    with pytest.raises(InvalidPreference, match="prefer has to be a list"):
        check("ml.g5.xlarge", LATER)
    with pytest.raises(InvalidRequest, match="config has to be a dict"):
        check(["ml.g5.xlarge"], None)
