"""Strings become integers wherever AWS wants integers, and nowhere else."""

from __future__ import annotations

import copy

import botocore.session
import pytest

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.integers import INTEGERS, coerce_integers
from airflow_sm_prefer.model.job import JobKind


def integer_members(shape, path=()):
    if shape.type_name in {"integer", "long"}:
        yield ".".join(path)
    elif shape.type_name == "structure":
        for name, member in shape.members.items():
            yield from integer_members(member, (*path, name))
    elif shape.type_name == "list":
        yield from integer_members(shape.member, (*path, "[]"))
    elif shape.type_name == "map":
        yield from integer_members(shape.value, (*path, "{}"))


@pytest.mark.parametrize(
    ("kind", "operation"),
    [(JobKind.TRAINING, "CreateTrainingJob"), (JobKind.PROCESSING, "CreateProcessingJob")],
)
def test_no_integer_of_botocores_model_is_forgotten(kind, operation):
    model = botocore.session.get_session().get_service_model("sagemaker")
    found = set(integer_members(model.operation_model(operation).input_shape))
    assert found
    assert found - set(INTEGERS[kind]) == set()


def with_value(path, value):
    key, *rest = path
    inner = with_value(rest, value) if rest else value
    return [inner] if key == "[]" else {key: inner}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in INTEGERS.items() for path in paths])
def test_every_integer_is_read_from_a_string(kind, path):
    keys = path.split(".")
    assert coerce_integers(with_value(keys, " 1800"), kind) == with_value(keys, 1800)


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in INTEGERS.items() for path in paths])
def test_a_string_that_is_no_integer_is_refused_with_its_path(kind, path):
    with pytest.raises(InvalidRequest) as caught:
        coerce_integers(with_value(path.split("."), "8x"), kind)
    place = path.replace(".[]", " entry 1")
    assert str(caught.value).startswith(f"config: {place}: '8x' is not an integer.")


def test_a_list_entry_is_named_by_its_number():
    request = {"ResourceConfig": {"InstancePreferences": [{"InstanceCount": "1"}, {"InstanceCount": "two"}]}}
    with pytest.raises(InvalidRequest, match=r"ResourceConfig\.InstancePreferences entry 2\.InstanceCount"):
        coerce_integers(request, "training")


def test_all_else_passes_as_it_is_and_the_input_is_left_alone():
    request = {
        "TrainingJobName": "7",
        "HyperParameters": {"batch_size": "64"},
        "Environment": {"N": "1"},
        "ResourceConfig": {"InstanceCount": "2", "SomethingNew": {"Depth": "3"}, "InstanceGroups": None},
        "InputDataConfig": [{"ChannelName": "a", "InstanceGroupNames": ["g"]}, "odd", {"ShuffleConfig": "odd"}],
        "StoppingCondition": "odd",
        "DebugRuleConfigurations": "odd",
        "ProfilerConfig": {"ProfilingIntervalInMilliseconds": 1.5},
        "Unheard": [{"Of": {"InstanceCount": "4"}}],
    }
    before = copy.deepcopy(request)
    expected = copy.deepcopy(request)
    expected["ResourceConfig"]["InstanceCount"] = 2
    assert coerce_integers(request, "training") == expected
    assert request == before
