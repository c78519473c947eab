"""ListServiceJobs and its siblings: filters, order and pages."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.batch.bench import BatchBench


@pytest.fixture
def bench() -> BatchBench:
    bench = BatchBench()
    bench.fair(2, red=1.0, blue=1.0)
    for name, share in (("Train1", "red"), ("train2", "blue"), ("other", "red"), ("train3", "red")):
        bench.submit(name, "fair", shareIdentifier=share)
        bench.advance(1)
    return bench


def names(bench: BatchBench, **request: Any) -> list[str]:
    rows = bench.call("ListServiceJobs", {"jobQueue": "fair", **request})["jobSummaryList"]
    return [row["jobName"] for row in rows]


def by(name: str, *values: str) -> dict[str, Any]:
    return {"filters": [{"name": name, "values": list(values)}]}


def test_without_a_word_the_running_ones_are_listed_the_latest_first(bench):
    assert names(bench) == ["train2", "Train1"]
    assert names(bench, jobStatus="RUNNABLE") == ["train3", "other"]
    assert names(bench, jobStatus="FAILED") == []


def test_a_name_is_found_in_any_case_and_status_and_by_its_beginning(bench):
    assert names(bench, **by("JOB_NAME", "TRAIN1")) == ["Train1"]
    assert names(bench, **by("JOB_NAME", "train*"), jobStatus="FAILED") == ["train3", "train2", "Train1"]
    assert names(bench, **by("JOB_NAME", "train")) == []


def test_shares_are_found_beside_a_status(bench):
    assert names(bench, **by("SHARE_IDENTIFIER", "red")) == ["train3", "other", "Train1"]
    assert names(bench, **by("SHARE_IDENTIFIER", "red"), jobStatus="RUNNABLE") == ["train3", "other"]
    assert names(bench, **by("QUOTA_SHARE_NAME", "red")) == []


def test_instants_are_milliseconds(bench):
    rows = bench.call("ListServiceJobs", {"jobQueue": "fair", **by("JOB_NAME", "other")})["jobSummaryList"]
    created = str(rows[0]["createdAt"])
    assert names(bench, **by("BEFORE_CREATED_AT", created)) == ["train2", "Train1"]
    assert names(bench, **by("AFTER_CREATED_AT", created)) == ["train3"]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"filters": [{"name": "JOB_NAME", "values": ["a"]}] * 2}, "Only one filter"),
        (by("JOB_NAME"), "needs one value"),
        (by("COLOUR", "red"), "Filter COLOUR is not one of"),
        (by("AFTER_CREATED_AT", "yesterday"), "needs a number of milliseconds"),
        ({"maxResults": 101}, "maxResults must be between 1 and 100"),
        ({"maxResults": 0}, "maxResults must be between 1 and 100"),
        ({"nextToken": "mine"}, "nextToken 'mine' is not valid"),
        ({"jobQueue": "none"}, "JobQueue none does not exist"),
    ],
)
def test_what_cannot_be_listed(bench, request_, message):
    with pytest.raises(ApiError, match=message):
        bench.call("ListServiceJobs", {"jobQueue": "fair", **request_})


def test_pages_are_not_shifted_by_who_arrives_meanwhile(bench):
    everything = by("JOB_NAME", "*") | {"jobQueue": "fair", "maxResults": 3}
    first = bench.call("ListServiceJobs", everything)
    bench.submit("late", "fair", shareIdentifier="red")
    second = bench.call("ListServiceJobs", everything | {"nextToken": first["nextToken"]})
    assert [row["jobName"] for row in first["jobSummaryList"]] == ["train3", "other", "train2"]
    assert [row["jobName"] for row in second["jobSummaryList"]] == ["Train1"]
    assert "nextToken" not in second


def test_objects_are_paged_too():
    bench = BatchBench()
    for name in "abc":
        bench.environment(name, NUM_INSTANCES=1)
    first = bench.call("DescribeServiceEnvironments", {"maxResults": 2})
    second = bench.call("DescribeServiceEnvironments", {"nextToken": first["nextToken"]})
    pages = [[one["serviceEnvironmentName"] for one in page["serviceEnvironments"]] for page in (first, second)]
    assert pages == [["a", "b"], ["c"]]


def test_a_snapshot_says_since_when_a_job_has_its_place(bench):
    front = bench.call("GetJobQueueSnapshot", {"jobQueue": "fair"})["frontOfQueue"]["jobs"]
    names = [bench.describe(job["jobArn"])["jobName"] for job in front]
    assert names == ["other", "train3"]
    since = [job["earliestTimeAtPosition"] for job in front]
    bench.advance(50)
    again = bench.call("GetJobQueueSnapshot", {"jobQueue": "fair"})["frontOfQueue"]["jobs"]
    assert [job["earliestTimeAtPosition"] for job in again] == since
