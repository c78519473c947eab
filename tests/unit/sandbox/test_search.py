"""Search for training jobs: which properties and operators there are, and what is found."""

from typing import Any

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import CPU, G5, Bench, prefer

Filter = tuple[str, ...]


def channel(name: str, uri: str) -> dict[str, Any]:
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri}}
    return {"ChannelName": name, "DataSource": source}


@pytest.fixture
def bench() -> Bench:
    bench = Bench({"bad": Script.fails("AlgorithmError: no", seconds=1)})
    bench.train(
        "good",
        prefer((G5, 2)),
        Tags=[{"Key": "team", "Value": "a"}],
        HyperParameters={"rate": "0.75", "kind": "adam", "depth.most": "10"},
        InputDataConfig=[channel("train", "s3://b/one"), channel("test", "s3://b/two")],
    )
    bench.train("bad", prefer(CPU), Tags=[{"Key": "team", "Value": "b"}], EnableNetworkIsolation=True)
    bench.advance(5)
    return bench


def filters(*given: Filter) -> list[dict[str, str]]:
    return [dict(zip(("Name", "Operator", "Value"), one, strict=False)) for one in given]


def found(bench: Bench, expression: dict[str, Any] | None = None, **request: Any) -> list[str]:
    if expression is not None:
        request["SearchExpression"] = expression
    results = bench.call("Search", {"Resource": "TrainingJob", "SortBy": "TrainingJobName", **request})
    assert results["TotalHits"] == {"Value": len(results["Results"]), "Relation": "EqualTo"}
    return [row["TrainingJob"]["TrainingJobName"] for row in results["Results"]]


@pytest.mark.parametrize(
    ("one", "names"),
    [
        (("TrainingJobStatus", "Equals", "Failed"), ["bad"]),
        (("TrainingJobStatus", "NotEquals", "Failed"), ["good"]),
        (("ResourceConfig.SelectedInstanceType", "Equals", G5), ["good"]),
        (("ResourceConfig.SelectedInstanceCount", "GreaterThan", "1"), ["good"]),
        (("ResourceConfig.InstancePreferences.InstanceType", "Equals", CPU), ["bad"]),
        (("ResourceConfig.InstanceType", "NotExists"), ["good", "bad"]),
        (("Tags.team", "Equals", "b"), ["bad"]),
        (("Tags.team", "Exists"), ["good", "bad"]),
        (("Tags.other", "Exists"), []),
        (("FailureReason", "Contains", "Algorithm"), ["bad"]),
        (("FailureReason", "Exists"), ["bad"]),
        (("FailureReason", "NotExists"), ["good"]),
        (("FailureReason", "NotEquals", "x"), ["good", "bad"]),
        (("TrainingJobName", "In", "good,other"), ["good"]),
        (("CreationTime", "GreaterThan", "2020-01-01T00:00:00"), ["good", "bad"]),
        (("CreationTime", "LessThan", "1600000000"), []),
        (("CreationTime", "GreaterThanOrEqualTo", "1600000000"), ["good", "bad"]),
        (("CreationTime", "LessThanOrEqualTo", "1600000000"), []),
        (("EnableNetworkIsolation", "Equals", "true"), ["bad"]),
        (("EnableNetworkIsolation", "NotEquals", "True"), ["good"]),
        (("HyperParameters.rate", "LessThan", "0.8"), ["good"]),
        (("HyperParameters.rate", "GreaterThan", "0.8"), []),
        (("HyperParameters.rate", "Equals", "0"), ["good"]),
        (("HyperParameters.kind", "Equals", "adam"), ["good"]),
        (("HyperParameters.kind", "Contains", "da"), ["good"]),
        (("HyperParameters.kind", "GreaterThan", "a"), []),
        (("HyperParameters.depth.most", "GreaterThan", "9"), ["good"]),
        (("Metrics.loss", "LessThan", "1"), []),
        (("InputDataConfig.ChannelName", "Equals", "test"), ["good"]),
        (("InputDataConfig", "Exists"), ["good"]),
    ],
)
def test_one_filter(bench, one, names):
    assert found(bench, {"Filters": filters(one)}) == names


def test_a_filter_without_an_operator_asks_for_equality(bench):
    assert found(bench, {"Filters": [{"Name": "TrainingJobName", "Value": "bad"}]}) == ["bad"]


def test_filters_and_parts_together(bench):
    assert found(bench) == ["good", "bad"]
    both = filters(("TrainingJobStatus", "Equals", "Failed"), ("TrainingJobName", "Equals", "good"))
    assert found(bench, {"Filters": both}) == []
    assert found(bench, {"Filters": both, "Operator": "Or"}) == ["good", "bad"]
    part = {"Filters": filters(("TrainingJobName", "Equals", "bad"))}
    assert found(bench, {"Filters": both[:1], "SubExpressions": [part]}) == ["bad"]


class TestNestedFilters:
    def nested(self, *given: Filter) -> dict[str, Any]:
        return {"NestedFilters": [{"NestedPropertyName": "InputDataConfig", "Filters": filters(*given)}]}

    URI = "InputDataConfig.DataSource.S3DataSource.S3Uri"

    def test_one_object_has_to_pass_them_all(self, bench):
        train = ("InputDataConfig.ChannelName", "Equals", "train")
        assert found(bench, self.nested(train, (self.URI, "Contains", "one"))) == ["good"]
        assert found(bench, self.nested(train, (self.URI, "Contains", "two"))) == []

    def test_plain_filters_may_be_passed_by_different_objects(self, bench):
        given = filters(("InputDataConfig.ChannelName", "Equals", "train"), (self.URI, "Contains", "two"))
        assert found(bench, {"Filters": given}) == ["good"]

    def test_the_list_has_to_be_a_property(self, bench):
        nested = {"NestedPropertyName": "Channels", "Filters": filters(("TrainingJobName", "Exists"))}
        with pytest.raises(ApiError, match="Invalid property name: Channels"):
            found(bench, {"NestedFilters": [nested]})


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ({}, "at least one of Filters, NestedFilters, SubExpressions"),
        ({"Operator": "Or"}, "at least one of"),
        ({"SubExpressions": [{}]}, "at least one of"),
        ({"Filters": filters(("Status", "Equals", "x"))}, "Invalid property name: Status"),
        ({"Filters": filters(("ResourceConfig.InstanceType.x", "Equals", "y"))}, "Invalid property name"),
        ({"Filters": filters(("TrainingJobName", "GreaterThan", "x"))}, "GreaterThan is not supported for property"),
        ({"Filters": filters(("CreationTime", "Contains", "x"))}, "which is of type timestamp"),
        ({"Filters": filters(("EnableNetworkIsolation", "In", "x"))}, "which is of type boolean"),
        ({"Filters": filters(("ResourceConfig", "Equals", "x"))}, "which is of type object"),
        ({"Filters": filters(("CreationTime", "GreaterThan", "yesterday"))}, "yesterday is no timestamp"),
        ({"Filters": filters(("TrainingTimeInSeconds", "Equals", "long"))}, "long is no number"),
        ({"Filters": filters(("EnableNetworkIsolation", "Equals", "yes"))}, "yes is no boolean"),
        ({"Filters": filters(("TrainingJobName", "Equals"))}, "has no Value"),
        (
            {"Filters": filters(("TrainingJobName", "Contains", "a"), ("FailureReason", "Contains", "b"))},
            "'CONTAINS' operator usage limit of 1 exceeded.",
        ),
        (
            {"SubExpressions": [{"Filters": filters(*[("TrainingJobName", "Exists")] * 16)}] * 3},
            "at most 50 filters and expressions, not 51",
        ),
        (
            {"Filters": filters(*[("TrainingJobName", "Exists")] * 21)},
            "at 'searchExpression.filters' failed to satisfy constraint: Member must have length less than or equal",
        ),
    ],
)
def test_what_makes_no_sense_is_refused(bench, expression, words):
    with pytest.raises(ApiError) as caught:
        found(bench, expression)
    assert caught.value.code == "ValidationException"
    assert words in caught.value.message


class TestOrder:
    def test_the_last_modified_comes_first_unless_told_otherwise(self, bench):
        request = {"Resource": "TrainingJob"}
        rows = bench.call("Search", request)["Results"]
        assert [row["TrainingJob"]["TrainingJobName"] for row in rows] == ["bad", "good"]

    def test_numbers_are_sorted_as_numbers_and_what_is_missing_comes_first(self, bench):
        bench.train("many", prefer((G5, 10)))
        bench.train("two", prefer((G5, 2)))
        by = {"SortBy": "ResourceConfig.SelectedInstanceCount", "SortOrder": "Ascending"}
        bench.advance(1)
        bench.train("waits", {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 1})
        assert found(bench, **by) == ["waits", "bad", "good", "two", "many"]
        assert found(bench, SortBy="HyperParameters.rate")[0] == "good"

    @pytest.mark.parametrize("name", ["Nonsense", "ResourceConfig", "InputDataConfig"])
    def test_what_is_no_single_value_sorts_nothing(self, bench, name):
        with pytest.raises(ApiError, match=name):
            found(bench, SortBy=name)

    def test_results_come_in_pages_with_their_tags(self, bench):
        first = bench.call("Search", {"Resource": "TrainingJob", "MaxResults": 1})
        assert first["Results"][0]["TrainingJob"]["Tags"]
        rest = bench.call("Search", {"Resource": "TrainingJob", "NextToken": first["NextToken"]})
        assert len(rest["Results"]) == 1
        assert "NextToken" not in rest

    def test_a_token_is_good_for_its_own_question_only(self, bench):
        token = bench.call("Search", {"Resource": "TrainingJob", "MaxResults": 1})["NextToken"]
        with pytest.raises(ApiError, match="Invalid pagination token"):
            found(bench, {"Filters": filters(("TrainingJobName", "Exists"))}, NextToken=token)


def test_other_accounts_regions_and_sharers_have_nothing_here(bench):
    assert found(bench, CrossAccountFilterOption="SameAccount") == ["good", "bad"]
    assert found(bench, CrossAccountFilterOption="CrossAccount") == []
    for caller in (Caller("123456789012", "eu-west-1"), Caller("999999999999", "us-east-1")):
        assert bench.call("Search", {"Resource": "TrainingJob"}, caller)["Results"] == []


def test_visibility_is_limited_by_tags(bench):
    assert found(bench, VisibilityConditions=[{"Key": "Tags.team", "Value": "a"}]) == ["good"]


def test_a_record_has_what_its_shape_has_and_no_more(bench):
    (row,) = bench.call("Search", {"Resource": "TrainingJob", "MaxResults": 1})["Results"]
    assert "ProfilingStatus" not in row["TrainingJob"]
    assert {"ResourceConfig", "SecondaryStatusTransitions", "FailureReason", "Tags"} <= row["TrainingJob"].keys()
