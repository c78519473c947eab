"""Questions to a listing and its answers."""

from __future__ import annotations

import pytest

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import PAGE, Page

ROW = Listed("n", "arn:n", "InProgress", 0.0)


@pytest.mark.parametrize(
    ("rows", "token", "is_cut_short"),
    [(PAGE, "t", False), (PAGE - 1, "t", True), (0, "t", True), (PAGE - 1, None, False), (0, None, False)],
)
def test_a_page_that_is_neither_full_nor_the_last_was_filtered_late(
    rows: int, token: str | None, *, is_cut_short: bool
) -> None:
    assert Page((ROW,) * rows, token).is_cut_short is is_cut_short
