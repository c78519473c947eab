"""What a report says, to people and to programs."""

from __future__ import annotations

import dataclasses
import json

import pytest

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.findings import UNTOUCHED, Done, Finding, Report, Sleeper
from airflow_sm_prefer.placement.reconcile import Act, Cause, Decision

from .test_reconcile import NOW, job

DECISION = Decision(Act.STOP, Cause.TASK_OVER, "its task is over: failed")


def report(*done: Done, sleepers: tuple[Sleeper, ...] = ()) -> Report:
    findings = tuple(Finding(job(), DECISION, one) for one in done)
    return Report("prod", "eu-west-1", NOW, True, findings, sleepers)


@pytest.mark.parametrize("done", list(Done))
def test_what_is_left_to_look_at_is_not_settled(done: Done) -> None:
    assert report(Done.KEPT, done).is_settled is (done in {Done.KEPT, Done.STOPPED, Done.OVER})


def test_every_decision_has_an_outcome_where_nothing_is_done() -> None:
    assert {*UNTOUCHED, Act.STOP, Act.NOTE} == set(Act)


@pytest.mark.parametrize(("status", "settled"), [("Completed", False), ("Failed", True), ("Stopped", True)])
def test_a_task_may_sleep_after_a_bad_end_and_not_after_a_good_one(status: str, settled: bool) -> None:
    sleeper = Sleeper(JobKind.TRAINING, "nightly-1", status, NOW, "dag/run/train")
    assert report(sleepers=(sleeper,)).is_settled is settled
    assert ("may be waiting to submit again" in str(sleeper)) is settled
    assert f"ended as {status} at 2027-01-15T08:00:00+00:00" in str(sleeper)


def test_a_sleeper_is_written_as_plain_json_with_a_time_that_a_person_reads() -> None:
    written = Sleeper(JobKind.TRAINING, "nightly-1", "Completed", NOW, "dag/run/train").to_json()
    assert json.loads(json.dumps(written)) == {
        "kind": "training",
        "name": "nightly-1",
        "status": "Completed",
        "ended": "2027-01-15T08:00:00+00:00",
        "task": "dag/run/train",
    }


def test_a_report_counts_and_shows_what_is_not_well() -> None:
    told = report(Done.KEPT, Done.KEPT, Done.STOPPED)
    assert str(told) == "3 running jobs of prod in eu-west-1: 2 kept, 1 stopped"
    assert str(report()) == "0 running jobs of prod in eu-west-1"
    wire = json.loads(json.dumps(told.to_json(kept=False)))
    assert (len(wire["jobs"]), wire["counts"], wire["settled"]) == (1, {"kept": 2, "stopped": 1}, True)
    assert len(told.to_json()["jobs"]) == 3


def test_a_finding_names_the_job_the_task_and_the_trouble() -> None:
    finding = Finding(job(), DECISION, Done.FAILED, "not stopped: no")
    assert str(finding) == f"not done: {job().name} ({job().task}): its task is over: failed; not stopped: no"
    unread = dataclasses.replace(job(), task=None)
    assert Finding(unread, DECISION, Done.LOOK).task.startswith("dag/manual__2026-11-30T00:00:00+00:00/train")
    assert "(whose?)" in str(Finding(dataclasses.replace(unread, owner=None), DECISION, Done.LOOK))
