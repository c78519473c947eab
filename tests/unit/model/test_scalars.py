"""Strings become integers and booleans wherever AWS wants these, and nowhere else."""

from __future__ import annotations

import copy

import botocore.session
import pytest

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.scalars import BOOLEANS, INTEGERS, coerce_scalars


def members(shape, types, path=()):
    if shape.type_name in types:
        yield ".".join(path)
    elif shape.type_name == "structure":
        for name, member in shape.members.items():
            yield from members(member, types, (*path, name))
    elif shape.type_name == "list":
        yield from members(shape.member, types, (*path, "[]"))
    elif shape.type_name == "map":
        yield from members(shape.value, types, (*path, "{}"))


@pytest.mark.parametrize(("table", "types"), [(INTEGERS, {"integer", "long"}), (BOOLEANS, {"boolean"})])
@pytest.mark.parametrize(
    ("kind", "operation"),
    [(JobKind.TRAINING, "CreateTrainingJob"), (JobKind.PROCESSING, "CreateProcessingJob")],
)
def test_nothing_of_botocores_model_is_forgotten(kind, operation, table, types):
    model = botocore.session.get_session().get_service_model("sagemaker")
    found = set(members(model.operation_model(operation).input_shape, types))
    assert found
    assert found - set(table[kind]) == set()


def with_value(path, value):
    key, *rest = path
    inner = with_value(rest, value) if rest else value
    return [inner] if key == "[]" else {key: inner}


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in INTEGERS.items() for path in paths])
def test_every_integer_is_read_from_a_string(kind, path):
    keys = path.split(".")
    assert coerce_scalars(with_value(keys, " 1800"), kind) == with_value(keys, 1800)


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in INTEGERS.items() for path in paths])
def test_a_string_that_is_no_integer_is_refused_with_its_path(kind, path):
    with pytest.raises(InvalidRequest) as caught:
        coerce_scalars(with_value(path.split("."), "8x"), kind)
    place = path.replace(".[]", " entry 1")
    assert str(caught.value).startswith(f"config: {place}: '8x' is not an integer.")


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in BOOLEANS.items() for path in paths])
@pytest.mark.parametrize(("written", "read"), [("False", False), (" true ", True), (True, True)])
def test_every_boolean_is_read_from_a_string(kind, path, written, read):
    keys = path.split(".")
    assert coerce_scalars(with_value(keys, written), kind) == with_value(keys, read)


@pytest.mark.parametrize(("kind", "path"), [(kind, path) for kind, paths in BOOLEANS.items() for path in paths])
def test_a_string_that_is_no_boolean_is_refused_with_its_path(kind, path):
    with pytest.raises(InvalidRequest) as caught:
        coerce_scalars(with_value(path.split("."), "yes"), kind)
    place = path.replace(".[]", " entry 1")
    assert str(caught.value).startswith(f"config: {place}: 'yes' is neither True nor False.\nAWS wants a boolean")


def test_a_list_entry_is_named_by_its_number():
    request = {"ResourceConfig": {"InstancePreferences": [{"InstanceCount": "1"}, {"InstanceCount": "two"}]}}
    with pytest.raises(InvalidRequest, match=r"ResourceConfig\.InstancePreferences entry 2\.InstanceCount"):
        coerce_scalars(request, "training")


def test_all_else_passes_as_it_is_and_the_input_is_left_alone():
    request = {
        "TrainingJobName": "7",
        "HyperParameters": {"batch_size": "64"},
        "Environment": {"N": "1", "DEBUG": "False"},
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
    assert coerce_scalars(request, "training") == expected
    assert request == before
