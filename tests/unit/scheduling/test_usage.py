"""What shares have used, carried from one instant to the next."""

from __future__ import annotations

import dataclasses
import json
import math

import pytest

from airflow_sm_prefer.scheduling.usage import Usage, window
from tests.unit.scheduling.builders import placed

NEW = Usage(as_of=0)
A = placed("a", 3, share="A")
B = placed("b", 1, share="B")


def test_a_decay_of_0_is_the_shortest_window():
    # AWS: API_FairsharePolicy, "the default minimum time window (600 seconds)".
    assert window(0) == 600
    assert window(3600) == 3600


def test_usage_is_instances_times_seconds_while_it_is_recent():
    usage = NEW.carried_to(10, [A, placed("a2", 2, share="A"), B], 604_800)

    assert usage.as_of == 10
    assert usage.spent == pytest.approx({"A": 50, "B": 10}, rel=1e-4)


def test_usage_fades_with_the_decay_as_its_time_constant():
    usage = Usage(as_of=0, spent={"A": 900.0}, last_held={"A": 0.0})

    assert usage.carried_to(300, [], 600).spent == pytest.approx({"A": 900 * math.exp(-0.5)})


def test_instances_held_for_ever_weigh_as_much_as_one_window_of_them():
    assert NEW.carried_to(1e6, [A], 600).spent == pytest.approx({"A": 3 * 600})


def test_carrying_on_in_steps_is_the_same_as_at_once():
    steps = NEW
    for now in (1, 60, 61, 400, 900):
        steps = steps.carried_to(now, [A, B], 600)

    assert steps.spent == pytest.approx(NEW.carried_to(900, [A, B], 600).spent)


def test_a_share_that_has_held_nothing_for_the_window_is_forgotten():
    usage = NEW.carried_to(100, [A, B], 600)

    assert set(usage.carried_to(699, [B], 600).spent) == {"A", "B"}
    assert set(usage.carried_to(700, [B], 600).spent) == {"B"}


def test_a_share_that_still_holds_something_is_remembered_for_as_long_as_it_does():
    assert set(NEW.carried_to(100, [A], 600).carried_to(5000, [A], 600).spent) == {"A"}


def test_it_can_be_stored_as_json():
    usage = NEW.carried_to(100, [A, B], 600)

    assert Usage(**json.loads(json.dumps(dataclasses.asdict(usage)))) == usage
