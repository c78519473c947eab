"""Each call goes where the job is: to SageMaker, or to AWS Batch."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import Question

SERVICE_JOB = "arn:aws:batch:us-west-2:123456789012:service-job/7b5f"
TRAINING_JOB = "arn:aws:sagemaker:us-west-2:123456789012:training-job/nightly-1"
NOW = 1_800_000_000
AFTER = datetime.fromtimestamp(NOW, UTC)


class Both:
    """The two kinds of calls, and how often those about service jobs were made."""

    def __init__(self) -> None:
        self.direct, self.queued = mock.Mock(name="direct"), mock.Mock(name="queued")
        self.made = 0
        self.jobs = RoutedJobs(self.direct, self._make)

    def _make(self) -> Any:
        self.made += 1
        return self.queued


@pytest.fixture
def both() -> Both:
    return Both()


def row(name: str, created: int, status: str = "RUNNING") -> dict[str, Any]:
    return {"jobName": name, "jobArn": f"arn:{name}", "status": status, "createdAt": (NOW + created) * 1000}


def listed(name: str, created: int) -> Listed:
    return Listed(name, f"arn:{name}", "InProgress", float(NOW + created))


def test_they_are_training_jobs(both: Both) -> None:
    assert both.jobs.kind is JobKind.TRAINING


def test_a_request_goes_where_it_is_for(both: Both) -> None:
    queued, direct = {"jobQueue": "p5"}, {"TrainingJobName": "nightly-1"}
    assert both.jobs.create(queued) is both.queued.submit.return_value
    assert both.jobs.create(direct) is both.direct.create.return_value
    both.queued.submit.assert_called_once_with(queued)
    both.direct.create.assert_called_once_with(direct)


def test_a_service_job_is_called_by_its_arn(both: Both) -> None:
    assert both.jobs.describe(SERVICE_JOB) is both.queued.describe.return_value
    assert both.jobs.stop(SERVICE_JOB, "why") is both.queued.terminate.return_value
    assert both.jobs.tags(SERVICE_JOB) is both.queued.tags.return_value
    both.jobs.add_tags(SERVICE_JOB, {"a": "1"})
    both.queued.describe.assert_called_once_with(SERVICE_JOB)
    both.queued.terminate.assert_called_once_with(SERVICE_JOB, "why")
    both.queued.add_tags.assert_called_once_with(SERVICE_JOB, {"a": "1"})
    assert both.direct.mock_calls == []
    assert both.made == 1


def test_a_job_of_sagemakers_own_is_called_by_its_name_and_makes_no_client_for_batch(both: Both) -> None:
    assert both.jobs.describe("nightly-1") is both.direct.describe.return_value
    assert both.jobs.stop("nightly-1", "why") is both.direct.stop.return_value
    assert both.jobs.tags(TRAINING_JOB) is both.direct.tags.return_value
    both.jobs.add_tags(TRAINING_JOB, {"a": "1"})
    both.direct.add_tags.assert_called_once_with(TRAINING_JOB, {"a": "1"})
    assert both.made == 0


def test_a_job_is_looked_for_in_a_queue_or_out_of_them(both: Both) -> None:
    assert both.jobs.find("nightly-1", "p5") is both.queued.named.return_value
    assert both.jobs.find("nightly-1") is both.direct.find.return_value
    both.queued.named.assert_called_once_with("nightly-1", "p5")
    both.direct.find.assert_called_once_with("nightly-1")


def test_a_listing_has_the_jobs_of_all_queues_and_of_none_newest_first(both: Both) -> None:
    both.direct.listed.return_value = iter([listed("direct-smp", 5)])
    both.queued.queues.return_value = ["a", "b"]
    both.queued.created.side_effect = lambda queue, after: [row(f"{queue}-smp", 9 if queue == "b" else 1), row("x", 7)]
    found = both.jobs.listed(created_after=AFTER, name_contains="smp")
    assert [job.name for job in found] == ["b-smp", "direct-smp", "a-smp"]
    assert both.queued.created.mock_calls == [mock.call("a", AFTER.timestamp()), mock.call("b", AFTER.timestamp())]
    both.direct.listed.assert_called_once_with(created_after=AFTER, name_contains="smp", status=None)


def test_of_jobs_in_progress_those_of_queues_are_asked_for_by_their_statuses(both: Both) -> None:
    both.direct.listed.return_value = iter([])
    both.queued.queues.return_value = ["a"]
    both.queued.live.return_value = [row("a-smp", 1, "RUNNABLE")]
    (job,) = both.jobs.listed(created_after=AFTER, name_contains="smp", status="InProgress")
    assert (job.name, job.status) == ("a-smp", "InProgress")
    both.queued.created.assert_not_called()


def test_queues_that_may_not_be_looked_at_are_left_out_and_it_is_said(
    both: Both, caplog: pytest.LogCaptureFixture
) -> None:
    both.direct.listed.return_value = iter([listed("direct-smp", 5)])
    both.queued.queues.side_effect = failed(FailureKind.DENIED)
    with caplog.at_level(logging.WARNING):
        found = both.jobs.listed(created_after=AFTER, name_contains="smp")
    assert [job.name for job in found] == ["direct-smp"]
    assert "Jobs in queues of AWS Batch are not looked at" in caplog.text


def test_queues_that_do_not_answer_fail_the_listing_so_that_no_job_is_taken_for_gone(both: Both) -> None:
    both.direct.listed.return_value = iter([])
    both.queued.queues.side_effect = failed(FailureKind.THROTTLED)
    with pytest.raises(CallFailed):
        both.jobs.listed(created_after=AFTER, name_contains="smp")


def failed(kind: FailureKind) -> CallFailed:
    return CallFailed(CallFailure(kind, "Code", "words", "DescribeJobQueues"))


def test_a_page_is_of_a_queue_or_of_sagemakers_own(both: Both) -> None:
    question = Question(float(NOW))
    assert both.jobs.page(question) is both.direct.page.return_value
    assert both.made == 0
    assert both.jobs.page(question, "p5") is both.queued.page.return_value
    both.direct.page.assert_called_once_with(question)
    both.queued.page.assert_called_once_with("p5", question)


def test_places_are_counted_from_one_in_a_queue_and_in_each_quota_share(both: Both) -> None:
    both.queued.front.return_value = [["arn:a", "arn:b"], ["arn:c"], []]
    assert both.jobs.places("p5") == {"arn:a": 1, "arn:b": 2, "arn:c": 1}
    both.queued.front.assert_called_once_with("p5")
