from __future__ import annotations

import boto3
import pytest
from botocore.stub import Stubber

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.log_pages import LogPages
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.log_cursors import Event
from tests.cloudwatch import GROUP, CloudWatch

T = 1_800_000_000_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(T / 1000)


@pytest.fixture
def aws(clock: FakeClock) -> CloudWatch:
    return CloudWatch(clock, page=2)


def test_a_jobs_streams_come_by_pages_with_the_instants_they_were_made_at(aws: CloudWatch, clock: FakeClock) -> None:
    for host in (1, 2, 3):
        aws.write(f"job/algo-{host}-1", "line", at=T - host)
    aws.write("job-2/algo-1-1", "theirs")
    pages = LogPages(aws, clock)
    first, token = pages.streams(GROUP, "job", None)
    assert first == [("job/algo-1-1", T - 1), ("job/algo-2-1", T - 2)]
    assert pages.streams(GROUP, "job", token) == ([("job/algo-3-1", T - 3)], None)


def test_lines_of_several_streams_come_by_pages_oldest_first_and_the_last_millisecond_is_not_in_it(
    aws: CloudWatch, clock: FakeClock
) -> None:
    aws.write("job/algo-1-1", "b", at=T - 2)
    aws.write("job/algo-2-1", "a", at=T - 3)
    aws.write("job/algo-1-1", "c", at=T - 1)
    aws.write("job/algo-1-1", "d", at=T)
    pages, streams = LogPages(aws, clock), ["job/algo-1-1", "job/algo-2-1"]
    events, token = pages.events(GROUP, streams, T - 3, T, None)
    assert [event.message for event in events] == ["a", "b"]
    events, token = pages.events(GROUP, streams, T - 3, T, token)
    assert (events, token) == ([Event(T - 1, "job/algo-1-1", "000002", "c")], None)


def test_what_goes_wrong_is_one_exception_with_its_operation(aws: CloudWatch, clock: FakeClock) -> None:
    aws.errors = {"DescribeLogStreams": ["AccessDeniedException"]}
    with pytest.raises(CallFailed, match="DescribeLogStreams: AccessDeniedException: words") as failed:
        LogPages(aws, clock).streams(GROUP, "job", None)
    assert failed.value.failure.kind is FailureKind.DENIED


def test_awss_clock_is_known_by_its_answers(clock: FakeClock) -> None:
    client = boto3.client("logs", region_name="eu-west-1", aws_access_key_id="x", aws_secret_access_key="x")
    pages = LogPages(client, clock)
    with Stubber(client) as stub:
        dated = {"HTTPStatusCode": 200, "HTTPHeaders": {"date": "Fri, 15 Jan 2027 08:00:42 GMT"}}
        stub.add_response("describe_log_streams", {"ResponseMetadata": dated, "logStreams": []})
        assert pages.ahead == 0
        pages.streams(GROUP, "job", None)
    assert pages.ahead == 42
