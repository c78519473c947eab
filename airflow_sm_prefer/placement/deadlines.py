"""Wall-clock deadlines: when ``start_by="06:00"`` is."""

from __future__ import annotations

import re
from datetime import tzinfo

import pendulum

from airflow_sm_prefer.errors import InvalidSetting

_TIME = re.compile(r"(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d)(:(?P<second>[0-5]\d))?")


def first_after(written: str, instant: float, zone: tzinfo) -> float:
    """Return the first such wall-clock time after an instant.

    A time that a daylight-saving change skips moves forward by the change; one that comes twice means the second.

    Args:
        written: ``HH:MM`` or ``HH:MM:SS``.
        instant: Seconds since 1970.
        zone: The DAG's time zone.

    Raises:
        InvalidSetting: that is no time of day.
    """
    found = _TIME.fullmatch(written.strip())
    if found is None:
        msg = f"start_by={written!r} is no time of day. Write it as '06:00' or '06:00:00', in the DAG's time zone."
        raise InvalidSetting(msg)
    hour, minute, second = (int(found[part] or 0) for part in ("hour", "minute", "second"))
    day = pendulum.from_timestamp(instant, tz="UTC").in_timezone(zone).date()  # type: ignore[arg-type]
    for ahead in range(3):
        on = day.add(days=ahead)
        # Through the naive time of the next day, not by adding 24 hours: a change of the clock shifts those.
        due = pendulum.datetime(on.year, on.month, on.day, hour, minute, second, tz=zone)
        if due.timestamp() > instant:
            return due.timestamp()
    raise AssertionError  # pragma: no cover - three days hold every time of day
