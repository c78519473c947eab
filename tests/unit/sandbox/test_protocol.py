"""What is read from the wire, and what can't be."""

import json

import pytest

from airflow_sm_prefer.sandbox import protocol
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, PLAN, prefer, processing, training


def read(operation: str, body) -> dict:
    return protocol.read("sagemaker", operation, body if isinstance(body, bytes) else json.dumps(body).encode())


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"MaxResults": "5"}, "STRING_VALUE can not be converted to an Integer"),
        ({"MaxResults": True}, "TRUE_VALUE can not be converted to an Integer"),
        ({"NameContains": 5}, "NUMBER_VALUE can not be converted to a String"),
        ({"NameContains": ["a"]}, "Start of list found where not expected"),
        ({"NameContains": {"a": 1}}, "Start of structure or map found where not expected."),
        ({"CreationTimeAfter": "yesterday"}, "STRING_VALUE can not be converted to a Timestamp"),
        (b"[]", "Start of list found where not expected"),
        (b'"text"', "Expected structure or null"),
        (b"{", "Unexpected token received from parser"),
        (b"\xff", "Unexpected token received from parser"),
        (b'{"MaxResults": NaN}', "Unexpected token received from parser"),
        (b'{"MaxResults": 1e999}', "NUMBER_VALUE can not be converted to an Integer"),
        (b'{"CreationTimeAfter": -1e999}', "NUMBER_VALUE can not be converted to a Timestamp"),
        (b'{"CreationTimeAfter": 1e300}', "STRING_VALUE can not be converted to a Timestamp"),
        (b'{"CreationTimeAfter": 1%b}' % (b"0" * 400), "STRING_VALUE can not be converted to a Timestamp"),
        (b'{"MaxResults": 1%b}' % (b"0" * 5000), "Unexpected token received from parser"),
        (b"[" * 50_000, "Unexpected token received from parser"),
    ],
)
def test_what_is_of_another_type_can_not_be_read(body, text):
    with pytest.raises(ApiError) as caught:
        read("ListTrainingJobs", body)
    assert (caught.value.code, caught.value.message) == ("SerializationException", text)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"Tags": {"a": "b"}}, "Expected list or null"),
        ({"Tags": ["a"]}, "Expected structure or null"),
        ({"ResourceConfig": []}, "Start of list found where not expected"),
        ({"HyperParameters": {"a": 1}}, "NUMBER_VALUE can not be converted to a String"),
        ({"EnableNetworkIsolation": "true"}, "STRING_VALUE can not be converted to a Boolean"),
    ],
)
def test_types_are_looked_at_in_depth(more, text):
    with pytest.raises(ApiError) as caught:
        read("CreateTrainingJob", training(**more))
    assert caught.value.message == text


def test_null_is_absence():
    assert read("ListTrainingJobs", {"SortBy": None, "MaxResults": 5}) == {"MaxResults": 5}
    assert read("ListTrainingJobs", b"") == {}


def test_what_the_model_does_not_have_is_dropped():
    """So is the plan of a processing job's entry: its shape has none."""
    cluster = prefer(CPU)
    cluster["InstancePreferences"][0]["TrainingPlanArns"] = [PLAN]
    assert read("CreateProcessingJob", processing(cluster=cluster)) == processing(cluster=prefer(CPU))
    assert read("ListTrainingJobs", {"Unknown": {"a": 1}}) == {}
