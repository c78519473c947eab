"""Calls whose failures are told in our own words, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from airflow_sm_prefer.aws.calls import call, paged
from airflow_sm_prefer.aws.failures import CallFailed


def describe_job_queues(**request: Any) -> dict[str, Any]:
    pages = {None: ([1, 2], "b"), "b": ([3], "c"), "c": ([], None)}
    rows, token = pages[request.pop("nextToken", None)]
    assert request == {"maxResults": 2}
    return {"jobQueues": rows, "nextToken": token}


def test_the_entries_of_all_pages_are_returned():
    assert paged(describe_job_queues, "jobQueues", maxResults=2) == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            ClientError({"Error": {"Code": "ClientException", "Message": "no such queue"}}, "DescribeJobQueues"),
            "DescribeJobQueues: ClientException: no such queue",
        ),
        (EndpointConnectionError(endpoint_url="http://127.0.0.1:1"), "DescribeJobQueues: EndpointConnectionError: "),
    ],
)
def test_a_failure_names_the_operation_as_aws_writes_it(error, told):
    def describe_job_queues(**_: Any) -> dict[str, Any]:
        raise error

    with pytest.raises(CallFailed) as caught:
        call(describe_job_queues)
    assert str(caught.value).startswith(told)
