"""What is known of job queues before a job is sent to one."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer import on_demand, queued
from airflow_sm_prefer.errors import InvalidPreference
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences
from airflow_sm_prefer.model.preference import PreferenceList
from airflow_sm_prefer.model.queue_entries import Queues
from airflow_sm_prefer.placement.queues import (
    INSTANCES,
    Policy,
    QueueStatus,
    QuotaShare,
    paused,
    unfit_entries,
    without_effect,
)

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
FIFO = QueueStatus("q", policy=Policy.FIFO, limits={INSTANCES: 4})
FAIR = QueueStatus("q", policy=Policy.FAIR_SHARE, limits={INSTANCES: 4})
SHARES = {
    "research": QuotaShare("research", {P5: 2}, {P5: 3}),
    "sweep": QuotaShare("sweep", {P5: 1}, {}),
    "closed": QuotaShare("closed", {P5: 1}, {}, is_open=False),
}
QUOTAS = QueueStatus("q", policy=Policy.QUOTA_SHARES, limits={P5: 4}, shares=SHARES)


def listed(*entries: Any) -> PreferenceList:
    return parse_preferences(
        list(entries), kind=JobKind.TRAINING, config={}, known_types=lambda _: True, queues=Queues()
    )


def entry(count: int = 1, instance_type: str = P5, **share: str) -> dict[str, Any]:
    return queued(instance_type, "q", count, **share)


def unfit(written: dict[str, Any], status: QueueStatus | None) -> str:
    """Return why an entry is left out of a list that has another; empty if it isn't."""
    return unfit_entries(listed(written, on_demand(G5)), {"q": status}).get(0, "")


def said(written: dict[str, Any], status: QueueStatus | None) -> str:
    with pytest.raises(InvalidPreference) as caught:
        unfit_entries(listed(on_demand(G5), written), {"q": status})
    message = str(caught.value)
    assert message.startswith(f"entry 2 ({P5}): ")
    assert len(message.splitlines()) <= 5
    return message


# -- what can never work -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "status", "says"),
    [
        (entry(), None, ["there is no job queue 'q' in this account and Region", "Check its name, and the Region"]),
        (entry(), QueueStatus("q", is_for_training=False), ["isn't for SageMaker training jobs", "SAGEMAKER_TRAINING"]),
        (entry(share_identifier="a"), FIFO, ["'q' has no shares", "names 'a'", "Take the share away"]),
        (entry(quota_share="a"), FIFO, ["'q' has no shares", "names 'a'"]),
        (entry(), FAIR, ["shares by share identifiers", "names none", "share_identifier=…"]),
        (entry(quota_share="a"), FAIR, ["shares by share identifiers", "without a quota share"]),
        (
            entry(),
            QUOTAS,
            ["'q' has quota shares", "names none", "quota_share=…", "There are closed, research, sweep."],
        ),
        (entry(share_identifier="a"), QUOTAS, ["'q' has quota shares", "names none"]),
        (entry(quota_share="researhc"), QUOTAS, ["no quota share 'researhc'", "Did you mean research?", "There are"]),
        (entry(quota_share="x"), QueueStatus("q", policy=Policy.QUOTA_SHARES, shares={}), ["no quota share 'x'"]),
        (entry(), QueueStatus("q", policy=Policy.QUOTA_SHARES), ["has quota shares", "queued(…, quota_share=…)."]),
    ],
)
def test_an_entry_that_its_queue_can_never_take_is_refused(
    written: dict[str, Any], status: QueueStatus | None, says: list[str]
) -> None:
    message = said(written, status)
    for words in says:
        assert words in message


# -- what can't work as things stand -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "status", "why"),
    [
        (entry(), QueueStatus("q", closed="it is disabled. Enable it"), "takes no jobs: it is disabled. Enable it"),
        (entry(5), FIFO, "asks for 5 instances, and the service environment of 'q' has 4"),
        (entry(5, share_identifier="a"), FAIR, "asks for 5 instances"),
        (entry(5, quota_share="sweep"), QUOTAS, "the service environment of 'q' has 4. Ask for fewer, or raise"),
        (entry(1, G5, quota_share="sweep"), QUOTAS, f"environment of 'q' has no {G5}. Give it a limit for that type"),
        (entry(quota_share="closed"), QUOTAS, "the quota share 'closed' of 'q' is disabled. Enable it"),
        (
            entry(1, G5, quota_share="sweep"),
            QueueStatus("q", policy=Policy.QUOTA_SHARES, limits={P5: 4, G5: 1}, shares=SHARES),
            f"the quota share 'sweep' of 'q' has no {G5}",
        ),
        (
            entry(4, quota_share="research"),
            QUOTAS,
            "can have 3 with what it borrows. Ask for fewer, or raise its limit",
        ),
    ],
)
def test_an_entry_that_its_queue_cannot_take_now_is_left_out_and_it_is_said_why(
    written: dict[str, Any], status: QueueStatus, why: str
) -> None:
    said = unfit(written, status)
    assert said.startswith("entry 1 (ml.")
    assert why in said


@pytest.mark.parametrize(
    ("written", "status"),
    [
        (entry(4), FIFO),
        (entry(4, share_identifier="a"), FAIR),
        (entry(3, quota_share="research"), QUOTAS),
        (entry(4, quota_share="sweep"), QUOTAS),
        (entry(400), QueueStatus("q")),
        (entry(share_identifier="a"), QueueStatus("q")),
        (entry(quota_share="unread"), QueueStatus("q", policy=Policy.QUOTA_SHARES)),
    ],
    ids=["all of it", "of a fair share", "what it borrows", "no limit to borrowing", "unknown limits", "unknown policy",
         "unknown shares"],
)  # fmt: skip
def test_an_entry_that_fits_or_of_which_aws_does_not_say_so_is_let_through(
    written: dict[str, Any], status: QueueStatus
) -> None:
    assert unfit(written, status) == ""


def test_a_queue_that_could_not_be_asked_about_is_left_to_batchs_own_answer() -> None:
    assert unfit_entries(listed(entry()), {}) == {}


def test_entries_for_sagemaker_itself_are_no_queues_affair() -> None:
    assert unfit_entries(listed(on_demand(P5), on_demand(G5)), {"q": None}) == {}


def test_a_list_of_which_nothing_is_left_is_refused_with_what_keeps_each_entry_out() -> None:
    preferences = listed(*(entry(count) for count in (5, 6, 7, 8)))
    with pytest.raises(InvalidPreference) as caught:
        unfit_entries(preferences, {"q": FIFO})
    lines = str(caught.value).splitlines()
    assert lines[0] == "No entry of the list can run as its queue is set up."
    assert [line.partition(":")[0] for line in lines[1:]] == [f"entry {number} ({P5})" for number in (1, 2, 3)]


def test_a_priority_has_no_effect_where_arrival_alone_decides() -> None:
    preferences = listed(queued(P5, "a"), queued(P5, "b"), queued(P5, "c"), queued(G5, "a"), on_demand(G5))
    known = {"a": QueueStatus("a", policy=Policy.FIFO), "b": QueueStatus("b", policy=Policy.FAIR_SHARE), "c": None}
    assert without_effect(preferences, known) == ["a"]


def test_a_queue_that_takes_jobs_and_begins_none_is_told_once_and_left_on_the_list() -> None:
    preferences = listed(queued(P5, "a"), queued(G5, "a"), queued(P5, "b"), queued(P5, "c"), on_demand(G5))
    known = {"a": QueueStatus("a", paused="its service environment 'e' is disabled"), "b": QueueStatus("b"), "c": None}
    assert paused(preferences, known) == ["'a': its service environment 'e' is disabled"]
    assert unfit_entries(listed(queued(P5, "a")), known) == {}
