"""The calls about service jobs of AWS Batch."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.stub import Stubber

from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.aws.service_jobs import LIVE_STATUSES, ServiceJobsApi
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.listing import Question

ARN = "arn:aws:batch:us-west-2:123456789012:service-job/7b5f"
REQUEST: dict[str, Any] = {
    "jobName": "nightly-1",
    "jobQueue": "p5",
    "serviceJobType": "SAGEMAKER_TRAINING",
    "serviceRequestPayload": "{}",
    "clientToken": "token",
}
GONE = [
    "Service job 7b5f does not exist",
    "JobQueue p5 not found.",
    "Job queue doesn't exist",
    "Could not find job 7b5f",
]


@pytest.fixture
def api(stub: Stubber) -> ServiceJobsApi:
    clock = FakeClock()
    return ServiceJobsApi(stub.client, Pacing(clock), clock)


def row(name: str = "nightly-1", job_id: str = "7b5f", created: int = 1) -> dict[str, Any]:
    return {
        "jobName": name,
        "jobId": job_id,
        "jobArn": ARN,
        "serviceJobType": "SAGEMAKER_TRAINING",
        "createdAt": created,
    }


def described(job_id: str = "7b5f") -> dict[str, Any]:
    return {
        "jobArn": ARN,
        "jobId": job_id,
        "jobName": "nightly-1",
        "jobQueue": "p5",
        "serviceJobType": "SAGEMAKER_TRAINING",
        "startedAt": 0,
        "status": "RUNNABLE",
    }


def by_name(name: str = "nightly-1") -> dict[str, Any]:
    return {"jobQueue": "p5", "maxResults": 100, "filters": [{"name": "JOB_NAME", "values": [name]}]}


# -- submitting ----------------------------------------------------------------------------------------------


def test_a_request_is_sent_as_it_is_and_its_arn_returned(api: ServiceJobsApi, stub: Stubber) -> None:
    answer = {"jobArn": ARN, "jobId": "7b5f", "jobName": "nightly-1"}
    stub.add_response("submit_service_job", answer, REQUEST)
    assert api.submit(REQUEST) == ARN


def test_an_answer_without_an_arn_is_looked_up(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("submit_service_job", {"jobId": "7b5f", "jobName": "nightly-1"}, REQUEST)
    stub.add_response("describe_service_job", described(), {"jobId": "7b5f"})
    assert api.submit(REQUEST) == ARN


def test_a_job_that_cannot_be_looked_up_after_it_was_submitted_may_be_there(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("submit_service_job", {"jobId": "7b5f", "jobName": "nightly-1"}, REQUEST)
    stub.add_client_error("describe_service_job", "AccessDeniedException", "no")
    with pytest.raises(CallFailed) as caught:
        api.submit(REQUEST)
    failure = caught.value.failure
    assert (failure.kind, failure.no_answer) == (FailureKind.SERVER, True), "or a job that is there would be forgotten"


def test_batchs_own_words_are_kept_when_it_refuses(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_client_error("submit_service_job", "ClientException", "JobQueue p5 does not exist")
    with pytest.raises(CallFailed) as caught:
        api.submit(REQUEST)
    failure = caught.value.failure
    assert (failure.kind, failure.code, failure.no_answer) == (FailureKind.INVALID, "ClientException", False)
    assert str(failure) == "SubmitServiceJob: ClientException: JobQueue p5 does not exist"


# -- looking -------------------------------------------------------------------------------------------------


def test_a_job_is_described_by_its_arn(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("describe_service_job", described(), {"jobId": ARN})
    assert api.describe(ARN)["jobName"] == "nightly-1"


@pytest.mark.parametrize("message", GONE)
def test_a_job_that_batch_does_not_know_is_not_found(api: ServiceJobsApi, stub: Stubber, message: str) -> None:
    stub.add_client_error("describe_service_job", "ClientException", message)
    with pytest.raises(CallFailed) as caught:
        api.describe(ARN)
    assert caught.value.failure.kind is FailureKind.NOT_FOUND


def test_the_newest_job_of_a_name_is_found_whatever_its_status(api: ServiceJobsApi, stub: Stubber) -> None:
    first, second = row(job_id="old", created=1), row(job_id="new", created=2)
    stub.add_response("list_service_jobs", {"jobSummaryList": [first], "nextToken": "t"}, by_name())
    stub.add_response("list_service_jobs", {"jobSummaryList": [second]}, {**by_name(), "nextToken": "t"})
    stub.add_response("describe_service_job", described("new"), {"jobId": "new"})
    found = api.named("nightly-1", "p5")
    assert found is not None
    assert found["jobId"] == "new"


def test_a_name_is_looked_for_without_regard_to_case_and_as_a_whole(api: ServiceJobsApi, stub: Stubber) -> None:
    rows = [row("nightly-10", "ten", 9), row("NIGHTLY-1", "one", 1)]
    stub.add_response("list_service_jobs", {"jobSummaryList": rows}, by_name("Nightly-1"))
    stub.add_response("describe_service_job", described("one"), {"jobId": "one"})
    assert api.named("Nightly-1", "p5") is not None


def test_a_name_that_nobody_has_is_none(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("list_service_jobs", {"jobSummaryList": [row("nightly-10")]}, by_name())
    assert api.named("nightly-1", "p5") is None


@pytest.mark.parametrize("message", GONE)
def test_no_job_is_in_a_queue_that_is_gone(api: ServiceJobsApi, stub: Stubber, message: str) -> None:
    stub.add_client_error("list_service_jobs", "ClientException", message)
    assert api.named("nightly-1", "p5") is None


@pytest.mark.parametrize(("code", "message"), [("AccessDeniedException", "no"), ("ClientException", "bad filter")])
def test_what_keeps_batch_from_saying_whether_there_is_a_job_is_raised(
    api: ServiceJobsApi, stub: Stubber, code: str, message: str
) -> None:
    stub.add_client_error("list_service_jobs", code, message)
    with pytest.raises(CallFailed):
        api.named("nightly-1", "p5")


def test_jobs_that_are_not_over_are_asked_for_status_by_status(api: ServiceJobsApi, stub: Stubber) -> None:
    for status in LIVE_STATUSES:
        asked = {"jobQueue": "p5", "maxResults": 100, "jobStatus": status}
        stub.add_response("list_service_jobs", {"jobSummaryList": [row(status.lower())]}, asked)
    assert [job["jobName"] for job in api.live("p5")] == [status.lower() for status in LIVE_STATUSES]


def test_jobs_since_an_instant_are_asked_for_in_milliseconds(api: ServiceJobsApi, stub: Stubber) -> None:
    filters = [{"name": "AFTER_CREATED_AT", "values": ["1800000000250"]}]
    stub.add_response(
        "list_service_jobs", {"jobSummaryList": [row()]}, {"jobQueue": "p5", "maxResults": 100, "filters": filters}
    )
    assert len(list(api.created("p5", 1_800_000_000.25))) == 1


def test_only_queues_for_training_are_listed_to_the_last_page(api: ServiceJobsApi, stub: Stubber) -> None:
    def queue(name: str, kind: str) -> dict[str, Any]:
        return {
            "jobQueueName": name,
            "jobQueueArn": f"arn:{name}",
            "state": "ENABLED",
            "priority": 1,
            "computeEnvironmentOrder": [],
            "jobQueueType": kind,
        }

    first = {"jobQueues": [queue("a", "SAGEMAKER_TRAINING"), queue("b", "ECS")], "nextToken": "t"}
    stub.add_response("describe_job_queues", first, {})
    stub.add_response("describe_job_queues", {"jobQueues": [queue("c", "SAGEMAKER_TRAINING")]}, {"nextToken": "t"})
    assert api.queues() == ["a", "c"]


# -- stopping and tags ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "reason"),
    [
        ("airflow_sm_prefer: patience.", "airflow_sm_prefer: patience."),
        ("", "airflow_sm_prefer: the task has no use for it any more."),
        ("x" * 600, "x" * 500),
    ],
)
def test_a_termination_says_why(api: ServiceJobsApi, stub: Stubber, why: str, reason: str) -> None:
    stub.add_response("terminate_service_job", {}, {"jobId": ARN, "reason": reason})
    assert api.terminate(ARN, why) is True


@pytest.mark.parametrize("message", GONE)
def test_a_job_that_is_gone_needs_no_termination(api: ServiceJobsApi, stub: Stubber, message: str) -> None:
    stub.add_client_error("terminate_service_job", "ClientException", message)
    assert api.terminate(ARN) is False


def test_a_termination_that_batch_refuses_is_a_failure(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_client_error("terminate_service_job", "AccessDeniedException", "no")
    with pytest.raises(CallFailed):
        api.terminate(ARN)


def test_tags_are_read_and_added_as_batch_has_them(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("list_tags_for_resource", {"tags": {"a": "1"}}, {"resourceArn": ARN})
    stub.add_response("tag_resource", {}, {"resourceArn": ARN, "tags": {"b": "2"}})
    assert api.tags(ARN) == {"a": "1"}
    api.add_tags(ARN, {"b": "2"})


def test_a_job_without_tags_has_none(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("list_tags_for_resource", {}, {"resourceArn": ARN})
    assert api.tags(ARN) == {}


@pytest.mark.parametrize(("token", "more"), [(None, {}), ("1", {"nextToken": "1"})])
def test_a_page_is_of_all_jobs_of_a_queue_since_an_instant(
    api: ServiceJobsApi, stub: Stubber, token: str | None, more: dict[str, str]
) -> None:
    filters = [{"name": "AFTER_CREATED_AT", "values": ["1800000000000"]}]
    request = {"jobQueue": "p5", "maxResults": 100, "filters": filters, **more}
    rows = [row(created=1_800_000_001_500) | {"status": "RUNNING"}]
    stub.add_response("list_service_jobs", {"jobSummaryList": rows, "nextToken": "2"}, request)
    page = api.page("p5", Question(1_800_000_000.0, token=token))
    assert [(listed.handle, listed.created) for listed in page.rows] == [(ARN, 1_800_000_001.5)]
    assert (page.token, page.date) == ("2", None)


def test_a_last_page_may_be_empty(api: ServiceJobsApi, stub: Stubber) -> None:
    stub.add_response("list_service_jobs", {"jobSummaryList": []})
    page = api.page("p5", Question(1_800_000_000.0))
    assert (page.rows, page.token) == ((), None)
