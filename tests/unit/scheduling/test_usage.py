"""What shares have used, carried from one instant to the next."""

from __future__ import annotations

import dataclasses
import json

import pytest

from airflow_sm_prefer.scheduling.usage import Span, Usage, window
from tests.unit.scheduling.builders import placed

NEW = Usage(as_of=0)
WEEK = 604_800
A = placed("a", 3, share="A")
B = placed("b", 1, share="B")


def test_a_decay_of_0_is_the_shortest_window():
    # AWS: API_FairsharePolicy, "the default minimum time window (600 seconds)".
    assert window(0) == 600
    assert window(3600) == 3600


def test_usage_is_instances_times_seconds_while_it_is_recent():
    usage = NEW.carried_to(10, [A, placed("a2", 2, share="A"), B], WEEK)

    assert usage.as_of == 10
    assert usage.spent(WEEK) == pytest.approx({"A": 50, "B": 10}, rel=1e-4)


# The README of AWS's CDK module aws-batch, on shareDecay: "linearly decreases the usage".
DECAY = {
    "fresh": (0, 10, 10, 9.917),
    "AWS: after half of the window it counts half": (0, 1, 300.5, 0.5),
    "AWS: after the whole window it is as if it had never been": (0, 1, 601, None),
    "what lies across the window's edge counts with its later part": (0, 300, 750, 150 * 0.125),
    "held for the whole window": (0, 600, 600, 300),
    "held for ever": (0, 1e6, 1e6, 300),
}


@pytest.mark.parametrize(("start", "stop", "now", "expected"), DECAY.values(), ids=DECAY)
def test_what_one_instance_counts(start, stop, now, expected):
    spent = Usage(as_of=now, spans=(Span("A", 1, start, stop),)).spent(0)

    assert spent == ({} if expected is None else pytest.approx({"A": expected}, rel=1e-3))


def test_carrying_on_in_steps_is_the_same_as_at_once():
    steps = NEW
    for now in (1, 60, 60, 61, 400, 900):
        steps = steps.carried_to(now, [A, B], 0)

    assert steps == NEW.carried_to(900, [A, B], 0)
    assert len(steps.spans) == 2


def test_a_share_that_holds_more_or_nothing_from_then_on_begins_a_new_span():
    usage = NEW.carried_to(10, [A], 0).carried_to(20, [], 0).carried_to(30, [A], 0).carried_to(40, [A, B], 0)

    assert usage.spans == (Span("A", 3, 0, 10), Span("A", 3, 20, 40), Span("B", 1, 30, 40))


def test_changes_at_one_instant_leave_nothing_between_them():
    assert NEW.carried_to(0, [A], 0).carried_to(0, [A, B], 0) == NEW


def test_a_share_that_has_held_nothing_for_the_window_is_forgotten():
    usage = NEW.carried_to(100, [A, B], 0)

    assert {span.share for span in usage.carried_to(699, [B], 0).spans} == {"A", "B"}
    assert {span.share for span in usage.carried_to(700, [B], 0).spans} == {"B"}


def test_a_job_without_a_share_counts_as_the_share_of_no_name():
    assert set(NEW.carried_to(10, [placed("x")], 0).spent(0)) == {""}


def test_it_can_be_stored_as_json():
    usage = NEW.carried_to(100, [A, B], 0)

    stored = json.loads(json.dumps(dataclasses.asdict(usage)))

    assert Usage(as_of=stored["as_of"], spans=tuple(Span(*row) for row in stored["spans"])) == usage
