import logging

import pytest
from airflow.providers.common.compat.sdk import XCom

from airflow_sm_prefer.links import JOB_XCOM_KEY, JobLink, JobLogLink, JobQueueLink, QueuedJob
from airflow_sm_prefer.model.job import JobKind

JOB = {"kind": "training", "name": "nightly-smpabcd-1", "region": "us-west-2", "partition": "aws"}


class Hook:
    def __init__(self, region="us-west-2", partition="aws"):
        self.conn_region_name = region
        self.console_partition = partition


class Operator:
    do_xcom_push = True

    def __init__(self, hook=None):
        self.hook = hook or Hook()


class TaskInstance:
    """A task instance, and what it has pushed."""

    def __init__(self):
        self.pushed = {}

    def xcom_push(self, key, value):
        self.pushed[key] = value


@pytest.fixture
def ti(monkeypatch):
    instance = TaskInstance()
    monkeypatch.setattr(XCom, "get_value", lambda *, ti_key, key: ti_key.pushed.get(key))
    return instance


def persisted(ti, operator=None, kind=JobKind.TRAINING, name="nightly-smpabcd-1"):
    JobLink.persist_job({"ti": ti}, operator or Operator(), kind, name)
    return ti.pushed[JOB_XCOM_KEY]


@pytest.mark.parametrize(
    ("kind", "page", "group"),
    [(JobKind.TRAINING, "jobs", "TrainingJobs"), (JobKind.PROCESSING, "processing-jobs", "ProcessingJobs")],
)
def test_each_kind_of_job_has_its_pages(ti, kind, page, group):
    persisted(ti, kind=kind)
    assert JobLink().get_link(Operator(), ti_key=ti) == (
        f"https://console.aws.amazon.com/sagemaker/home?region=us-west-2#/{page}/nightly-smpabcd-1"
    )
    assert JobLogLink().get_link(Operator(), ti_key=ti) == (
        "https://console.aws.amazon.com/cloudwatch/home?region=us-west-2#logsV2:log-groups/log-group/"
        f"$252Faws$252Fsagemaker$252F{group}$3FlogStreamNameFilter$3Dnightly-smpabcd-1$252F"
    )


@pytest.mark.parametrize(
    ("region", "partition", "console"),
    [
        ("eu-west-1", "aws", "https://console.aws.amazon.com/"),
        ("cn-north-1", "aws-cn", "https://console.amazonaws.cn/"),
        ("us-gov-west-1", "aws-us-gov", "https://console.amazonaws-us-gov.com/"),
    ],
)
@pytest.mark.parametrize("link", [JobLink(), JobLogLink()])
def test_a_link_leads_to_the_partitions_console_and_the_region(ti, region, partition, console, link):
    persisted(ti, Operator(Hook(region, partition)))
    address = link.get_link(Operator(), ti_key=ti)
    assert address.startswith(console)
    assert f"region={region}" in address


@pytest.mark.parametrize("link", [JobLink(), JobLogLink()])
@pytest.mark.parametrize("partition", [None, "aws-iso-z"])
def test_where_there_is_no_console_there_is_no_link(ti, link, partition):
    persisted(ti, Operator(Hook(partition=partition)))
    assert link.get_link(Operator(), ti_key=ti) == ""


@pytest.mark.parametrize("link", [JobLink(), JobLogLink()])
@pytest.mark.parametrize("pushed", [None, {}, {"kind": "training", "partition": "aws", "region": None, "name": "n"}])
def test_before_there_is_a_job_there_is_no_link(ti, link, pushed):
    if pushed is not None:
        ti.pushed[JOB_XCOM_KEY] = pushed
    assert link.get_link(Operator(), ti_key=ti) == ""


def test_a_link_needs_nothing_of_the_operator_that_it_is_computed_with(ti):
    persisted(ti)
    assert "nightly-smpabcd-1" in JobLink().get_link(None, ti_key=ti)


def test_the_last_job_is_the_one_that_is_linked(ti):
    persisted(ti, name="one")
    persisted(ti, name="two")
    assert JobLink().get_link(Operator(), ti_key=ti).endswith("/two")


def test_links_are_made_without_do_xcom_push_too(ti):
    operator = Operator()
    operator.do_xcom_push = False
    assert persisted(ti, operator) == JOB


def test_a_link_that_can_not_be_made_fails_nothing(caplog):
    class Broken:
        def xcom_push(self, key, value):
            raise ConnectionError

    with caplog.at_level(logging.WARNING):
        JobLink.persist_job({"ti": Broken()}, Operator(), JobKind.TRAINING, "n")
    assert "can't be made" in caplog.text


# -- jobs in queues of AWS Batch -------------------------------------------------------------------------------

SERVICE_JOB = "arn:aws:batch:us-west-2:123456789012:service-job/7b5f"
IN_QUEUE = QueuedJob(SERVICE_JOB, "p5", "AWSBatchsmpabcd-1")
QUEUE_ARN = "arn:aws:batch:us-west-2:123456789012:job-queue/p5"


def links_of(ti, queued, operator=None):
    JobLink.persist_job({"ti": ti}, operator or Operator(), JobKind.TRAINING, "nightly-smpabcd-1", queued)
    return [link.get_link(Operator(), ti_key=ti) for link in (JobLink(), JobQueueLink(), JobLogLink())]


@pytest.mark.parametrize("queue", ["p5", QUEUE_ARN])
def test_a_service_job_its_queue_and_the_logs_of_all_its_attempts_have_their_pages(ti, queue):
    batch = "https://console.aws.amazon.com/batch/home?region=us-west-2"
    assert links_of(ti, IN_QUEUE._replace(queue=queue)) == [
        f"{batch}#jobs/detail/7b5f",
        f"{batch}#queues/detail/{QUEUE_ARN}",
        "https://console.aws.amazon.com/cloudwatch/home?region=us-west-2#logsV2:log-groups/log-group/"
        "$252Faws$252Fsagemaker$252FTrainingJobs$3FlogStreamNameFilter$3DAWSBatchsmpabcd-1",
    ]


def test_a_job_in_no_queue_has_no_page_of_one(ti):
    job, queue, _ = links_of(ti, None)
    assert job.endswith("#/jobs/nightly-smpabcd-1")
    assert queue == ""


def test_after_a_queue_a_job_of_sagemakers_own_is_linked_as_such(ti):
    links_of(ti, IN_QUEUE)
    job, queue, logs = links_of(ti, None)
    assert (job.rpartition("/")[2], queue) == ("nightly-smpabcd-1", "")
    assert "AWSBatch" not in logs


def test_with_the_sandbox_a_queue_has_no_page(ti):
    assert links_of(ti, IN_QUEUE, Operator(Hook(partition=None))) == ["", "", ""]


def test_before_there_is_a_job_there_is_no_queue_to_link_to(ti):
    assert JobQueueLink().get_link(Operator(), ti_key=ti) == ""
