from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
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
        ("06:00", BERLIN, "2026-10-24 12:00", "2026-10-25 05:00"),
        # Half an hour, two hours, and winter time as the time that is shifted.
        ("02:15", ZoneInfo("Australia/Lord_Howe"), "2026-10-03 12:00", "2026-10-03 15:45"),
        ("01:45", ZoneInfo("Australia/Lord_Howe"), "2026-04-04 12:00", "2026-04-04 15:15"),
        ("01:30", ZoneInfo("Antarctica/Troll"), "2026-03-28 12:00", "2026-03-29 01:30"),
        ("01:30", ZoneInfo("Europe/Dublin"), "2026-03-28 12:00", "2026-03-29 01:30"),
        # At midnight: the day begins at one o'clock, or the last hour of a day comes twice.
        ("00:30", ZoneInfo("Africa/Cairo"), "2026-04-23 12:00", "2026-04-23 22:30"),
        ("23:30", ZoneInfo("Africa/Cairo"), "2026-10-29 12:00", "2026-10-29 21:30"),
        ("00:30", ZoneInfo("America/Havana"), "2026-11-01 03:00", "2026-11-01 05:30"),
        # A day that a zone left out when it changed sides of the date line.
        ("06:00", ZoneInfo("Pacific/Apia"), "2011-12-29 17:00", "2011-12-30 16:00"),
        # No change of the clock, and hours that aren't whole.
        ("06:00", ZoneInfo("Asia/Kathmandu"), "2026-11-30 00:00", "2026-11-30 00:15"),
        ("06:00", ZoneInfo("America/St_Johns"), "2026-07-01 08:29", "2026-07-01 08:30"),
    ],
)
def test_the_first_such_time_after_an_instant(written: str, zone: ZoneInfo, now: str, due: str) -> None:
    assert datetime.fromtimestamp(first_after(written, utc(now), zone), UTC) == datetime.fromisoformat(due).replace(
        tzinfo=UTC
    )


ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Cairo", "Asia/Beirut", "America/Havana"]
MINUTE = 60.0


def wall(instant: float, zone: ZoneInfo) -> datetime:
    """Return what a clock on the wall shows."""
    return datetime.fromtimestamp(instant, zone).replace(tzinfo=None)


def changes(zone: ZoneInfo) -> list[float]:
    """Return the full hours of a year before which the clock is changed."""
    hours = [utc("2026-01-01") + n * 3600.0 for n in range(366 * 24)]
    pairs = itertools.pairwise(hours)
    return [after for before, after in pairs if wall(after, zone) - wall(before, zone) != timedelta(hours=1)]


def watched(around: float, zone: ZoneInfo) -> dict[datetime, float]:
    """Look at the wall every minute for some days: of two such times the second, a skipped one as late as it is."""
    found: dict[datetime, float] = {}
    last = wall(around - 60 * 3600.0, zone)
    for n in range(1 - 60 * 60, 60 * 60):
        now = around + n * MINUTE
        shown = wall(now, zone)
        found[shown] = now
        skipped = int((shown - last).total_seconds() // MINUTE) - 1
        found |= {last + timedelta(minutes=m): now + (m - 1) * MINUTE for m in range(1, skipped + 1)}
        last = shown
    return found


@pytest.mark.parametrize("name", ZONES)
def test_around_every_change_it_is_what_a_watcher_of_the_wall_would_say(name: str) -> None:
    zone = ZoneInfo(name)
    met = changes(zone)
    assert len(met) == 2
    for change in met:
        seen = watched(change, zone)
        for hour, minute in [(0, 15), (1, 45), (2, 15), (23, 30)]:
            such = [due for time, due in seen.items() if (time.hour, time.minute) == (hour, minute)]
            for instant in (change + hours * 3600.0 for hours in (-26, -2, -1, -0.5, 0, 1)):
                due = min(due for due in such if due > instant)
                assert first_after(f"{hour:02}:{minute:02}", instant, zone) == due


def test_airflows_own_time_zones_do() -> None:
    assert first_after("06:00", utc("2026-11-30 00:00"), pendulum.timezone("Europe/Berlin")) == utc("2026-11-30 05:00")


@pytest.mark.parametrize("written", ["6", "24:00", "06:60", "six", "06:00:60", ""])
def test_what_is_no_time_of_day_is_refused(written: str) -> None:
    with pytest.raises(InvalidSetting, match="no time of day"):
        first_after(written, 0.0, UTC)
