from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.placement import state as state_module
from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark
from airflow_sm_prefer.placement.state import SIZE_LIMIT, Entry, Phase, State, StopReason

from .builders import NOW, SERVICE_JOB, in_queue, new_state, planned_state

KEPT = Path(__file__).parent / "data"

FULL = (
    new_state("ml.p5.48xlarge", "ml.g5.xlarge", waves=((0,), (1,)), start_by=NOW + 60, total=900.0, speed=60.0)
    .but(
        phase=Phase.STOPPING,
        submission=3,
        wave=1,
        round=2,
        job_name="job-3",
        job_arn="arn:3",
        max_pending=1800.0,
        submitted=NOW,
        first_submit=NOW - 60,
        pending_spent=12.5,
        wait_began=NOW,
        wake_at=NOW + 5,
        dropped=frozenset({1}),
        left_out=frozenset({0}),
        selected=0,
        selected_type="ml.p5.48xlarge",
        selected_count=1,
        capacity_at=NOW + 2,
        status="InProgress (Pending)",
        stop=StopReason.PATIENCE,
        stop_sent=NOW + 3,
        refusals=2,
        unseen_since=NOW + 1,
        told_at=NOW + 1,
        fingerprint="image:1",
        recoveries=1,
        recover=2,
        recover_any=True,
        one_by_one=True,
        asked=True,
        throttled_since=NOW,
        patience_more=7.5,
        lost_at=NOW + 4,
    )
    .with_entry(0, plan="arn:plan", wait_for_plan=True, ends=NOW + 99)
    .with_attempt(Verdict.QUOTA_BUSY, "limit is 2", NOW)
)


@pytest.mark.parametrize("state", [new_state(), FULL])
def test_a_state_survives_its_wire_form(state: State) -> None:
    wire = json.loads(json.dumps(state.to_json()))
    assert State.from_json(wire) == state


def test_the_wire_form_is_plain_json() -> None:
    assert json.loads(json.dumps(FULL.to_json())) == FULL.to_json()


def test_fields_of_a_later_version_are_ignored() -> None:
    wire = FULL.to_json()
    wire["mood"] = "good"
    wire["limits"]["hope"] = 1
    wire["entries"][0]["colour"] = "red"
    wire["attempts"][0]["colour"] = "red"
    assert State.from_json(wire) == FULL


def test_fields_that_an_earlier_version_had_not_get_their_defaults() -> None:
    wire = {
        "version": 1,
        "kind": "training",
        "entries": [{"instance_type": "ml.g5.xlarge", "count": 1}],
        "waves": [[0]],
        "limits": {"budget": 60.0},
    }
    state = State.from_json(wire)
    assert state.entries == (Entry("ml.g5.xlarge", 1, CapacityKind.ON_DEMAND),)
    assert state.phase is Phase.NEW
    assert state.limits.speed == 1.0


@pytest.mark.parametrize("file", sorted(KEPT.glob("state-*.json")), ids=lambda path: path.stem)
def test_a_state_that_was_kept_from_a_released_version_still_loads(file: Path) -> None:
    state = State.from_json(json.loads(file.read_text()))
    assert state.job_name == "job-3"
    assert state.attempts[0].verdict is Verdict.QUOTA_BUSY


def test_a_state_of_a_later_version_says_what_to_do() -> None:
    with pytest.raises(StateUnreadable, match=r"later version.*Upgrade"):
        State.from_json({**FULL.to_json(), "version": 99})


@pytest.mark.parametrize(
    "wire",
    [
        {},
        {"version": 1},
        {**FULL.to_json(), "phase": "dreaming"},
        {**FULL.to_json(), "entries": [{}]},
        {**FULL.to_json(), "limits": None},
        {**FULL.to_json(), "attempts": [{"verdict": "capacity"}]},
        {**FULL.to_json(), "version": "one"},
        "nothing",
    ],
)
def test_a_damaged_state_is_an_error_in_words(wire: Any) -> None:
    with pytest.raises(StateUnreadable, match="can't be read"):
        State.from_json(wire)


def test_attempts_of_a_wave_with_the_same_verdict_are_folded() -> None:
    state = new_state()
    for n in range(10_000):
        state = state.with_attempt(Verdict.CAPACITY, f"none at {n}", NOW + n)
    state = state.with_attempt(Verdict.QUOTA_BUSY, "limit", NOW)
    first, second = state.attempts
    assert (first.count, first.first, first.last, first.reason) == (10_000, NOW, NOW + 9999, "none at 9999")
    assert second.count == 1
    assert len(json.dumps(state.to_json())) < SIZE_LIMIT


def tried(waves: int, verdicts: list[Verdict], words: int) -> State:
    """A list of that many waves, each tried with each verdict."""
    state = new_state(*["ml.p4d.24xlarge"] * waves, waves=tuple((n,) for n in range(waves)))
    for number in range(waves):
        for at, verdict in enumerate(verdicts):
            state = state.but(wave=number).with_attempt(verdict, "w" * words, NOW + number + at)
    return state


def test_two_states_are_of_the_same_list_whatever_else_has_come_of_them() -> None:
    state = new_state("ml.a", "ml.b", waves=((0,), (1,)))
    assert state.is_of_the_same_list(FULL.but(entries=state.entries, waves=state.waves).with_entry(0, ends=NOW))
    assert not state.is_of_the_same_list(new_state("ml.a", "ml.b", waves=((0, 1),)))
    assert not state.is_of_the_same_list(new_state("ml.a", "ml.c", waves=((0,), (1,))))


def test_awss_words_are_cut_shorter_where_they_would_not_fit() -> None:
    state = tried(20, [Verdict.CAPACITY, Verdict.QUOTA_BUSY], 300)
    read = State.from_json(state.to_json())
    assert len(read.attempts) == 40
    assert {len(past.reason) for past in read.attempts} == {40}


def test_at_last_all_attempts_of_a_wave_become_one() -> None:
    verdicts = [Verdict.CAPACITY, Verdict.QUOTA_BUSY, Verdict.INFRASTRUCTURE]
    read = State.from_json(tried(30, verdicts, 300).to_json())
    assert [past.wave for past in read.attempts] == list(range(30))
    assert {(past.count, past.verdict) for past in read.attempts} == {(3, Verdict.INFRASTRUCTURE)}
    assert (read.attempts[0].first, read.attempts[0].last) == (NOW, NOW + 2)


def test_a_state_that_is_too_large_to_be_kept_is_refused() -> None:
    with pytest.raises(StateUnreadable, match="shorten the preference list"):
        new_state(*[f"ml.p{n}.48xlarge" for n in range(300)]).to_json()


@pytest.mark.parametrize(
    ("entry", "written"),
    [
        (Entry("ml.p5.48xlarge", 2), "2 x ml.p5.48xlarge (On-Demand)"),
        (Entry("ml.p5.48xlarge", 1, CapacityKind.TRAINING_PLAN), "1 x ml.p5.48xlarge (training plan)"),
        (Entry("ml.p5.48xlarge", 1, CapacityKind.SPOT), "1 x ml.p5.48xlarge (spot)"),
        (Entry("ml.p5.48xlarge", 2, queue="p5"), "2 x ml.p5.48xlarge (queue p5)"),
        (
            Entry("ml.p5.48xlarge", 2, queue="arn:aws:batch:us-east-1:123456789012:job-queue/p5", share="research"),
            "2 x ml.p5.48xlarge (queue p5, share research)",
        ),
        (Entry("the instances of the request", 0), "the instances of the request"),
    ],
)
def test_an_entry_is_written_for_people(entry: Entry, written: str) -> None:
    assert str(entry) == written


def test_a_job_is_called_by_its_name_and_a_service_job_by_its_arn() -> None:
    state = new_state("ml.a").but(job_name="job-1", job_arn="arn:aws:sagemaker:us-east-1:1:training-job/job-1")
    assert (state.handle, state.is_queued) == ("job-1", False)
    state = state.but(job_arn=SERVICE_JOB.format(1))
    assert (state.handle, state.is_queued) == (SERVICE_JOB.format(1), True)
    assert not state.without_job().is_queued


def test_the_queues_of_a_list_are_named_once_and_in_order() -> None:
    state = planned_state(in_queue(queue="b"), Entry("ml.g5.xlarge", 1), in_queue(queue="a"), in_queue(queue="b"))
    assert state.queues == ("b", "a")


def test_what_is_kept_of_queues_survives_the_wire_form() -> None:
    state = planned_state(in_queue(share="research"), priority=0).but(stop=StopReason.QUEUE_UNFIT)
    assert State.from_json(state.to_json()) == state


def test_a_state_from_before_there_were_queues_has_none() -> None:
    wire = planned_state(Entry("ml.g5.xlarge", 1)).to_json()
    wire.pop("priority", None)
    for entry in wire["entries"]:
        entry.pop("queue", None)
        entry.pop("share", None)
    state = State.from_json(wire)
    assert (state.priority, state.queues) == (None, ())


LOGGED = Handed.of(Mark(1_800_000_000_000 + 7 * n, 1_799_999_999_000 + n, f"algo-{n}-1799999999") for n in range(9))


def test_how_far_a_log_was_copied_survives_the_wire_form_and_ends_with_its_job() -> None:
    state = new_state("ml.a").but(job_name="job-1", logged=LOGGED)
    assert State.from_json(json.loads(json.dumps(state.to_json()))) == state
    assert state.without_job().logged == NOTHING


def test_a_state_from_before_logs_were_copied_while_deferred_says_nothing_of_them() -> None:
    wire = new_state("ml.a").to_json()
    del wire["logged"]
    assert State.from_json(wire).logged == NOTHING


def test_how_far_a_log_was_copied_is_read_as_two_instants_too() -> None:
    wire = new_state("ml.a").to_json()
    del wire["logged"]
    state = State.from_json({**wire, "logged_until": 1_800_000_000_000, "logged_streams": 1_799_999_999_000})
    assert state.logged.until("job-1/algo-1-1", 1_799_999_999_000) == 1_800_000_000_000
    assert state.logged.until("job-1/algo-2-1", 1_799_999_999_001) is None


def test_where_a_state_is_too_large_lines_come_twice_before_words_are_cut() -> None:
    state = tried(2, [Verdict.CAPACITY], words=100).but(logged=LOGGED)
    with mock.patch.object(state_module, "SIZE_LIMIT", len(json.dumps(state.to_json())) - 1):
        smaller = State.from_json(state.to_json())
    assert smaller == state.but(logged=LOGGED.within(1))
    assert smaller.logged.earliest == LOGGED.earliest
