"""Reading the jobs of queues, and sending values to CloudWatch."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.aws.queue_metrics import VALUES_AT_ONCE, publish, read_points
from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.placement.queue_metrics import Metric, Point

NOW = 1_800_000_000.0


class CloudWatch:
    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []

    def put_metric_data(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        return {}


@pytest.mark.parametrize(("count", "sizes"), [(0, []), (1, [1]), (1000, [1000]), (2001, [1000, 1000, 1])])
def test_no_request_has_more_values_than_cloudwatch_takes(count, sizes):
    client = CloudWatch()
    publish(client, [Point(Metric.DEPTH, f"q{n}", None, n) for n in range(count)], "Ours", NOW)
    assert [len(request["MetricData"]) for request in client.requests] == sizes
    assert max(sizes, default=0) <= VALUES_AT_ONCE
    assert {datum["Value"] for request in client.requests for datum in request["MetricData"]} == set(range(count))


def test_a_value_has_its_queue_its_share_its_unit_and_its_instant():
    client = CloudWatch()
    publish(client, [Point(Metric.OLDEST_WAIT, "p5", "search", 7.5), Point(Metric.IDLE, "p5", None, 3)], "Ours", NOW)
    (request,) = client.requests
    assert request["Namespace"] == "Ours"
    assert request["MetricData"] == [
        {
            "MetricName": "OldestWait",
            "Dimensions": [{"Name": "JobQueue", "Value": "p5"}, {"Name": "Share", "Value": "search"}],
            "Timestamp": utc(NOW),
            "Value": 7.5,
            "Unit": "Seconds",
        },
        {
            "MetricName": "IdleInstances",
            "Dimensions": [{"Name": "JobQueue", "Value": "p5"}],
            "Timestamp": utc(NOW),
            "Value": 3.0,
            "Unit": "Count",
        },
    ]


class Batch:
    """One queue of containers, and one for training with jobs by status.

    Args:
        again: What is RUNNABLE at the second look; the same as at the first unless told.
        jobs: By status.
    """

    def __init__(self, again: list[dict[str, Any]] | None = None, **jobs: list[dict[str, Any]]) -> None:
        self.jobs, self.again = jobs, again

    def describe_service_environments(self) -> dict[str, Any]:
        limits = [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 8}]
        row = {"serviceEnvironmentName": "p5", "serviceEnvironmentArn": "arn/p5", "capacityLimits": limits}
        return {"serviceEnvironments": [row]}

    def describe_job_queues(self) -> dict[str, Any]:
        plain = {"state": "ENABLED", "priority": 1}
        order = [{"order": 1, "serviceEnvironment": "arn/p5"}]
        return {
            "jobQueues": [
                {"jobQueueName": "containers", "jobQueueArn": "arn/containers", **plain},
                {"jobQueueName": "p5", "jobQueueArn": "arn/p5", "serviceEnvironmentOrder": order, **plain},
            ]
        }

    def list_scheduling_policies(self) -> dict[str, Any]:
        return {"schedulingPolicies": []}

    def list_service_jobs(self, jobQueue: str, jobStatus: str) -> dict[str, Any]:
        assert jobQueue == "p5"
        found = self.jobs.get(jobStatus, [])
        if jobStatus == "RUNNABLE" and self.again is not None:
            self.jobs["RUNNABLE"] = self.again
        return {"jobSummaryList": found}


def row(job_id: str, **more: Any) -> dict[str, Any]:
    return {"jobId": job_id, "jobName": "job", "createdAt": int((NOW - 60) * 1000)} | more


def read(batch: Batch, *names: str) -> dict[Metric, float]:
    found = read_points(batch, names, NOW)
    assert {(point.queue, point.share) for point in found} == {("p5", None)}
    return {point.metric: point.value for point in found}


@pytest.mark.parametrize("names", [(), ("p5",), ("arn:aws:batch:us-east-1:123456789012:job-queue/p5",)])
def test_queues_for_training_are_read_and_times_are_in_milliseconds(names):
    found = read(Batch(RUNNABLE=[row("a")]), *names)
    assert found == {Metric.DEPTH: 1, Metric.OLDEST_WAIT: 60.0, Metric.RUNNING: 0, Metric.IDLE: 8}


def test_times_in_seconds_are_taken_for_what_they_are():
    assert read(Batch(RUNNABLE=[row("a", createdAt=int(NOW - 60))]))[Metric.OLDEST_WAIT] == 60.0


def test_a_job_has_the_instances_that_it_uses_or_one():
    usage = [{"capacityUnit": "NUM_INSTANCES", "quantity": 3.0}]
    found = read(Batch(RUNNING=[row("a", capacityUsage=usage), row("b")]))
    assert (found[Metric.RUNNING], found[Metric.IDLE]) == (4, 4)


def test_a_job_that_moves_on_while_it_is_read_is_counted_once_as_what_it_is_then():
    found = read(Batch(again=[], RUNNABLE=[row("a")], SCHEDULED=[row("a")], STARTING=[row("a")]))
    assert (found[Metric.DEPTH], found[Metric.RUNNING]) == (0, 1)


def test_a_job_that_goes_back_into_its_queue_while_it_is_read_is_counted():
    found = read(Batch(again=[row("a")]))
    assert (found[Metric.DEPTH], found[Metric.RUNNING]) == (1, 0)
