"""Lists: filters, order, pages."""

import re

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError
from tests.unit.sandbox.builders import P5, PLAN, Bench, prefer, single


def names(bench: Bench, **request) -> list[str]:
    rows = bench.call("ListTrainingJobs", request)["TrainingJobSummaries"]
    return [row["TrainingJobName"] for row in rows]


@pytest.fixture
def bench() -> Bench:
    bench = Bench({"c": Script(seconds=5), "*": Script(seconds=1000)})
    for name in ("b", "a", "c"):
        bench.train(name)
        bench.advance(10)
    return bench


def test_the_newest_comes_first(bench):
    assert names(bench) == ["c", "a", "b"]
    assert names(bench, SortOrder="Ascending") == ["b", "a", "c"]


def test_sorted_by_name_and_by_status(bench):
    assert names(bench, SortBy="Name", SortOrder="Ascending") == ["a", "b", "c"]
    assert names(bench, SortBy="Status", SortOrder="Ascending") == ["c", "b", "a"]


def test_filtered_by_name_status_and_creation(bench):
    begin = bench.sandbox.engine.time.pace.instant
    assert names(bench, NameContains="b") == ["b"]
    assert names(bench, StatusEquals="Completed") == ["c"]
    assert names(bench, CreationTimeAfter=begin + 5) == ["c", "a"]
    assert names(bench, CreationTimeBefore=begin + 5) == ["b"]
    assert names(bench, WarmPoolStatusEquals="Available") == []


def test_filtered_by_plan():
    bench = Bench(plans=[{"name": "december", "type": P5, "count": 1}])
    bench.train("on-plan", single(P5, TrainingPlanArn=PLAN))
    bench.train("other")
    assert names(bench, TrainingPlanArnEquals=PLAN) == ["on-plan"]
    (row,) = bench.call("ListTrainingJobs", {"TrainingPlanArnEquals": PLAN})["TrainingJobSummaries"]
    assert row["TrainingPlanArn"] == PLAN


def test_pages_hold_ten_rows_unless_told_otherwise(bench):
    for number in range(9):
        bench.train(f"more-{number}")
    first = bench.call("ListTrainingJobs")
    assert len(first["TrainingJobSummaries"]) == 10
    second = bench.call("ListTrainingJobs", {"NextToken": first["NextToken"]})
    assert len(second["TrainingJobSummaries"]) == 2
    assert "NextToken" not in second


def test_pages_follow_on_each_other_while_new_jobs_arrive(bench):
    first = bench.call("ListTrainingJobs", {"MaxResults": 2})
    bench.train("newer")
    second = bench.call("ListTrainingJobs", {"MaxResults": 2, "NextToken": first["NextToken"]})
    assert [row["TrainingJobName"] for row in second["TrainingJobSummaries"]] == ["b"]


def test_a_foreign_token_is_refused(bench):
    for token in ("nonsense", "eyJhIjogMX0="):
        with pytest.raises(ApiError) as caught:
            bench.call("ListTrainingJobs", {"NextToken": token})
        assert caught.value.code == "ValidationException"
        assert caught.value.message == 'Invalid pagination token because "{0}".'


@pytest.mark.parametrize(
    "other", [{"SortBy": "Name"}, {"SortOrder": "Ascending"}, {"NameContains": "a"}, {"StatusEquals": "Failed"}]
)
def test_a_token_is_good_for_its_own_question_only(bench, other):
    token = bench.call("ListTrainingJobs", {"MaxResults": 1})["NextToken"]
    with pytest.raises(ApiError, match="Invalid pagination token"):
        bench.call("ListTrainingJobs", {"MaxResults": 1, "NextToken": token, **other})


def test_the_next_page_may_be_of_another_size(bench):
    token = bench.call("ListTrainingJobs", {"MaxResults": 1})["NextToken"]
    assert names(bench, NextToken=token, MaxResults=100) == ["a", "b"]
    assert names(bench, NextToken=token) == ["a", "b"]


def test_a_token_is_of_characters_that_every_service_takes(bench):
    token = bench.call("ListTrainingJobs", {"MaxResults": 1})["NextToken"]
    assert re.fullmatch(r"[a-zA-Z0-9/+]*={0,2}", token)


@pytest.mark.parametrize("modified_filter", ["after_paging", "before_paging"])
def test_a_status_beside_max_results_is_looked_for_in_the_page_alone(modified_filter):
    """ListTrainingJobs: the jobs are first retrieved ignoring StatusEquals, and then filtered."""
    bench = Bench({"done": Script(seconds=1), "*": Script(seconds=99)}, settings={"modified_filter": modified_filter})
    for name in ("done", "live"):
        bench.train(name)
        bench.advance(2)
    page = bench.call("ListTrainingJobs", {"StatusEquals": "Completed", "MaxResults": 1})
    assert page["TrainingJobSummaries"] == []
    rest = {"StatusEquals": "Completed", "MaxResults": 1, "NextToken": page["NextToken"]}
    assert names(bench, **rest) == ["done"]
    assert names(bench, StatusEquals="Completed") == ["done"]


@pytest.mark.parametrize(("modified_filter", "first"), [("after_paging", []), ("before_paging", ["b"])])
def test_a_name_beside_max_results_is_looked_for_in_the_page_by_default(modified_filter, first):
    bench = Bench(settings={"modified_filter": modified_filter})
    for name in ("b", "a"):
        bench.train(name)
        bench.advance(1)
    assert names(bench, NameContains="b", MaxResults=1) == first
    assert names(bench, NameContains="b") == ["b"]


@pytest.mark.parametrize(
    ("request_", "path", "words"),
    [
        ({"MaxResults": 0}, "maxResults", "value greater than or equal to 1"),
        ({"MaxResults": 101}, "maxResults", "value less than or equal to 100"),
        ({"SortBy": "Size"}, "sortBy", "enum value set: [Name, CreationTime, Status]"),
        ({"SortOrder": "Up"}, "sortOrder", "enum value set: [Ascending, Descending]"),
        ({"StatusEquals": "Done"}, "statusEquals", "enum value set: [InProgress, Completed"),
        ({"NameContains": "a_b"}, "nameContains", "regular expression pattern: [a-zA-Z0-9\\-]+"),
        ({"NameContains": "a" * 64}, "nameContains", "length less than or equal to 63"),
        ({"TrainingPlanArnEquals": "december"}, "trainingPlanArnEquals", "length greater than or equal to 50"),
        ({"NextToken": "a" * 8193}, "nextToken", "length less than or equal to 8192"),
    ],
)
def test_a_bad_question_is_refused(request_, path, words):
    with pytest.raises(ApiError) as caught:
        Bench().call("ListTrainingJobs", request_)
    assert f"at '{path}' failed to satisfy constraint: Member must" in caught.value.message
    assert words in caught.value.message


def test_created_and_modified_between_two_instants(bench):
    begin = bench.sandbox.engine.time.pace.instant
    assert names(bench, CreationTimeAfter=begin + 5, CreationTimeBefore=begin + 15) == ["a"]
    assert names(bench, LastModifiedTimeBefore=begin + 5) == ["b"]
    assert names(bench, CreationTimeAfter=begin) == ["c", "a"]


def test_a_plan_of_an_entry_is_not_the_jobs_plan():
    """AWS doesn't say; a summary has one plan, and so only a job's own is looked for."""
    bench = Bench(plans=[{"name": "december", "type": P5, "count": 1}])
    resources = prefer(P5)
    resources["InstancePreferences"][0]["TrainingPlanArns"] = [PLAN]
    bench.train("by-entry", resources)
    bench.train("by-job", {**prefer(P5), "TrainingPlanArn": PLAN})
    assert names(bench, TrainingPlanArnEquals=PLAN) == ["by-job"]


def test_modification_is_filtered_after_paging_by_default(bench):
    """The page has fewer rows than it could, even none, and still a token."""
    since = bench.sandbox.engine.time.pace.instant + 22
    page = bench.call("ListTrainingJobs", {"LastModifiedTimeAfter": since, "MaxResults": 1, "SortBy": "Name"})
    assert [row["TrainingJobName"] for row in page["TrainingJobSummaries"]] == ["c"]
    page = bench.call(
        "ListTrainingJobs",
        {"LastModifiedTimeAfter": since, "MaxResults": 1, "SortBy": "Name", "SortOrder": "Ascending"},
    )
    assert page["TrainingJobSummaries"] == []
    assert "NextToken" in page


def test_modification_is_filtered_before_paging_if_the_setting_says_so():
    bench = Bench(settings={"modified_filter": "before_paging"})
    bench.train("a")
    bench.advance(10)
    bench.train("b")
    request = {
        "LastModifiedTimeAfter": bench.sandbox.engine.time.pace.instant + 5,
        "MaxResults": 1,
        "SortOrder": "Ascending",
    }
    assert names(bench, **request) == ["b"]


def test_a_summary_says_nothing_of_instances(bench):
    row = bench.call("ListTrainingJobs", {"NameContains": "c"})["TrainingJobSummaries"][0]
    assert row.keys() == {
        "TrainingJobName",
        "TrainingJobArn",
        "TrainingJobStatus",
        "SecondaryStatus",
        "CreationTime",
        "LastModifiedTime",
        "TrainingEndTime",
    }


def test_a_processing_summary_says_why_it_failed():
    bench = Bench({"*": Script.fails("AlgorithmError: , exit code: 1", seconds=1)})
    bench.process()
    bench.advance(2)
    (row,) = bench.call("ListProcessingJobs")["ProcessingJobSummaries"]
    assert row["FailureReason"] == "AlgorithmError: , exit code: 1"


def test_a_list_shows_older_states_for_as_long_as_the_setting_says():
    bench = Bench(seconds=10, settings={"list_delay_seconds": 5})
    bench.train()
    assert names(bench) == []
    bench.advance(6)
    assert names(bench) == ["job"]
    bench.advance(6)
    assert bench.state() == ("Completed", "Completed")
    assert names(bench, StatusEquals="InProgress") == ["job"]
    bench.advance(5)
    assert names(bench, StatusEquals="Completed") == ["job"]
