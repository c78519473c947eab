"""Requests whose operation is a path."""

import pytest

from airflow_sm_prefer.sandbox import rest
from airflow_sm_prefer.sandbox.api_errors import ApiError

ARN = "arn:aws:batch:us-east-1:123456789012:job-queue/a/quota-share/b"


@pytest.mark.parametrize(
    ("method", "path", "operation"),
    [
        ("POST", "/v1/submitservicejob", ("SubmitServiceJob", {})),
        ("GET", "/v1/submitservicejob", None),
        ("POST", "/v1/submitservicejob/", None),
        ("POST", "/", None),
        ("GET", f"/v1/tags/{ARN}", ("ListTagsForResource", {"resourceArn": ARN})),
        ("DELETE", f"/v1/tags/{ARN}", ("UntagResource", {"resourceArn": ARN})),
        ("POST", f"/v1/tags/{ARN}", ("TagResource", {"resourceArn": ARN})),
    ],
)
def test_the_method_and_the_path_name_the_operation(method, path, operation):
    assert rest.operation_of("batch", method, path) == operation


def test_members_come_from_the_body_the_path_and_the_query():
    found = rest.read("batch", "TagResource", b'{"tags": {"a": "1"}}', {"resourceArn": ARN}, {})
    assert found == {"resourceArn": ARN, "tags": {"a": "1"}}
    found = rest.read("batch", "UntagResource", b"", {"resourceArn": ARN}, {"tagKeys": ["a", "b"], "other": ["c"]})
    assert found == {"resourceArn": ARN, "tagKeys": ["a", "b"]}


def test_unknown_members_and_nulls_are_dropped():
    body = b'{"jobQueue": "a", "other": 1, "jobStatus": null, "filters": [{"name": "x", "values": [], "more": 2}]}'
    found = rest.read("batch", "ListServiceJobs", body, {}, {})
    assert found == {"jobQueue": "a", "filters": [{"name": "x", "values": []}]}


@pytest.mark.parametrize("body", [b"[1", b"[]", b'{"jobQueue": 5}', b'{"maxResults": "five"}', b'{"maxResults": NaN}'])
def test_what_cannot_be_read_is_told(body):
    with pytest.raises(ApiError, match="SerializationException"):
        rest.read("batch", "ListServiceJobs", body, {}, {})
