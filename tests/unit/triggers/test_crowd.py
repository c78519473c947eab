"""The collector is spared when a crowd comes, and not whenever somebody does."""

from __future__ import annotations

from collections.abc import Iterator
from unittest import mock

import pytest

from airflow_sm_prefer.triggers.crowd import Crowd


@pytest.fixture
def frozen() -> Iterator[mock.Mock]:
    with mock.patch("airflow_sm_prefer.triggers.crowd.gc") as gc:
        yield gc.freeze


def test_what_lives_is_taken_out_of_sight_for_the_first_and_for_each_five_hundred_more(frozen: mock.Mock) -> None:
    crowd = Crowd()
    crowd.enter()
    assert frozen.call_count == 1
    for _ in range(499):
        crowd.enter()
    assert frozen.call_count == 1
    for _ in range(501):
        crowd.enter()
    assert frozen.call_count == 3


def test_those_who_come_and_go_are_no_crowd(frozen: mock.Mock) -> None:
    crowd = Crowd()
    for _ in range(5000):
        crowd.enter()
        crowd.leave()
    assert frozen.call_count == 1


def test_only_young_garbage_is_collected_before(frozen: mock.Mock) -> None:
    with mock.patch("airflow_sm_prefer.triggers.crowd.gc.collect") as collect:
        Crowd().enter()
    collect.assert_called_once_with(1)
