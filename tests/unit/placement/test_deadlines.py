from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pendulum
import pytest

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.placement.deadlines import first_after

BERLIN = ZoneInfo("Europe/Berlin")


def utc(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


@pytest.mark.parametrize(
    ("written", "zone", "now", "due"),
    [
        ("06:00", UTC, "2026-11-30 00:00", "2026-11-30 06:00"),
        ("06:00", UTC, "2026-11-30 06:00", "2026-12-01 06:00"),
        ("6:00:30", UTC, "2026-11-30 05:59", "2026-11-30 06:00:30"),
        ("00:00", UTC, "2026-11-30 23:59", "2026-12-01 00:00"),
        ("06:00", BERLIN, "2026-11-30 00:00", "2026-11-30 05:00"),
        ("06:00", BERLIN, "2026-07-01 00:00", "2026-07-01 04:00"),
        ("23:30", ZoneInfo("America/Los_Angeles"), "2026-12-01 05:00", "2026-12-01 07:30"),
        ("06:00", ZoneInfo("Australia/Lord_Howe"), "2026-11-30 00:00", "2026-11-30 19:00"),
        # The night in which 02:00 to 03:00 doesn't exist: it moves forward by the change.
        ("02:30", BERLIN, "2026-03-28 23:00", "2026-03-29 01:30"),
        # The night in which 02:00 to 03:00 comes twice: the second.
        ("02:30", BERLIN, "2026-10-24 22:00", "2026-10-25 01:30"),
        # Before the first of the two, and between them.
        ("02:30", BERLIN, "2026-10-25 00:45", "2026-10-25 01:30"),
        ("02:30", ZoneInfo("America/New_York"), "2026-03-08 05:00", "2026-03-08 07:30"),
        ("01:30", ZoneInfo("America/New_York"), "2026-11-01 04:00", "2026-11-01 06:30"),
        # Across a change of the clock, the wall-clock time is kept.
        ("06:00", BERLIN, "2026-03-28 12:00", "2026-03-29 04:00"),
    ],
)
def test_the_first_such_time_after_an_instant(written: str, zone: ZoneInfo, now: str, due: str) -> None:
    assert datetime.fromtimestamp(first_after(written, utc(now), zone), UTC) == datetime.fromisoformat(due).replace(
        tzinfo=UTC
    )


def test_airflows_own_time_zones_do() -> None:
    assert first_after("06:00", utc("2026-11-30 00:00"), pendulum.timezone("Europe/Berlin")) == utc("2026-11-30 05:00")


@pytest.mark.parametrize("written", ["6", "24:00", "06:60", "six", "06:00:60", ""])
def test_what_is_no_time_of_day_is_refused(written: str) -> None:
    with pytest.raises(InvalidSetting, match="no time of day"):
        first_after(written, 0.0, UTC)
