"""Which of Batch's requests are about service jobs."""

import pytest

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.objects import Queue
from airflow_sm_prefer.sandbox.batch.ownership import is_for_service_jobs

BATCH = "arn:aws:batch:us-east-1:123456789012:"
ORDER = [{"order": 1, "serviceEnvironment": "e"}]


@pytest.fixture
def estate() -> Estate:
    estate = Estate(Caller("123456789012", "us-east-1"))
    arn = estate.arn("job-queue", "ours")
    estate.queues[arn] = Queue(name="ours", arn=arn, priority=1, environment="e")
    return estate


@pytest.mark.parametrize(
    ("operation", "request_", "is_ours"),
    [
        ("CreateJobQueue", {"serviceEnvironmentOrder": ORDER}, True),
        ("CreateJobQueue", {"jobQueueType": "SAGEMAKER_TRAINING"}, True),
        ("CreateJobQueue", {"computeEnvironmentOrder": []}, False),
        ("DescribeJobQueues", {}, True),
        ("DescribeJobQueues", {"jobQueues": []}, True),
        ("DescribeJobQueues", {"jobQueues": ["ours"]}, True),
        ("DescribeJobQueues", {"jobQueues": ["other", f"{BATCH}job-queue/ours"]}, True),
        ("DescribeJobQueues", {"jobQueues": ["other"]}, False),
        ("UpdateJobQueue", {"jobQueue": "ours"}, True),
        ("DeleteJobQueue", {"jobQueue": "other"}, False),
        ("SubmitServiceJob", {"jobQueue": "other"}, True),
        ("GetJobQueueSnapshot", {"jobQueue": "other"}, True),
        ("TagResource", {"resourceArn": f"{BATCH}job-queue/ours"}, True),
        ("TagResource", {"resourceArn": f"{BATCH}job-queue/other"}, False),
        ("TagResource", {"resourceArn": f"{BATCH}job-queue/ours/quota-share/red"}, True),
        ("TagResource", {"resourceArn": f"{BATCH}service-job/1"}, True),
        ("TagResource", {"resourceArn": f"{BATCH}job-definition/a:1"}, False),
    ],
)
def test_a_request_is_for_service_jobs_or_for_the_rest_of_batch(estate, operation, request_, is_ours):
    assert is_for_service_jobs(estate, operation, request_) is is_ours
