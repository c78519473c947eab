"""The endpoint: its jobs, its limits and its counts, as boto3 sees them."""

import time
from collections.abc import Iterator

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from benchmarks.watch.endpoint import JobsEndpoint
from benchmarks.watch.jobs import jobs, warm_up_jobs


@pytest.fixture
def endpoint() -> Iterator[JobsEndpoint]:
    endpoint = JobsEndpoint({"jobs": 4, "mixed": True})
    yield endpoint
    endpoint.close()


def client(endpoint: JobsEndpoint, service: str = "sagemaker"):
    return boto3.client(
        service,
        endpoint_url=endpoint.url,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
        config=Config(retries={"total_max_attempts": 1}),
    )


def until(condition) -> None:
    limit = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.01)


def list_often(sagemaker) -> None:
    for _ in range(50):
        sagemaker.list_training_jobs()


def test_its_jobs_run_until_they_are_told_to_end(endpoint):
    sagemaker = client(endpoint)
    names = [job.name for job in jobs(4, mixed=True)]
    rows = sagemaker.list_training_jobs(NameContains="nightly")["TrainingJobSummaries"]
    assert {row["TrainingJobName"] for row in rows} == {names[0], names[2]}
    assert {row["TrainingJobStatus"] for row in rows} == {"InProgress"}
    endpoint.end([names[2]])
    until(lambda: sagemaker.describe_training_job(TrainingJobName=names[2])["TrainingJobStatus"] == "Completed")
    assert list(endpoint.ended) == [names[2]]


def test_there_are_jobs_of_both_kinds_to_warm_up_with(endpoint):
    sagemaker = client(endpoint)
    assert sagemaker.describe_training_job(TrainingJobName=warm_up_jobs()[0].name)
    assert sagemaker.describe_processing_job(ProcessingJobName=warm_up_jobs()[1].name)


def test_more_than_sagemakers_limit_is_throttled_and_counted(endpoint):
    endpoint.mark()
    with pytest.raises(ClientError, match="ThrottlingException"):
        list_often(client(endpoint))
    counts = endpoint.counts()
    assert counts["throttled"] == 1
    assert counts["calls"]["ListTrainingJobs"] > 2
    assert counts["errors"] == {}


def test_a_mark_begins_the_count_anew(endpoint):
    client(endpoint).list_training_jobs()
    endpoint.mark()
    assert endpoint.counts() == {"calls": {}, "throttled": 0, "errors": {}, "busiest_second": 0, "queue_calls": {}}


def test_a_jobs_end_is_an_event_in_the_queue(endpoint):
    sqs = client(endpoint, "sqs")
    url = sqs.get_queue_url(QueueName="events")["QueueUrl"]
    first = next(iter(jobs(1)))
    endpoint.end([first.name])
    (message,) = sqs.receive_message(QueueUrl=url, WaitTimeSeconds=10)["Messages"]
    assert first.arn in message["Body"]
    done = sqs.delete_message_batch(QueueUrl=url, Entries=[{"Id": "0", "ReceiptHandle": message["ReceiptHandle"]}])
    assert [entry["Id"] for entry in done["Successful"]] == ["0"]


def test_a_job_can_be_gone(endpoint):
    first = next(iter(jobs(1)))
    endpoint.forget([first.name])
    with pytest.raises(ClientError, match="not found"):
        client(endpoint).describe_training_job(TrainingJobName=first.name)


def test_its_clock_can_be_ahead_of_ours():
    endpoint = JobsEndpoint({"jobs": 1, "ahead": 3600.0, "limits": False})
    (row,) = client(endpoint).list_training_jobs(NameContains="nightly")["TrainingJobSummaries"]
    endpoint.close()
    assert 3500 < row["CreationTime"].timestamp() - time.time() < 3700
