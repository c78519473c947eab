from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer import on_demand, spot
from airflow_sm_prefer.model.accelerators import differing
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.parsing import parse_preferences

P5, P4, G5, G5_48, M5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.xlarge", "ml.g5.48xlarge", "ml.m5.xlarge"


def said(*prefer: Any) -> str | None:
    config = {"ResourceConfig": {"VolumeSizeInGB": 30}}
    return differing(parse_preferences(list(prefer), kind=JobKind.TRAINING, config=config, known_types=lambda _: True))


def test_totals_that_differ_are_told_entry_by_entry_and_what_follows() -> None:
    text = said(P5, on_demand(P4, count=2), M5)
    assert text is not None
    assert "entry 1 has 8 H100 (1 x ml.p5.48xlarge)" in text
    assert "entry 2 has 16 A100 (2 x ml.p4d.24xlarge)" in text
    assert "entry 3 has no accelerator (1 x ml.m5.xlarge)" in text
    assert "the global batch changes" in text


def test_the_same_number_of_another_kind_is_told_for_its_memory() -> None:
    text = said(P5, P4)
    assert text is not None
    assert "memory" in text
    assert "global batch" not in text


@pytest.mark.parametrize(
    "prefer",
    [
        [P5],
        [P5, spot(P5)],
        [on_demand(G5, count=8), G5_48],
        [M5, on_demand("ml.c5.xlarge", count=4)],
        # Its author has thought of it.
        [P5, on_demand(P4, count=2, hyperparameters={"batch_size": "32"})],
        # What is in it isn't known.
        [P5, "ml.p9.48xlarge"],
    ],
    ids=str,
)
def test_alike_or_thought_of_or_unknown_is_not_told(prefer: list[Any]) -> None:
    assert said(*prefer) is None


def test_entries_that_share_an_override_are_compared_with_each_other() -> None:
    same = {"hyperparameters": {"batch_size": "32"}}
    text = said(P5, on_demand(P4, **same), on_demand(G5, **same))
    assert text is not None
    assert "entry 1" not in text
    assert "entry 3 has 1 A10G" in text


def test_a_long_list_is_cut() -> None:
    text = said(*(on_demand(G5, count=count) for count in range(1, 12)))
    assert text is not None
    assert len(text) < 600
    assert "…" in text
