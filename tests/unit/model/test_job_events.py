"""What is taken from an event about a job, and what from a message that is none."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from typing import Any

import pytest

from airflow_sm_prefer.model.job_events import PATTERN, Hint, read_hint
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name

ARN = "arn:aws:batch:us-west-2:123456789012:service-job/4a9b4c1e-1b5d-4d52-a4b5-9a5d5e8f7f10"
NOON = 1_796_040_000.0
TRAINING = "SageMaker Training Job State Change"
PROCESSING = "SageMaker Processing Job State Change"
SERVICE = "Batch Service Job State Change"


def event(
    title: Any = TRAINING, source: Any = "aws.sagemaker", time: Any = "2026-11-30T12:00:00Z", **detail: Any
) -> Any:
    return {"version": "0", "source": source, "detail-type": title, "time": time, "detail": detail}


def read(document: Any) -> Hint | None:
    return read_hint(json.dumps(document))


def of_training(status: Any = "InProgress", **detail: Any) -> Any:
    return event(TrainingJobName="train-1", TrainingJobStatus=status, **detail)


def of_service_job(status: Any = "RUNNING", title: str = SERVICE, **detail: Any) -> Any:
    return event(title, "aws.batch", jobArn=ARN, status=status, **detail)


@pytest.mark.parametrize(
    ("status", "is_over"),
    [
        ("InProgress", False),
        ("Stopping", False),
        ("Completed", True),
        ("Failed", True),
        ("Stopped", True),
        ("New", False),
    ],
)
def test_a_job_of_sagemakers_is_called_by_its_name_and_is_over_by_its_status(status, is_over):
    assert read(of_training(status)) == Hint("train-1", is_over, NOON)
    processing = event(PROCESSING, ProcessingJobName="prep", ProcessingJobStatus=status)
    assert read(processing) == Hint("prep", is_over, NOON)


@pytest.mark.parametrize(
    ("status", "is_over"),
    [("SUBMITTED", False), ("RUNNABLE", False), ("RUNNING", False), ("SUCCEEDED", True), ("FAILED", True)],
)
def test_a_service_job_is_called_by_its_arn_and_is_over_by_its_status(status, is_over):
    assert read(of_service_job(status)) == Hint(ARN, is_over, NOON)


def test_what_happens_in_a_service_jobs_queue_is_a_reason_to_look_too():
    assert read(of_service_job("RUNNABLE", "Batch Service Job Queue Blocked")) == Hint(ARN, False, NOON)
    preempted = event("Batch Service Job Preemption Started", "aws.batch", preemptedJobArn=ARN, status="RUNNING")
    assert read(preempted) == Hint(ARN, False, NOON)


@pytest.mark.parametrize("changed", [1_796_040_001_500, "1796040001500", 1_796_040_001.5])
def test_the_instant_is_that_of_the_change_in_milliseconds_or_seconds_or_as_a_string(changed):
    assert read(of_training(LastModifiedTime=changed)) == Hint("train-1", False, NOON + 1.5)
    assert read(of_service_job("FAILED", stoppedAt=changed)) == Hint(ARN, True, NOON + 1.5)


def test_the_end_of_an_earlier_attempt_is_not_when_a_service_job_changed():
    assert read(of_service_job("RUNNABLE", stoppedAt=1_000_000_000_000)) == Hint(ARN, False, NOON)


@pytest.mark.parametrize(
    "changed", [None, True, "", "soon", "nan", 1e400, -5, 0, [], {}, "9" * 400, int("9" * 400), 1e300, "0x10"]
)
def test_an_instant_that_is_none_leaves_that_of_the_event(changed):
    hint = read(of_training(LastModifiedTime=changed))
    assert hint == Hint("train-1", False, NOON)


@pytest.mark.parametrize("time", [None, 5, "", "yesterday", "2026-13-01T00:00:00Z", [], {"a": 1}])
def test_an_event_may_lack_every_instant(time):
    assert read(event(time=time, TrainingJobName="a", TrainingJobStatus="Failed")) == Hint("a", True, None)


def test_an_event_without_its_time_has_none():
    document = of_training()
    del document["time"]
    assert read(document) == Hint("train-1", False, None)


def test_an_event_may_have_come_through_a_topic():
    notification = {"Type": "Notification", "TopicArn": "arn", "Message": json.dumps(of_training("Failed"))}
    assert read(notification) == Hint("train-1", True, NOON)


@pytest.mark.parametrize(
    "name",
    [None, "", 5, [], {}, "-a", "a-", "a b", "a/b", "a\n", "../a", "a" * 64, "ä", "٣", "$(id)", "AWSBatch" * 9],
)
def test_a_name_that_no_job_can_have_is_no_hint(name):
    assert read(event(TrainingJobName=name, TrainingJobStatus="Failed")) is None


def test_the_longest_name_is_read():
    assert read(event(TrainingJobName="a" * 63, TrainingJobStatus="Failed")) == Hint("a" * 63, True, NOON)


@pytest.mark.parametrize(
    "arn",
    [
        None,
        5,
        [ARN],
        "",
        "job",
        ARN + "\n",
        ARN.replace("service-job/", "job/"),
        ARN.replace("batch", "sagemaker"),
        ARN.replace("123456789012", "12345678901٣"),
        ARN + "x" * 128,
    ],
)
def test_an_arn_that_no_service_job_can_have_is_no_hint(arn):
    assert read(event(SERVICE, "aws.batch", jobArn=arn, status="FAILED")) is None


@pytest.mark.parametrize("status", [None, 5, [], {}, ["Failed"]])
def test_a_status_of_another_type_ends_nothing(status):
    assert read(of_training(status)) == Hint("train-1", False, NOON)
    assert read(of_service_job(status)) == Hint(ARN, False, NOON)


@pytest.mark.parametrize(
    "document",
    [
        None,
        5,
        "text",
        [],
        [of_training()],
        {},
        {"detail": {}},
        event(None),
        event([TRAINING]),
        event(TRAINING, "aws.batch", TrainingJobName="a"),
        event(TRAINING, "mine", TrainingJobName="a"),
        event(TRAINING, ["aws.sagemaker"], TrainingJobName="a"),
        event(SERVICE, "aws.sagemaker", jobArn=ARN),
        event("SageMaker Model State Change", ModelName="a"),
        event("Batch Job State Change", "aws.batch", jobArn=ARN),
        {**event(), "detail": "text"},
        {**event(), "detail": [1]},
        {"Type": "Notification"},
        {"Type": "Notification", "Message": 5},
        {"Type": "Notification", "Message": "{"},
        {"Type": "Notification", "Message": json.dumps({"Type": "Notification", "Message": json.dumps(of_training())})},
        {"Type": "SubscriptionConfirmation", "Message": json.dumps(of_training())},
    ],
)
def test_what_is_no_event_about_a_job_is_no_hint(document):
    assert read(document) is None


@pytest.mark.parametrize(
    "body",
    ["", "not json", "{", "[" * 100_000, '{"a":' * 100_000, "9" * 10_000, "\ud800", "\x00", "NaN", '{"detail": NaN}'],
)
def test_what_is_no_json_or_too_deep_or_too_long_is_no_hint(body):
    assert read_hint(body) is None


def test_a_message_of_any_length_is_passed_over_without_reading_it():
    assert read(of_training("Failed", HyperParameters={"a": "x" * 300_000})) == Hint("train-1", True, NOON)
    assert read(of_training("Failed", HyperParameters={"a": "x" * 600_000})) is None


def test_the_pattern_of_a_rule_names_what_is_read():
    sources = {title: "aws.batch" if title.startswith("Batch") else "aws.sagemaker" for title in PATTERN["detail-type"]}
    assert set(sources) == {TRAINING, PROCESSING, SERVICE}
    assert set(sources.values()) == set(PATTERN["source"])
    for title, source in sources.items():
        detail = {"TrainingJobName": "a", "ProcessingJobName": "a", "jobArn": ARN}
        assert read(event(title, source, **detail)) is not None


@pytest.mark.parametrize("prefix", ["", "train", "x" * 100])
@pytest.mark.parametrize("limit", [23, 63])
def test_the_pattern_of_a_rule_matches_the_names_of_jobs_that_a_task_waits_for_and_no_others(prefix, limit):
    ours = job_name(TaskIdentity("prod", "dag", "run", "task"), prefix, 1, limit=limit)
    fields = [field for choice in PATTERN["detail"]["$or"] for field in choice.items()]
    assert [name for name, _ in fields] == ["TrainingJobName", "ProcessingJobName", "jobName"]
    for _, (filtered,) in fields:
        assert fnmatchcase(ours, filtered["wildcard"])
        assert not fnmatchcase("churn-model-2026-11-30", filtered["wildcard"])
