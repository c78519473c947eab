from __future__ import annotations

import logging
from collections.abc import Iterator
from unittest import mock

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark
from airflow_sm_prefer.placement.log_cursors import JobLog
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers import copied_log
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.copied_log import CopiedLog
from airflow_sm_prefer.triggers.job_logs import Following
from tests.unit.triggers.builders import NOW, STATE

GROUP = "/aws/sagemaker/TrainingJobs"
LOGGED = Handed((Mark(5, 4, "algo-1-1"),))
RUNNING = STATE.but(capacity_at=NOW)
QUEUED = RUNNING.but(job_arn="arn:aws:batch:us-east-1:1:service-job/abc", job_name="service")


class Logs:
    """Notes who is followed from where; lines are handed out by the test."""

    def __init__(self) -> None:
        self.followed: list[tuple[object, ...]] = []
        self.followings: list[Following] = []

    def follow(self, group: str, name: str, write: object, since: Handed) -> Following:
        self.followed.append((group, name, since))
        following = Following(JobLog(group, name, since), write, lambda _: None)  # type: ignore[arg-type]
        self.followings.append(following)
        return following


@pytest.fixture
def logs() -> Iterator[Logs]:
    logs = Logs()
    with mock.patch.object(copied_log, "logs_for", return_value=logs):
        yield logs


def copied() -> CopiedLog:
    return CopiedLog(Connection(), logging.getLogger("task"), FakeClock(NOW))


def attempt(name: str | None) -> Observation:
    return Observation("service", "InProgress", training_job=name)


def test_a_job_is_followed_once_from_when_it_has_capacity(logs: Logs) -> None:
    log = copied()
    log.keep_up(STATE)
    assert logs.followed == []
    log.keep_up(RUNNING)
    log.keep_up(RUNNING)
    assert logs.followed == [(GROUP, "job-1", NOTHING)]


def test_each_attempt_of_a_service_job_is_followed_when_it_has_a_training_job(logs: Logs) -> None:
    log = copied()
    log.keep_up(QUEUED)
    for name in (None, "attempt-1", "attempt-1", "attempt-2"):
        log.keep_up(QUEUED.but(logged=LOGGED), attempt(name))
    assert logs.followed == [(GROUP, "attempt-1", LOGGED), (GROUP, "attempt-2", NOTHING)]
    log.close()
    assert [following.is_closed for following in logs.followings] == [True, True]


def test_the_worker_is_told_how_far_the_latest_was_copied(logs: Logs) -> None:
    log = copied()
    log.keep_up(QUEUED, attempt("attempt-1"))
    log.keep_up(QUEUED, attempt("attempt-2"))
    logs.followings[-1].handed = LOGGED
    noted: State = log.noted(QUEUED)
    assert noted.logged == LOGGED


def test_lines_are_the_tasks_own_whatever_is_in_them(logs: Logs, caplog: pytest.LogCaptureFixture) -> None:
    log = copied()
    log.keep_up(RUNNING)
    with caplog.at_level(logging.INFO):
        logs.followings[0].tell("100 %s of %d")
    assert caplog.messages == ["100 %s of %d"]
