"""What time it is at AWS, as far as its answers tell."""

from __future__ import annotations

from airflow_sm_prefer.placement.server_time import ServerTime

NOW = 1_800_000_000.0


def test_nothing_is_known_before_an_answer() -> None:
    time = ServerTime()
    assert time.at(NOW) is None
    assert time.by_rows(NOW) is None


def test_it_is_as_late_as_the_latest_change_shows_at_least() -> None:
    time = ServerTime()
    time.modified(NOW - 100, NOW)
    time.modified(NOW - 3, NOW)
    time.modified(NOW - 50, NOW)
    assert time.at(NOW + 10) == time.by_rows(NOW + 10) == NOW + 7


def test_a_date_says_more_than_rows_that_changed_long_ago() -> None:
    time = ServerTime()
    time.modified(NOW - 100, NOW)
    time.dated(NOW + 600, NOW)
    assert time.at(NOW) == NOW + 600
    assert time.by_rows(NOW) == NOW - 100


def test_the_last_date_holds_since_our_clock_may_have_been_set() -> None:
    time = ServerTime()
    time.dated(NOW + 600, NOW)
    time.dated(NOW - 600, NOW)
    assert time.at(NOW) == NOW - 600


def test_a_mistake_has_it_begin_anew_without_dates() -> None:
    time = ServerTime()
    time.modified(NOW + 900, NOW)
    time.dated(NOW + 600, NOW)
    time.mistaken(NOW - 5, NOW)
    time.dated(NOW + 600, NOW)
    assert time.at(NOW) == time.by_rows(NOW) == NOW - 5
