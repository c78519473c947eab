"""Going through a listing from one who is waited for to the next."""

from __future__ import annotations

from collections.abc import Collection

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import Page, Question
from airflow_sm_prefer.placement.roll import SLACK, Roll
from airflow_sm_prefer.placement.sweep import Sweep

NOW = 1_800_000_000.0


def roll_of(*seconds: float) -> Roll:
    """Return a roll of jobs that are called by the seconds at which they were created."""
    roll = Roll()
    for second in seconds:
        roll.place(roll.add(f"{second:g}", NOW, NOW), NOW + second)
    return roll


def sweep_of(roll: Roll, *, jumps: bool = True, now: float = NOW) -> Sweep:
    return Sweep(roll, lambda _: True, now, "smp", jumps=jumps)


def page(*seconds: float, token: str | None = "next") -> Page:
    return Page(tuple(Listed(f"{at:g}", "arn", "InProgress", NOW + at) for at in seconds), token)


def answered(sweep: Sweep, answer: Page, shown: Collection[str] | None = None) -> list[str]:
    """Answer the sweep's question; returns who is to be looked at one by one."""
    assert sweep.question is not None
    handles = [row.handle for row in answer.rows] if shown is None else shown
    return [watched.handle for watched in sweep.answered(sweep.question, answer, handles)]


def test_there_is_nothing_to_ask_where_nobody_is_wanted() -> None:
    assert sweep_of(Roll()).question is None
    assert Sweep(roll_of(0), lambda _: False, NOW, "").question is None
    assert sweep_of(roll_of(0), now=NOW - 1).question is None


def test_the_bounds_are_whole_seconds_around_all_who_are_wanted() -> None:
    assert sweep_of(roll_of(0.25, 50.75)).question == Question(NOW - 1, NOW + 51, name_contains="smp")
    assert sweep_of(roll_of(0, 50)).question == Question(NOW - 1, NOW + 51, name_contains="smp")
    assert sweep_of(roll_of(0.25), jumps=False).question == Question(NOW - 1, None, name_contains="smp")


def test_it_is_over_when_all_are_shown_though_there_are_more_pages() -> None:
    sweep = sweep_of(roll_of(0, 50))
    assert answered(sweep, page(50, 30, 0)) == []
    assert (sweep.question, sweep.calls) == (None, 1)


def test_what_is_between_two_who_are_wanted_is_jumped_over() -> None:
    sweep = sweep_of(roll_of(0, 500))
    answered(sweep, page(500, 499, 498))
    assert sweep.question == Question(NOW - 1, NOW + 1, name_contains="smp")


def test_where_there_is_nothing_to_jump_over_the_next_page_is_asked_for() -> None:
    sweep = sweep_of(roll_of(0, 1, 1))
    answered(sweep, page(1), shown=["1"])
    assert sweep.question == Question(NOW - 1, NOW + 2, name_contains="smp", token="next")


def test_a_listing_that_takes_no_bound_is_paged_through() -> None:
    sweep = sweep_of(roll_of(*range(0, 1000, 100)), jumps=False)
    answered(sweep, page(900))
    assert sweep.question == Question(NOW - 1, None, name_contains="smp", token="next")


def test_whom_a_page_passes_over_is_looked_at_by_itself_once() -> None:
    sweep = sweep_of(roll_of(*range(10)))
    assert answered(sweep, page(9, 6)) == ["7", "8"]
    assert answered(sweep, page(5)) == []


def test_one_of_the_page_s_last_instant_may_be_on_the_next() -> None:
    roll = roll_of(0, 5)
    roll.place(roll.add("other", NOW, NOW), NOW + 5)
    sweep = sweep_of(roll)
    assert answered(sweep, page(5)) == []
    assert answered(sweep, page(0)) == ["other"]


def test_whom_the_whole_listing_does_not_show_is_looked_at_by_itself() -> None:
    sweep = sweep_of(roll_of(0, 5))
    assert answered(sweep, page(5, token=None)) == ["0"]
    assert sweep.question is None


def test_one_that_is_not_placed_is_missed_only_where_it_can_not_be_further_down() -> None:
    roll = roll_of(*(-2 * SLACK - n for n in range(9)))
    roll.add("guessed", NOW, NOW)
    sweep = sweep_of(roll)
    assert answered(sweep, page(-SLACK), shown=[]) == []
    assert answered(sweep, page(-2 * SLACK)) == ["guessed"]


def test_a_few_who_are_left_far_down_are_looked_at_one_by_one() -> None:
    sweep = sweep_of(roll_of(*(n / 10 for n in range(5))))
    assert answered(sweep, page(), shown=[]) == ["0", "0.1", "0.2", "0.3", "0.4"]
    assert sweep.question is None


def test_more_than_a_few_are_looked_for() -> None:
    sweep = sweep_of(roll_of(*(n / 10 for n in range(6))))
    assert answered(sweep, page(), shown=[]) == []
    assert sweep.question is not None


def test_an_empty_page_after_a_jump_is_followed_by_the_next_and_not_by_itself() -> None:
    sweep = sweep_of(roll_of(500, *range(6)))
    answered(sweep, page(500))
    jumped = sweep.question
    answered(sweep, page(token="after"), shown=[])
    assert jumped == Question(NOW - 1, NOW + 6, name_contains="smp")
    assert sweep.question == Question(NOW - 1, NOW + 6, name_contains="smp", token="after")


def test_who_came_after_it_began_is_left_to_the_next() -> None:
    roll = roll_of(0, 10)
    sweep = sweep_of(roll)
    roll.place(roll.add("late", NOW, NOW + 1), NOW + 5)
    assert answered(sweep, page(10, 0)) == []
    assert sweep.question is None


def test_who_is_forgotten_meanwhile_is_looked_for_no_more() -> None:
    roll = roll_of(0, 10, 20)
    sweep = sweep_of(roll)
    roll.remove("10")
    roll.remove("0")
    assert answered(sweep, page(20)) == []
    assert sweep.question is None


def test_those_who_may_be_anywhere_are_paged_for() -> None:
    roll = roll_of(0)
    for n in range(9):
        roll.place_anywhere(roll.add(f"lost-{n}", NOW, NOW))
    sweep = sweep_of(roll)
    assert sweep.question is not None
    assert sweep.question.created_before is None
    assert answered(sweep, page(), shown=[]) == []
    assert sweep.question.token == "next"
    assert answered(sweep, page(token=None), shown=[]) == ["0", *(f"lost-{n}" for n in range(9))]


def test_once_all_of_those_are_found_the_rest_is_jumped_to() -> None:
    roll = roll_of(*range(9))
    roll.place_anywhere(roll.add("lost", NOW, NOW))
    sweep = sweep_of(roll)
    roll.remove("lost")
    answered(sweep, page(), shown=["0"])
    assert sweep.question == Question(sweep.question.created_after, NOW + 9, name_contains="smp")  # type: ignore[union-attr]


def test_after_twenty_pages_in_a_row_that_show_nobody_all_are_looked_at_one_by_one() -> None:
    sweep = sweep_of(roll_of(*(n / 10 for n in range(6))))
    for _ in range(19):
        assert answered(sweep, page(), shown=[]) == []
    assert len(answered(sweep, page(), shown=[])) == 6
    assert sweep.question is None
