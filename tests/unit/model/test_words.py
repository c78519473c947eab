from __future__ import annotations

import pytest

from airflow_sm_prefer.model.words import ordinal, shortened, span


@pytest.mark.parametrize(
    ("seconds", "written"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (45, "45 s"),
        (60, "1 min"),
        (1500, "25 min"),
        (95, "1 min 35 s"),
        (5400, "1 h 30 min"),
        (21600, "6 h"),
        (187200, "2 d 4 h"),
        (86400 + 59, "1 d"),
        (3599, "59 min 59 s"),
        (2 * 3600 - 1, "2 h"),
        (86400 - 20, "1 d"),
        (2 * 86400 - 1, "2 d"),
        (86400 + 5400, "1 d 2 h"),
    ],
)
def test_a_span_is_written_in_its_two_largest_units(seconds: float, written: str) -> None:
    assert span(seconds) == written


@pytest.mark.parametrize(
    ("number", "written"),
    [
        (1, "1st"),
        (2, "2nd"),
        (3, "3rd"),
        (4, "4th"),
        (11, "11th"),
        (12, "12th"),
        (13, "13th"),
        (21, "21st"),
        (112, "112th"),
    ],
)
def test_a_place_is_written_as_people_say_it(number: int, written: str) -> None:
    assert ordinal(number) == written


def test_a_cut_shows() -> None:
    assert shortened("abcdef", 4) == "abc…"
    assert shortened("abcd", 4) == "abcd"
