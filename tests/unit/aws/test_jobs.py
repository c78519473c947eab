from datetime import UTC, datetime

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ReadTimeoutError
from botocore.stub import ANY, Stubber

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.listing import Question

ARN = "arn:aws:sagemaker:us-west-2:123456789012:{kind}-job/n"
KINDS = [JobKind.TRAINING, JobKind.PROCESSING]
REQUESTS = {
    JobKind.TRAINING: {
        "TrainingJobName": "n",
        "AlgorithmSpecification": {"TrainingImage": "i", "TrainingInputMode": "File"},
        "RoleArn": "arn:aws:iam::123456789012:role/r",
        "OutputDataConfig": {"S3OutputPath": "s3://b/o"},
        "ResourceConfig": {"InstancePreferences": [{"InstanceType": "ml.m5.large"}], "VolumeSizeInGB": 30},
        "StoppingCondition": {"MaxRuntimeInSeconds": 60},
    },
    JobKind.PROCESSING: {
        "ProcessingJobName": "n",
        "AppSpecification": {"ImageUri": "i"},
        "RoleArn": "arn:aws:iam::123456789012:role/r",
        "ProcessingResources": {
            "ClusterConfig": {"InstancePreferences": [{"InstanceType": "ml.m5.large"}], "VolumeSizeInGB": 30}
        },
    },
}
AFTER = datetime(2026, 11, 1, tzinfo=UTC)
BEFORE = datetime(2026, 11, 2, tzinfo=UTC)


@pytest.fixture
def client():
    return boto3.client(
        "sagemaker",
        region_name="us-west-2",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(retries={"mode": "standard", "total_max_attempts": 2}),
    )


@pytest.fixture
def stub(client):
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture(params=KINDS, ids=str)
def api(request, client, clock):
    return JobsApi(client, request.param, Pacing(clock), clock)


def method(api, verb):
    return f"{verb}_{api.kind.value}_job"


def test_create_sends_the_request_as_it_is_and_returns_the_arn(api, stub):
    arn = ARN.format(kind=api.kind.value)
    stub.add_response(method(api, "create"), {api.kind.arn_key: arn}, REQUESTS[api.kind])
    assert api.create(REQUESTS[api.kind]) == arn


def test_describe_asks_for_the_job_by_name(api, stub):
    stub.add_client_error(
        method(api, "describe"),
        "ValidationException",
        "Requested resource not found.",
        expected_params={api.kind.name_key: "n"},
    )
    with pytest.raises(CallFailed) as caught:
        api.describe("n")
    assert caught.value.failure.kind is FailureKind.NOT_FOUND
    assert caught.value.failure.operation == f"Describe{api.kind.word}Job"


def test_a_stop_that_aws_takes_is_true(api, stub):
    stub.add_response(method(api, "stop"), {}, {api.kind.name_key: "n"})
    assert api.stop("n") is True


@pytest.mark.parametrize(
    "message",
    ["The request was rejected because the training job is in status Stopped", "Requested resource not found."],
)
def test_a_stop_with_nothing_to_stop_is_no_failure(api, stub, message):
    stub.add_client_error(method(api, "stop"), "ValidationException", message)
    assert api.stop("n") is False


def test_a_stop_that_aws_refuses_is_a_failure(api, stub):
    stub.add_client_error(method(api, "stop"), "AccessDeniedException", "no")
    with pytest.raises(CallFailed) as caught:
        api.stop("n")
    assert caught.value.failure.kind is FailureKind.DENIED


def test_tags_are_added_in_aws_form(api, stub):
    arn = ARN.format(kind=api.kind.value)
    stub.add_response("add_tags", {}, {"ResourceArn": arn, "Tags": [{"Key": "a", "Value": "1"}]})
    api.add_tags(arn, {"a": "1"})


def test_tags_are_read_to_the_last_page(api, stub):
    arn = ARN.format(kind=api.kind.value)
    stub.add_response(
        "list_tags",
        {"Tags": [{"Key": "a", "Value": "1"}], "NextToken": "t"},
        {"ResourceArn": arn, "MaxResults": 100},
    )
    stub.add_response(
        "list_tags",
        {"Tags": [{"Key": "b", "Value": "2"}]},
        {"ResourceArn": arn, "MaxResults": 100, "NextToken": "t"},
    )
    assert api.tags(arn) == {"a": "1", "b": "2"}


def summary(kind, name):
    return {
        kind.name_key: name,
        kind.arn_key: ARN.format(kind=kind.value),
        "CreationTime": AFTER,
        kind.status_key: "InProgress",
    }


def test_a_list_is_bounded_filtered_and_paged(api, stub):
    rows = f"{api.kind.word}JobSummaries"
    expected = {
        "MaxResults": 100,
        "CreationTimeAfter": AFTER,
        "SortBy": "CreationTime",
        "SortOrder": "Descending",
        "NameContains": "smpabcd",
        "StatusEquals": "InProgress",
    }
    stub.add_response(f"list_{api.kind.value}_jobs", {rows: [summary(api.kind, "one")], "NextToken": "t"}, expected)
    stub.add_response(f"list_{api.kind.value}_jobs", {rows: [summary(api.kind, "two")]}, {**expected, "NextToken": "t"})
    found = api.list_names(created_after=AFTER, name_contains="smpabcd", status="InProgress")
    assert list(found) == ["one", "two"]


def test_a_page_is_asked_for_only_when_it_is_needed(api, stub):
    rows = f"{api.kind.word}JobSummaries"
    stub.add_response(
        f"list_{api.kind.value}_jobs",
        {rows: [summary(api.kind, "one")], "NextToken": "t"},
        {"MaxResults": 100, "CreationTimeAfter": AFTER, "SortBy": ANY, "SortOrder": ANY},
    )
    assert next(api.summaries(created_after=AFTER))[api.kind.name_key] == "one"


def test_calls_wait_for_their_turn(api, stub, clock):
    begin = clock.time()
    for _ in range(3):
        stub.add_response(method(api, "stop"), {})
        api.stop("n")
    assert clock.time() - begin == pytest.approx(2 / 0.8)


def test_after_throttling_the_next_call_waits(api, stub, clock):
    stub.add_client_error(method(api, "stop"), "ThrottlingException", "Rate exceeded")
    stub.add_response(method(api, "stop"), {})
    clock.advance(60)
    with pytest.raises(CallFailed):
        api.stop("n")
    begin = clock.time()
    api.stop("n")
    assert clock.time() - begin == pytest.approx(1 / 0.8)


class Answer:
    """What a connection gives back."""

    def __init__(self, status, code):
        self.status_code = status
        self.headers = {"x-amzn-requestid": "1"}
        self.content = f'{{"__type": "{code}", "message": "m"}}'.encode()


@pytest.fixture
def attempts(client, monkeypatch):
    """Script what the attempts of a call come to, one after the other."""
    script = []

    def send(_request):
        step = script.pop(0)
        if isinstance(step, Exception):
            raise step
        return Answer(*step)

    monkeypatch.setattr(client._endpoint.http_session, "send", send)
    monkeypatch.setattr("botocore.endpoint.time.sleep", lambda _: None)
    return script


TIMED_OUT = ReadTimeoutError(endpoint_url="https://x")


@pytest.mark.parametrize("first", [TIMED_OUT, (500, "InternalFailure")], ids=["timeout", "500"])
@pytest.mark.parametrize("code", ["ResourceInUse", "ResourceLimitExceeded"])
def test_a_refusal_after_an_attempt_without_answer_is_doubtful(api, attempts, first, code):
    attempts += [first, (400, code)]
    with pytest.raises(CallFailed) as caught:
        api.create(REQUESTS[api.kind])
    assert (caught.value.failure.code, caught.value.failure.no_answer) == (code, True)


def test_a_create_that_is_throttled_is_not_repeated_while_the_worker_waits(api, attempts):
    attempts += [(400, "ThrottlingException"), (400, "ResourceInUse")]
    with pytest.raises(CallFailed) as caught:
        api.create(REQUESTS[api.kind])
    failure = caught.value.failure
    assert (failure.kind, failure.code, failure.no_answer) == (FailureKind.THROTTLED, "ThrottlingException", False)
    assert len(attempts) == 1


def test_a_create_that_is_throttled_after_an_attempt_without_answer_is_doubtful(api, attempts):
    attempts += [TIMED_OUT, (400, "ThrottlingException")]
    with pytest.raises(CallFailed) as caught:
        api.create(REQUESTS[api.kind])
    assert caught.value.failure.no_answer


def test_a_create_that_is_throttled_by_a_server_that_fails_is_doubtful(api, attempts):
    attempts += [(503, "ThrottlingException")]
    with pytest.raises(CallFailed) as caught:
        api.create(REQUESTS[api.kind])
    assert caught.value.failure.no_answer


def test_a_read_that_is_throttled_is_repeated(api, attempts):
    attempts += [(400, "ThrottlingException"), (400, "ValidationException")]
    with pytest.raises(CallFailed) as caught:
        api.describe("n")
    assert caught.value.failure.code == "ValidationException"


def test_doubt_ends_with_its_call(api, attempts):
    attempts += [TIMED_OUT, TIMED_OUT, (400, "ResourceInUse")]
    with pytest.raises(CallFailed):
        api.create(REQUESTS[api.kind])
    with pytest.raises(CallFailed) as caught:
        api.create(REQUESTS[api.kind])
    assert not caught.value.failure.no_answer


# -- one page ------------------------------------------------------------------------------------------------


def page_request(**more):
    order = {"MaxResults": 100, "SortBy": "CreationTime", "SortOrder": "Descending"}
    return {"CreationTimeAfter": AFTER, **order, **more}


def test_a_page_is_asked_for_with_no_more_than_the_question_has(api, stub):
    stub.add_response(f"list_{api.kind.value}_jobs", {f"{api.kind.word}JobSummaries": []}, page_request())
    page = api.page(Question(AFTER.timestamp()))
    assert (page.rows, page.token) == ((), None)


def test_a_page_has_its_rows_the_next_ones_token_and_the_date(api, stub):
    bounds = {"CreationTimeBefore": BEFORE, "LastModifiedTimeAfter": AFTER, "NameContains": "smp", "NextToken": "1"}
    row = {
        api.kind.name_key: "n",
        api.kind.arn_key: ARN.format(kind=api.kind.value),
        api.kind.status_key: "InProgress",
        "CreationTime": AFTER,
    }
    answer = {
        f"{api.kind.word}JobSummaries": [row],
        "NextToken": "2",
        "ResponseMetadata": {"HTTPHeaders": {"date": "Fri, 15 Jan 2027 08:00:00 GMT"}},
    }
    stub.add_response(f"list_{api.kind.value}_jobs", answer, page_request(**bounds))
    page = api.page(Question(AFTER.timestamp(), BEFORE.timestamp(), AFTER.timestamp(), "smp", "1"))
    assert [(row.name, row.created) for row in page.rows] == [("n", AFTER.timestamp())]
    assert (page.token, page.date) == ("2", 1_800_000_000.0)
