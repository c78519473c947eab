"""Places in a queue: when its front is looked at, and who hears of it."""

from __future__ import annotations

import math

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.triggers.places import Places, places_in
from airflow_sm_prefer.triggers.waits import Place, Wait
from tests.unit.triggers.builders import NOW, waiting
from tests.unit.triggers.cloud import Cloud, QueuedCloud

IN_LINE = "InProgress (RUNNABLE)"


def wait(handle: str = "arn:1", status: str = IN_LINE) -> Wait:
    one = waiting(handle)
    one.status = status
    return one


def told(one: Wait) -> list[int]:
    return [heard.number for heard in iter(one.heard, None) if isinstance(heard, Place)]


def next_look(places: Places, waits: list[Wait], now: float) -> float:
    """Return when the front is looked at next, asking as often as that says."""
    while (due := places.due(waits, now)) > now:
        now = due
        if now > NOW + 1e5:
            return math.inf
    return now


def test_it_is_looked_at_at_once_for_whoever_is_first_in_line_and_then_every_ten_minutes() -> None:
    places, waits = Places(), [wait()]
    assert places.due(waits, NOW) == NOW
    places.looked({"arn:1": 3}, waits, NOW)
    assert next_look(places, waits, NOW) == NOW + 600


def test_it_is_not_looked_at_while_nobody_is_in_line() -> None:
    places = Places()
    assert next_look(places, [wait(status="InProgress (RUNNING)"), wait(status="")], NOW) == math.inf


def test_who_comes_into_line_is_noticed_within_seconds_and_a_minute_after_the_last_look() -> None:
    places, waits = Places(), [wait(status="")]
    assert places.due(waits, NOW) > NOW
    waits[0].status = IN_LINE
    assert next_look(places, waits, NOW) <= NOW + 5
    places.looked({}, waits, NOW + 5)
    waits.append(wait("arn:2"))
    assert next_look(places, waits, NOW + 6) == NOW + 65


def test_only_those_in_line_are_told_and_only_what_has_changed() -> None:
    places, one, two, running = Places(), wait(), wait("arn:2"), wait("arn:3", "InProgress (RUNNING)")
    waits = [one, two, running]
    for number, found in enumerate(({"arn:1": 1, "arn:2": 2, "arn:3": 3}, {"arn:1": 1, "arn:2": 3}, {"arn:1": 1})):
        places.looked(found, waits, NOW + 600 * number)
    assert (told(one), told(two), told(running)) == ([1], [2, 3], [])


def test_a_job_that_has_lost_its_place_for_a_moment_is_still_looked_for() -> None:
    places, one = Places(), wait(status="InProgress (SCHEDULED)")
    assert places.due([one], NOW) == NOW
    places.looked({"arn:1": 4}, [one], NOW)
    assert told(one) == [4]


def test_both_who_wait_for_a_job_are_told() -> None:
    one, two = wait(), wait()
    Places().looked({"arn:1": 7}, [one, two], NOW)
    assert told(one) == told(two) == [7]


def test_sagemakers_own_jobs_have_no_places() -> None:
    clock = FakeClock(NOW)
    queued = QueuedCloud(clock)
    queued.front = ["arn:1", "arn:2"]
    assert places_in(queued, "p5") == {"arn:1": 1, "arn:2": 2}
    assert places_in(Cloud(clock), "p5") == {}  # type: ignore[arg-type]
