"""A few random sequences; ``make sequences`` plays as many as are wanted."""

from __future__ import annotations

import pytest

from tests.e2e.reruns import sequences
from tests.e2e.reruns.world import World

SEEDS = range(1, 13)


@pytest.mark.timeout(1800)
def test_random_clicks_and_kills_double_no_job_and_lose_none(world: World) -> None:
    outcomes = sequences.play(world, SEEDS, kills=False)
    assert [str(outcome) for outcome in outcomes if not outcome.is_right] == []
