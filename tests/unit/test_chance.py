"""What is drawn is another for each who draws, whatever DAG files do with Python's generator."""

from __future__ import annotations

import random

from airflow_sm_prefer.chance import draw


def test_draws_are_spread_from_0_to_1() -> None:
    draws = [draw() for _ in range(1000)]
    assert all(0 <= one < 1 for one in draws)
    assert min(draws) < 0.1
    assert max(draws) > 0.9


def test_a_seed_of_somebody_elses_has_nobody_draw_the_same() -> None:
    draws = set()
    for _ in range(3):
        random.seed(42)
        draws.add(draw())
    assert len(draws) == 3


def test_pythons_generator_is_left_to_those_who_have_seeded_it() -> None:
    random.seed(42)
    theirs = random.random()
    random.seed(42)
    draw()
    assert random.random() == theirs
