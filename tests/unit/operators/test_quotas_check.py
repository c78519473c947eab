from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import pytest

from airflow_sm_prefer import on_demand, spot, training_plan
from airflow_sm_prefer.aws.quotas import Quota
from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import AS_WRITTEN, PreferenceList
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.operators.quotas_check import find_short, leave_out
from airflow_sm_prefer.placement.state import Entry, Limits, State

P5, P4, M5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.m5.xlarge"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/nightly"
CONFIG: dict[JobKind, dict[str, Any]] = {
    JobKind.TRAINING: {"ResourceConfig": {"VolumeSizeInGB": 30}},
    JobKind.PROCESSING: {"ProcessingResources": {"ClusterConfig": {"VolumeSizeInGB": 30}}},
}


def listed(*prefer: Any, kind: JobKind = JobKind.TRAINING) -> PreferenceList:
    return parse_preferences(list(prefer), kind=kind, config=CONFIG[kind], known_types=lambda _: True)


def short(preferences: PreferenceList, quotas: Mapping[str, float], kind: JobKind = JobKind.TRAINING) -> dict[int, str]:
    def named(names: Collection[str]) -> dict[str, Quota]:
        return {name: Quota(name, "L-1", value) for name, value in quotas.items() if name in names}

    return find_short(kind, preferences, named)


@pytest.mark.parametrize(
    ("entry", "quota", "value", "is_short"),
    [
        (on_demand(P5), f"{P5} for training job usage", 0, True),
        (on_demand(P5, count=2), f"{P5} for training job usage", 1, True),
        (on_demand(P5, count=2), f"{P5} for training job usage", 2, False),
        (on_demand(P5), f"{P5} for spot training job usage", 0, False),
        (on_demand(P5), f"{P5} for processing job usage", 0, False),
        (on_demand(P5), f"{P4} for training job usage", 0, False),
        (training_plan(P5, arn=PLAN, count=4), f"{P5} for training job usage", 3, True),
        (spot(P5), f"{P5} for spot training job usage", 0, True),
        (spot(P5), f"{P5} for training job usage", 0, False),
        (on_demand(P5, count=8), "Number of instances across all training jobs", 4, True),
        (spot(P5, count=8), "Number of instances across all training jobs", 4, False),
        (spot(P5, count=8), "Number of instances across all spot training jobs", 4, True),
        (on_demand(P5, count=21), "Maximum number of instances per training job", 20, True),
        (spot(P5, count=21), "Maximum number of instances per spot training job", 20, True),
    ],
)
def test_an_entry_is_short_if_a_quota_of_its_own_is_smaller_than_its_count(
    entry: Any, quota: str, value: int, is_short: bool
) -> None:
    found = short(listed(M5, entry), {quota: value})
    assert set(found) == ({1} if is_short else set())
    if is_short:
        assert quota in found[1]
        assert f"is {value}" in found[1]
        assert found[1].startswith("entry 2 asks for")


@pytest.mark.parametrize(
    ("quota", "is_short"),
    [
        (f"{M5} for processing job usage", True),
        ("Number of instances across all processing jobs", True),
        (f"{M5} for training job usage", False),
    ],
)
def test_processing_jobs_have_quotas_of_their_own(quota: str, is_short: bool) -> None:
    preferences = listed("ml.m5.large", on_demand(M5, count=3), kind=JobKind.PROCESSING)
    assert set(short(preferences, {quota: 2}, JobKind.PROCESSING)) == ({1} if is_short else set())


def test_quotas_that_are_not_known_let_everything_pass() -> None:
    assert short(listed(P5, P4), {}) == {}


def test_a_request_that_names_its_instances_itself_is_not_asked_about() -> None:
    def never(names: Collection[str]) -> dict[str, Quota]:
        raise AssertionError(names)

    assert find_short(JobKind.TRAINING, AS_WRITTEN, never) == {}


def test_if_no_entry_is_left_the_error_names_the_quotas_and_what_to_do() -> None:
    quotas = {f"{P5} for training job usage": 0, f"{P4} for training job usage": 1}
    with pytest.raises(InvalidPreference) as refused:
        short(listed(P5, on_demand(P4, count=2)), quotas)
    said = str(refused.value)
    assert f"entry 1 asks for 1 x {P5}, and the quota '{P5} for training job usage' is 0 (L-1)" in said
    assert f"entry 2 asks for 2 x {P4}, and the quota '{P4} for training job usage' is 1 (L-1)" in said
    assert "Service Quotas console" in said


def test_the_error_stays_within_five_lines_however_long_the_list() -> None:
    types = [f"ml.g5.{size}xlarge" for size in ("", 2, 4, 8, 12)]
    with pytest.raises(InvalidPreference) as refused:
        short(listed(*types), {f"{name} for training job usage": 0 for name in types})
    assert len(str(refused.value).splitlines()) == 5
    assert "2 more quotas are too small" in str(refused.value)


def test_a_total_that_all_entries_share_is_named_once() -> None:
    with pytest.raises(InvalidPreference) as refused:
        short(listed(P5, P4), {"Number of instances across all training jobs": 0})
    assert str(refused.value).count("Number of instances") == 1


def test_what_is_left_out_is_dropped_and_stands_in_the_record_with_its_wave() -> None:
    entries = (Entry(P5, 1), Entry(P4, 1), Entry(M5, 1))
    state = State(JobKind.TRAINING, entries, ((0, 1), (2,)), Limits(budget=3600.0))
    after = leave_out(state, {1: "too small", 2: "zero"}, 5.0)
    assert State.from_json(after.to_json()) == after
    assert after.dropped == {1, 2}
    assert after.wave == 0
    noted = [(past.wave, past.verdict, past.reason) for past in after.attempts]
    assert noted == [(0, Verdict.QUOTA_ZERO, "too small"), (1, Verdict.QUOTA_ZERO, "zero")]


def test_what_a_queue_cannot_take_is_noted_as_the_queues() -> None:
    state = State(JobKind.TRAINING, (Entry(P5, 1, queue="p5"), Entry(M5, 1)), ((0,), (1,)), Limits(budget=3600.0))
    assert leave_out(state, {0: "closed"}, 5.0).attempts[0].verdict is Verdict.QUEUE_UNFIT


def test_quotas_and_queues_that_together_leave_nothing_are_an_error_that_names_them() -> None:
    entries = tuple(Entry(P5, 1, queue="p5") for _ in range(4))
    state = State(JobKind.TRAINING, entries, ((0,), (1,), (2,), (3,)), Limits(budget=3600.0))
    with pytest.raises(InvalidPreference) as caught:
        leave_out(state, {number: f"why {number}" for number in range(4)}, 5.0)
    assert str(caught.value).splitlines() == [
        "No entry of the list can run as things stand.",
        "why 0",
        "why 1",
        "why 2",
    ]
