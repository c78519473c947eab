"""The collector is kept from a crowd, is left alone by a few, and has back what it was kept from."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from unittest import mock

import pytest

from airflow_sm_prefer.triggers.crowd import Crowd


@pytest.fixture
def collector() -> Iterator[mock.Mock]:
    with mock.patch("airflow_sm_prefer.triggers.crowd.gc") as collector:
        collector.get_freeze_count.return_value = 375  # as Python 3.12 begins
        yield collector


def come(crowd: Crowd, number: int) -> None:
    for _ in range(number):
        crowd.enter()


def go(crowd: Crowd, number: int) -> None:
    for _ in range(number):
        crowd.leave()


def test_for_a_few_the_collector_is_left_alone(collector: mock.Mock) -> None:
    crowd = Crowd()
    come(crowd, 499)
    go(crowd, 499)
    assert collector.mock_calls == []


def test_what_lives_is_taken_out_of_sight_when_a_crowd_comes_and_for_each_thousand_more(
    collector: mock.Mock,
) -> None:
    crowd = Crowd()
    come(crowd, 500)
    assert collector.freeze.call_count == 1
    come(crowd, 999)
    assert collector.freeze.call_count == 1
    come(crowd, 8501)
    assert collector.freeze.call_count == 10


def test_those_who_come_and_go_make_a_crowd_no_larger(collector: mock.Mock) -> None:
    crowd = Crowd()
    come(crowd, 600)
    for _ in range(5000):
        crowd.enter()
        crowd.leave()
    assert collector.freeze.call_count == 1


def test_only_young_garbage_is_collected_before(collector: mock.Mock) -> None:
    come(Crowd(), 500)
    assert [call[0] for call in collector.mock_calls] == ["get_freeze_count", "collect", "freeze"]
    collector.collect.assert_called_once_with(1)


def test_all_is_given_back_when_the_last_has_left_and_a_new_crowd_is_one_again(collector: mock.Mock) -> None:
    crowd = Crowd()
    come(crowd, 3000)
    go(crowd, 2999)
    collector.unfreeze.assert_not_called()
    go(crowd, 1)
    collector.unfreeze.assert_called_once_with()
    come(crowd, 500)
    assert collector.freeze.call_count == 4


def test_what_somebody_else_has_frozen_stays_so(collector: mock.Mock) -> None:
    collector.get_freeze_count.return_value = 50_000
    crowd = Crowd()
    come(crowd, 500)
    go(crowd, 500)
    collector.unfreeze.assert_not_called()


class Knot:
    """Something in a cycle."""

    def __init__(self) -> None:
        self.itself = self


def test_a_cycle_that_became_garbage_meanwhile_is_freed_after_the_crowd() -> None:
    crowd, freed = Crowd(), mock.Mock()
    knot = Knot()
    weakref.finalize(knot, freed)
    come(crowd, 500)
    del knot
    gc.collect()
    freed.assert_not_called()
    go(crowd, 500)
    gc.collect()
    freed.assert_called_once_with()
