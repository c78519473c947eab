"""Tags of jobs."""

import pytest

from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import Bench

ARN = "arn:aws:sagemaker:us-east-1:123456789012:training-job/job"


def tags(bench: Bench, **request) -> list[str]:
    rows = bench.call("ListTags", {"ResourceArn": ARN, **request})["Tags"]
    return [f"{row['Key']}={row['Value']}" for row in rows]


def test_tags_come_with_the_job_and_can_be_changed():
    bench = Bench()
    bench.train(Tags=[{"Key": "a", "Value": "1"}])
    bench.call("AddTags", {"ResourceArn": ARN, "Tags": [{"Key": "a", "Value": "2"}, {"Key": "b", "Value": ""}]})
    assert tags(bench) == ["a=2", "b="]
    bench.call("DeleteTags", {"ResourceArn": ARN, "TagKeys": ["a", "none"]})
    assert tags(bench) == ["b="]


def test_a_job_has_fifty_tags_at_most():
    bench = Bench()
    bench.train(Tags=[{"Key": f"k{i}", "Value": ""} for i in range(50)])
    assert len(tags(bench)) == 50
    with pytest.raises(ApiError, match="at most 50 tags"):
        bench.call("AddTags", {"ResourceArn": ARN, "Tags": [{"Key": "more", "Value": ""}]})


@pytest.mark.parametrize(
    ("tags_", "words"),
    [
        ([{"Key": "a", "Value": "1"}, {"Key": "a", "Value": "2"}], "Duplicate tag key"),
        ([{"Key": "AWS:x", "Value": "1"}], "reserved for AWS"),
        ([{"Key": "a", "Value": "~"}], "at 'tags.1.member.value' failed to satisfy constraint"),
        ([{"Key": "", "Value": ""}], "at 'tags.1.member.key' failed to satisfy constraint"),
    ],
)
def test_what_a_job_can_not_be_created_with_can_not_be_added(tags_, words):
    bench = Bench()
    bench.train()
    with pytest.raises(ApiError, match=words):
        bench.call("AddTags", {"ResourceArn": ARN, "Tags": tags_})
    assert tags(bench) == []


def test_keys_know_case():
    bench = Bench()
    bench.train(Tags=[{"Key": "a", "Value": "1"}, {"Key": "A", "Value": "2"}])
    assert tags(bench) == ["a=1", "A=2"]


def test_a_page_of_tags_holds_them_all():
    bench = Bench()
    bench.train()
    with pytest.raises(ApiError, match="value greater than or equal to 50"):
        tags(bench, MaxResults=49)
    with pytest.raises(ApiError, match="Invalid pagination token"):
        tags(bench, NextToken="abc")


@pytest.mark.parametrize(
    "arn",
    [
        ARN + "x",
        ARN.replace("us-east-1", "eu-west-1"),
        ARN.replace("training-job", "model"),
    ],
)
def test_tags_of_what_is_not_there(arn):
    bench = Bench()
    bench.train()
    with pytest.raises(ApiError, match=r"Requested resource not found\."):
        bench.call("ListTags", {"ResourceArn": arn})


def test_describe_shows_no_tags():
    bench = Bench()
    bench.train(Tags=[{"Key": "a", "Value": "1"}])
    assert "Tags" not in bench.training()
