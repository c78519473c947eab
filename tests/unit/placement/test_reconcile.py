"""Every state that a task can be in, and every race that a job can be found in."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.reconcile import (
    MISSING_FOR,
    MISSING_TAG,
    NOT_MISSING,
    Act,
    Cause,
    LiveJob,
    decide,
    later_owners,
)

NOW = 1_800_000_000.0
TASK = TaskIdentity("prod", "dag", "manual__2026-11-30T00:00:00+00:00", "train", 3)


def owner(submission: int = 1, task: TaskIdentity = TASK, **changes: Any) -> Ownership:
    values = {
        "task": Ownership.task_tag(task),
        "deployment": "prod",
        "ti_id": f"try-{submission}",
        "max_tries": 0,
        "fingerprint": "",
        "submission": submission,
        "first_submit": NOW - 100,
        "pieces": Ownership.task_pieces(task),
    }
    return Ownership(**{**values, **changes})


def job(submission: int = 1, task: TaskIdentity = TASK, missing: str | None = None, **changes: Any) -> LiveJob:
    tags = {tag["Key"]: tag["Value"] for tag in owner(submission, task, **changes).to_tags()}
    if missing is not None:
        tags[MISSING_TAG] = missing
    name = job_name(task, "nightly", submission)
    return LiveJob.from_tags(JobKind.TRAINING, name, f"arn:{name}", NOW - 100, tags=tags, deployment="prod")


LIVE = ("running", "deferred", "queued", "scheduled", "up_for_retry", "up_for_reschedule", "restarting", "no_status")
OVER = ("success", "failed", "skipped", "upstream_failed", "removed")


def test_both_lists_of_states_are_airflows_whole_list() -> None:
    from airflow.sdk.api.datamodels._generated import TaskInstanceState

    assert {*LIVE, *OVER} - {"no_status"} <= {state.value for state in TaskInstanceState}


@pytest.mark.parametrize("state", [*LIVE, "awaiting_input", "a state of a later Airflow"])
def test_a_job_whose_task_may_go_on_is_kept(state: str) -> None:
    decision = decide(job(), state, None, NOW)
    assert (decision.act, decision.cause) == (Act.KEEP, Cause.TASK_LIVES)
    assert ("yet to be scheduled" if state == "no_status" else state) in decision.text


@pytest.mark.parametrize("state", OVER)
def test_a_job_whose_task_is_over_is_stopped(state: str) -> None:
    decision = decide(job(), state, None, NOW)
    assert (decision.act, decision.cause) == (Act.STOP, Cause.TASK_OVER)
    assert state in decision.text


@pytest.mark.parametrize("state", [*LIVE, *OVER, None])
@pytest.mark.parametrize("later", [None, owner(2)])
def test_a_job_that_nobody_was_to_wait_for_is_kept_whatever_its_task_does(
    state: str | None, later: Ownership | None
) -> None:
    long_gone = job(waits=False, missing=str(NOW - 86400))
    assert decide(long_gone, state, later, NOW).cause is Cause.NOT_WAITED_FOR
    assert decide(long_gone, state, later, NOW).act is Act.KEEP


@pytest.mark.parametrize(
    ("missing", "act"),
    [
        (None, Act.NOTE),
        (NOT_MISSING, Act.NOTE),
        ("", Act.NOTE),
        ("soon", Act.NOTE),
        ("nan", Act.NOTE),
        ("-inf", Act.NOTE),
        (str(NOW + 60), Act.NOTE),  # a clock that is ahead, or somebody's joke
        (str(NOW), Act.WAIT),
        (str(NOW - MISSING_FOR + 1), Act.WAIT),
        (str(NOW - MISSING_FOR), Act.STOP),
        (str(NOW - 600), Act.STOP),
    ],
)
def test_a_missing_task_is_believed_at_the_second_look_ten_minutes_later(missing: str | None, act: Act) -> None:
    decision = decide(job(missing=missing), None, None, NOW)
    assert (decision.act, decision.cause) == (act, Cause.TASK_MISSING)


@pytest.mark.parametrize("state", LIVE)
def test_a_task_that_is_there_again_takes_the_first_look_back(state: str) -> None:
    decision = decide(job(missing=str(NOW - 86400)), state, None, NOW)
    assert (decision.act, decision.cause) == (Act.TAKE_BACK, Cause.TASK_LIVES)


@pytest.mark.parametrize("state", [*LIVE, None])
def test_an_earlier_job_is_stopped_where_a_later_try_has_submitted_another(state: str | None) -> None:
    decision = decide(job(1), state, owner(2), NOW)
    assert (decision.act, decision.cause) == (Act.STOP, Cause.SUPERSEDED)
    assert "number 2" in decision.text


@pytest.mark.parametrize("state", LIVE)
def test_of_two_jobs_of_one_try_none_is_stopped_while_it_lives(state: str) -> None:
    decision = decide(job(1, ti_id="same"), state, owner(2, ti_id="same"), NOW)
    assert (decision.act, decision.cause) == (Act.DOUBT, Cause.SAME_TRY_TWICE)


def test_of_two_jobs_of_one_try_both_are_stopped_once_it_is_over() -> None:
    assert decide(job(1, ti_id="same"), "failed", owner(2, ti_id="same"), NOW).act is Act.STOP


@pytest.mark.parametrize(
    "tags",
    [
        {},
        {"team": "ml"},
        {tag["Key"]: tag["Value"] for tag in owner().to_tags()} | {"sm-prefer:submission": "x"},
        {tag["Key"]: tag["Value"] for tag in owner().to_tags()} | {"sm-prefer:task": "dag/run/another"},
        {tag["Key"]: tag["Value"] for tag in owner().to_tags()} | {"sm-prefer:task": "nonsense"},
    ],
)
@pytest.mark.parametrize("state", [None, "failed"])
def test_a_job_whose_tags_are_gone_or_changed_is_kept_and_told(tags: dict[str, str], state: str | None) -> None:
    found = LiveJob.from_tags(JobKind.TRAINING, job().name, "arn", NOW, tags=tags, deployment="prod")
    assert found.task is None
    decision = decide(found, state, owner(2), NOW)
    assert (decision.act, decision.cause) == (Act.DOUBT, Cause.OWNER_UNKNOWN)


def test_the_newest_job_of_a_task_supersedes_all_before_it_and_no_other_tasks() -> None:
    other = dataclasses.replace(TASK, map_index=4)
    jobs = [job(2), job(9), job(10), job(1), job(1, other), *(strays())]
    later = later_owners(jobs)
    numbers = {arn.rsplit("-", 1)[1]: found.submission for arn, found in later.items()}
    assert numbers == {"1": 10, "2": 10, "9": 10}
    assert job(1, other).arn not in later


def test_a_job_in_a_queue_is_called_by_its_arn_and_superseded_by_one_outside() -> None:
    arn = "arn:aws:batch:us-east-1:123456789012:service-job/1"
    queued = dataclasses.replace(job(1), arn=arn)
    assert (queued.handle, job(1).handle) == (arn, job(1).name)
    assert later_owners([queued, job(2)])[arn].submission == 2


def strays() -> list[LiveJob]:
    """Jobs that can't be told whose they are, and one of the same task and another kind."""
    known = job(99)
    return [
        dataclasses.replace(known, owner=None, task=None),
        dataclasses.replace(known, task=None),
        dataclasses.replace(known, kind=JobKind.PROCESSING, arn="arn:processing-99"),
    ]


@pytest.mark.parametrize(
    "task",
    [
        TaskIdentity("prod", "dag", "scheduled__2026-11-30T00:00:00+00:00", "train"),
        TaskIdentity("prod", "dag.with-dots_1", "a/run/with slashes~and='%20'", "group.train", 0),
        TaskIdentity("prod", "dág", "läuft+1", "tâche", 1023),
        TaskIdentity("prod", "d" * 250, "r" * 250, "t" * 250, 7),
        TaskIdentity("prod", "d" * 250, "~" * 150, "t" * 250),
        TaskIdentity("prod", "dag", "run[3]", "train"),
    ],
)
def test_a_task_is_read_back_from_the_tags_of_its_job(task: TaskIdentity) -> None:
    assert job(1, task).task == task
    assert len(owner(1, task).to_tags()) <= 15


def test_a_task_that_no_number_of_tags_would_hold_is_in_doubt() -> None:
    unreadable = job(1, TaskIdentity("prod", "ä" * 250, "~" * 250, "ö" * 250))
    assert unreadable.task is None
    assert decide(unreadable, "failed", None, NOW).act is Act.DOUBT


def test_anothers_job_is_not_read_as_ours() -> None:
    tags = {tag["Key"]: tag["Value"] for tag in owner().to_tags()}
    assert LiveJob.from_tags(JobKind.TRAINING, job().name, "", NOW, tags=tags, deployment="dev").task is None
