"""The metrics of a queue, from its jobs at one moment."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.placement.queue_metrics import Metric, Point, QueuedJob, QueueState, points

NOW = 1_800_000_000.0


def job(status, *, ago=60.0, instances=1.0, share=None):
    return QueuedJob(status, NOW - ago, instances, share)


def values(*jobs, limit=8, shares=None, others=0.0):
    queue = QueueState("p5", limit, tuple(jobs), shares or {}, others)
    found = list(points(queue, NOW))
    assert all(point.queue == "p5" for point in found)
    return {(point.share, point.metric): point.value for point in found}


def test_an_empty_queue_has_every_metric_so_that_alarms_hear_of_it():
    assert values() == {
        (None, Metric.DEPTH): 0,
        (None, Metric.OLDEST_WAIT): 0.0,
        (None, Metric.RUNNING): 0,
        (None, Metric.IDLE): 8.0,
    }


@pytest.mark.parametrize(
    ("status", "depth", "running", "idle"),
    [
        ("SUBMITTED", 1, 0, 8),
        ("PENDING", 1, 0, 8),
        ("RUNNABLE", 1, 0, 8),
        ("SCHEDULED", 1, 0, 5),
        ("STARTING", 0, 3, 5),
        ("RUNNING", 0, 3, 5),
    ],
)
def test_a_job_waits_until_it_starts_and_holds_instances_from_when_it_is_scheduled(status, depth, running, idle):
    found = values(job(status, instances=3))
    assert found[None, Metric.DEPTH] == depth
    assert found[None, Metric.RUNNING] == running
    assert found[None, Metric.IDLE] == idle


def test_the_oldest_wait_is_since_submission_of_the_oldest_job_that_has_not_started():
    jobs = job("RUNNING", ago=9000), job("RUNNABLE", ago=100), job("SCHEDULED", ago=700), job("SUBMITTED", ago=1)
    assert values(*jobs)[None, Metric.OLDEST_WAIT] == 700


def test_a_clock_that_is_behind_aws_makes_no_negative_wait():
    assert values(job("RUNNABLE", ago=-5))[None, Metric.OLDEST_WAIT] == 0


def test_other_queues_on_the_environment_leave_less_idle():
    assert values(job("RUNNING", instances=2), others=5)[None, Metric.IDLE] == 1


def test_more_in_use_than_allowed_as_after_a_limit_was_lowered_is_nothing_idle():
    assert values(job("RUNNING", instances=9))[None, Metric.IDLE] == 0


def test_each_share_has_its_own_and_the_queue_has_all():
    jobs = (
        job("RUNNABLE", share="search", ago=50),
        job("RUNNING", share="ads", instances=2),
        job("RUNNABLE", share="ads"),
    )
    found = values(*jobs, shares={"search": None, "idle": None})
    assert [found[share, Metric.DEPTH] for share in (None, "search", "ads", "idle")] == [2, 1, 1, 0]
    assert [found[share, Metric.RUNNING] for share in (None, "search", "ads", "idle")] == [2, 0, 2, 0]
    assert found["search", Metric.OLDEST_WAIT] == 50


def test_a_fair_share_owns_nothing_that_could_lie_idle():
    assert ("search", Metric.IDLE) not in values(job("RUNNING", share="search"), shares={"search": None})


def test_a_quota_share_s_idle_instances_are_its_own_that_none_of_its_jobs_have():
    jobs = job("RUNNING", share="search", instances=2), job("SCHEDULED", share="ads", instances=5)
    found = values(*jobs, shares={"search": 4, "ads": 4})
    assert found["search", Metric.IDLE] == 2
    assert found["ads", Metric.IDLE] == 0


def test_the_whole_queue_comes_first_and_units_are_cloudwatch_s():
    found = list(points(QueueState("p5", 8, (), {"b": None, "a": None}), NOW))
    assert found[0] == Point(Metric.DEPTH, "p5", None, 0)
    assert [point.share for point in found] == [None] * 4 + ["a"] * 3 + ["b"] * 3
    assert {point.metric: point.metric.unit for point in found} == {
        Metric.DEPTH: "Count",
        Metric.OLDEST_WAIT: "Seconds",
        Metric.RUNNING: "Count",
        Metric.IDLE: "Count",
    }
