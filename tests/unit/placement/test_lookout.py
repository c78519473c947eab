"""Which List call comes next, and what its answer means."""

from __future__ import annotations

import math

import pytest

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.listing import PAGE, Page, Question
from airflow_sm_prefer.placement.lookout import Looked, Lookout

NOW = 1_800_000_000.0
EVERY = 5.0


def name(number: int) -> str:
    return f"job-{number}"


def watching(number: int, *, filters: bool = True) -> Lookout:
    """Return a lookout for so many jobs, one created each second before now, that looks every five seconds."""
    lookout = Lookout(filters=filters)
    lookout.every = EVERY
    for n in range(number):
        lookout.watch(name(n), NOW - n, NOW)
    return lookout


def row(number: int, *, modified: float | None = -10.0, status: str = "InProgress", secondary: str = "") -> Listed:
    at = None if modified is None else NOW + modified
    return Listed(name(number), f"arn:{number}", status, NOW - number, None, at, secondary)


def answer(lookout: Lookout, now: float, *rows: Listed, token: str | None = None, date: float | None = None) -> Looked:
    """Ask what is due, and answer it."""
    assert lookout.due(now) <= now
    return lookout.answered(lookout.ask(now), Page(rows, token, date), now)


def seen(number: int, *, date: float | None = NOW) -> Lookout:
    """Return a lookout that has seen everybody once, at the date."""
    lookout, rows = watching(number), [row(n) for n in range(number)]
    while rows or lookout.due(NOW) == NOW:
        question = lookout.ask(NOW)
        page, rows = ([], rows) if question.modified_after is not None else (rows[:PAGE], rows[PAGE:])
        lookout.answered(question, Page(tuple(page), "next" if page and rows else None, date), NOW)
    return lookout


def handles(rows: list[Listed]) -> list[str]:
    return [row.handle for row in rows]


# -- the whole listing ---------------------------------------------------------------------------------------


def test_nothing_is_asked_while_nobody_is_waited_for() -> None:
    lookout = Lookout()
    assert (len(lookout), lookout.due(NOW), lookout.lag(NOW)) == (0, math.inf, 0.0)
    lookout.forget("a")
    lookout.hint("a", NOW)
    lookout.described("a", NOW)


def test_who_is_new_is_looked_for_at_once() -> None:
    lookout = watching(3)
    assert (len(lookout), "job-0" in lookout, "job-9" in lookout) == (3, True, False)
    assert lookout.due(NOW) == NOW
    looked = answer(lookout, NOW, row(0), row(1), row(2))
    assert handles(looked.first) == ["job-0", "job-1", "job-2"]
    assert (looked.over, looked.changed, looked.missing + looked.hinted, looked.is_whole) == ([], [], [], True)


def test_few_are_looked_at_as_often_as_is_wished() -> None:
    lookout = seen(3)
    assert lookout.due(NOW) == NOW + EVERY
    lookout.is_calm = True
    assert lookout.due(NOW) == NOW + 30, "events tell of what happens between"


def test_who_is_over_and_who_has_changed_is_told_and_who_is_the_same_is_not() -> None:
    lookout = seen(3)
    looked = answer(lookout, NOW + 5, row(0), row(1, secondary="Training"), row(2, status="Completed"))
    assert (handles(looked.over), looked.first, handles(looked.changed)) == (["job-2"], [], ["job-1"])


def test_one_who_is_over_is_told_until_nobody_waits_for_it() -> None:
    lookout = seen(1)
    for n in (1, 2):
        assert handles(answer(lookout, NOW + 5 * n, row(0, status="Stopped")).over) == ["job-0"]
    lookout.forget("job-0")
    assert lookout.due(NOW) == math.inf


def test_one_who_is_waited_for_twice_is_looked_for_once() -> None:
    lookout = seen(1)
    lookout.watch("job-0", NOW, NOW + 1)
    assert (len(lookout), lookout.due(NOW + 1)) == (1, NOW + 5)
    lookout.forget("job-0")
    assert len(lookout) == 0


def test_others_jobs_are_nobodys_matter() -> None:
    assert answer(watching(1), NOW, row(7, status="Completed"), row(0)).over == []


def test_whom_the_listing_does_not_show_is_described() -> None:
    assert answer(watching(3), NOW, row(0), row(2)).missing == ["job-1"]


def test_an_answer_from_before_another_changes_nothing() -> None:
    lookout = watching(1)
    answer(lookout, NOW, row(0, modified=-1, secondary="Training"))
    assert answer(lookout, NOW + 5, row(0, modified=-9, secondary="Starting")).changed == []
    assert answer(lookout, NOW + 10, row(0, modified=-1, secondary="Training")).changed == []


def test_a_status_that_does_not_say_when_it_changed_is_taken_as_it_comes() -> None:
    lookout = watching(1, filters=False)
    answer(lookout, NOW, row(0, modified=None, secondary="RUNNABLE"))
    assert handles(answer(lookout, NOW + 5, row(0, modified=None, secondary="STARTING")).changed) == ["job-0"]


def test_names_are_asked_for_by_the_marker_that_all_have() -> None:
    lookout = Lookout()
    lookout.watch("a-smpabcd-abcdefghijkl-1", NOW, NOW)
    assert lookout.ask(NOW).name_contains == "smpabcd"
    lookout.failed(for_good=True)
    lookout.watch("a-smpbcde-abcdefghijkl-1", NOW, NOW)
    assert lookout.ask(NOW).name_contains == ""
    lookout.failed(for_good=True)
    lookout.forget("a-smpabcd-abcdefghijkl-1")
    assert lookout.ask(NOW).name_contains == "smpbcde"


def test_a_queue_of_batch_is_asked_by_the_time_of_creation_alone() -> None:
    lookout = Lookout(filters=False)
    lookout.watch("a-smpabcd-abcdefghijkl-1", NOW, NOW)
    question = lookout.ask(NOW)
    assert question == Question(question.created_after)


def test_one_that_comes_later_is_looked_for_without_going_through_the_others() -> None:
    lookout = seen(3)
    lookout.watch("late", NOW, NOW + 1)
    assert lookout.due(NOW + 1) == NOW + 2
    late = Listed("late", "arn", "InProgress", NOW + 1)
    looked = answer(lookout, NOW + 2, late, token="next")
    assert (handles(looked.first), looked.is_whole) == (["late"], False)
    assert lookout.due(NOW + 2) == NOW + 5


def test_one_that_is_described_meanwhile_is_not_looked_for() -> None:
    lookout = seen(3)
    lookout.watch("late", NOW, NOW + 1)
    lookout.described("late", None)
    assert lookout.due(NOW + 1) == NOW + 2
    lookout.described("late", NOW + 1)
    assert lookout.due(NOW + 1) == NOW + 5


def test_many_who_are_not_where_they_should_be_are_looked_for_everywhere_before_they_are_described() -> None:
    lookout = watching(9)
    assert answer(lookout, NOW).missing == []
    assert lookout.ask(NOW + 2).created_after < NOW - 50 * 86_400
    lookout.failed()
    assert len(answer(lookout, NOW + 2).missing) == 9


# -- changes -------------------------------------------------------------------------------------------------


def test_of_many_only_what_has_changed_is_asked_for() -> None:
    lookout = seen(250)
    assert lookout.can_look_closely(NOW)
    assert lookout.has_calls_to_spare(NOW)
    assert lookout.due(NOW) == NOW + 5
    question = lookout.ask(NOW + 5)
    assert question == Question(NOW - 250, modified_after=NOW - 3)
    looked = lookout.answered(question, Page((row(7, modified=1, status="Failed"),)), NOW + 5)
    assert (handles(looked.over), looked.is_whole) == (["job-7"], True)


def test_of_very_many_it_is_asked_for_twice_as_often() -> None:
    assert seen(1_900).due(NOW) == NOW + 5
    assert seen(2_000).due(NOW) == NOW + 2.5


def test_what_can_wait_leaves_the_turns_to_a_hint() -> None:
    lookout = seen(250)
    lookout.hint("job-7", NOW)
    assert lookout.can_look_closely(NOW)
    assert not lookout.has_calls_to_spare(NOW)


def test_a_page_or_two_of_changes_are_asked_for_in_turn_and_more_as_fast_as_may_be() -> None:
    lookout = seen(1000)
    for page in range(2):
        rows = [row(100 * page + n, modified=1, status="Completed") for n in range(100)]
        assert not lookout.is_busy(NOW + 5)
        answer(lookout, NOW + 5, *rows, token="next")
    assert lookout.is_busy(NOW + 5)


def test_where_aws_filters_late_the_whole_listing_is_gone_through_for_ten_minutes() -> None:
    lookout = seen(250)
    answer(lookout, NOW + 5, token="next")
    assert not lookout.can_look_closely(NOW + 5)
    assert not lookout.has_calls_to_spare(NOW + 5)
    assert lookout.due(NOW + 5) == NOW + 6, "two seconds a call, ten at most"
    assert lookout.can_look_closely(NOW + 605)


def test_a_change_that_was_missed_has_it_ask_further_back_and_without_dates() -> None:
    lookout = seen(250, date=NOW + 100)
    question = lookout.ask(NOW + 60)
    assert question.modified_after == NOW + 97
    lookout.answered(question, Page((), None, NOW + 160), NOW + 60)
    deep = lookout.ask(NOW + 60)
    assert deep.modified_after == NOW - 40, "by rows, which were modified ten seconds ago"
    looked = lookout.answered(deep, Page((row(7, modified=58, secondary="Training"),), None, NOW + 160), NOW + 60)
    assert handles(looked.changed) == ["job-7"]
    behind = 97 - 58 + 3
    assert lookout.ask(NOW + 65).modified_after == NOW + 58 - behind


def test_it_asks_no_further_back_for_a_change_that_came_in_time() -> None:
    lookout = seen(250)
    answer(lookout, NOW + 5, row(7, modified=2, secondary="Training"))
    assert lookout.ask(NOW + 10).modified_after == NOW + 2


def test_what_gives_too_much_that_is_known_is_given_up_for_the_whole_listing() -> None:
    lookout = seen(250)
    known = [row(n) for n in range(PAGE)]
    for n in range(4):
        assert lookout.can_look_closely(NOW + 5)
        answer(lookout, NOW + 5, *known, token=f"token-{n}")
    assert not lookout.can_look_closely(NOW + 5)
    assert lookout.due(NOW + 5) == NOW + 6
    answer(lookout, NOW + 6, *[row(n) for n in range(250)])
    assert lookout.can_look_closely(NOW + 6)


def test_the_deep_look_is_given_up_and_the_frequent_ones_go_on() -> None:
    lookout = seen(250)
    answer(lookout, NOW + 60)
    for n in range(4):
        answer(lookout, NOW + 60, *[row(n) for n in range(PAGE)], token=f"token-{n}")
    assert lookout.can_look_closely(NOW + 60)
    assert lookout.due(NOW + 60) == NOW + 65


def test_without_any_clock_of_aws_there_is_nothing_to_ask_changes_by() -> None:
    lookout = watching(250)
    for n in range(3):
        rows = [row(n, modified=None) for n in range(n * 100, min(n * 100 + 100, 250))]
        answer(lookout, NOW, *rows, token="next" if n < 2 else None)
    assert not lookout.can_look_closely(NOW)


@pytest.mark.parametrize(("number", "after"), [(250, 120), (5_000, 200)])
def test_the_whole_listing_is_gone_through_now_and_then_all_the_same(number: int, after: float) -> None:
    lookout = seen(number)
    now = NOW + 5
    while (question := lookout.ask(now)).modified_after is not None:
        lookout.answered(question, Page((), None, now), now)
        now = lookout.due(now)
    assert now == pytest.approx(NOW + after, abs=5)


# -- hints ---------------------------------------------------------------------------------------------------


def test_a_hint_has_it_look_at_once_and_what_it_said_is_told() -> None:
    lookout = seen(250)
    lookout.hint("job-7", NOW + 1)
    assert lookout.due(NOW + 1) == NOW + 1
    looked = answer(lookout, NOW + 1.5, row(7, modified=1, status="Completed"))
    assert (handles(looked.over), looked.missing + looked.hinted) == (["job-7"], [])
    assert lookout.due(NOW + 2) == NOW + 5


def test_a_hint_that_the_listing_does_not_bear_out_is_looked_into() -> None:
    lookout = seen(250)
    lookout.hint("job-7", NOW + 1)
    lookout.hint("job-8", NOW + 1)
    lookout.forget("job-8")
    assert answer(lookout, NOW + 1.5).hinted == ["job-7"]
    assert lookout.due(NOW + 2) == NOW + 5


def test_an_answer_to_what_was_asked_before_a_hint_says_nothing_about_it() -> None:
    lookout = seen(250)
    question = lookout.ask(NOW + 5)
    lookout.hint("job-7", NOW + 5.1)
    assert lookout.answered(question, Page(()), NOW + 5.2).hinted == []
    assert answer(lookout, NOW + 5.5).hinted == ["job-7"]


def test_a_hint_about_few_has_the_listing_looked_at_within_a_second() -> None:
    lookout = seen(3)
    lookout.hint("job-1", NOW + 0.5)
    assert lookout.due(NOW + 0.5) == NOW + 1
    assert answer(lookout, NOW + 1, row(0), row(1), row(2)).hinted == ["job-1"]


def test_however_many_hints_there_are_others_get_their_turns() -> None:
    lookout = seen(250)
    lookout.watch("late", NOW, NOW)
    now, found = NOW, []
    for _ in range(9):
        now += 0.7
        lookout.hint("job-7", now)
        question = lookout.ask(now)
        is_for_changes = question.modified_after is not None
        rows = () if is_for_changes else (Listed("late", "arn", "InProgress", NOW),)
        found += lookout.answered(question, Page(rows), now).first
    assert handles(found) == ["late"]


# -- failures ------------------------------------------------------------------------------------------------


def test_a_call_that_fails_is_made_again() -> None:
    lookout = watching(250)
    answer(lookout, NOW, *[row(n, modified=None) for n in range(100)], token="next")
    question = lookout.ask(NOW)
    lookout.failed()
    assert lookout.ask(NOW) == question
    assert question.token == "next"


@pytest.mark.parametrize("number", [3, 250])
def test_a_way_whose_token_is_good_no_more_begins_anew(number: int) -> None:
    lookout = seen(number)
    now = NOW + 700
    lookout.watch("late", now, now)
    while lookout.ask(now).modified_after is not None:
        lookout.answered(lookout.ask(now), Page(()), now)
    lookout.failed(for_good=True)
    assert lookout.due(now) == now
    assert lookout.ask(now).token is None


def test_a_look_for_changes_whose_token_is_good_no_more_comes_again() -> None:
    lookout = seen(250)
    answer(lookout, NOW + 5, *[row(n, modified=1) for n in range(PAGE)], token="next")
    assert lookout.ask(NOW + 5).token == "next"
    lookout.failed(for_good=True)
    assert lookout.ask(NOW + 10).token is None


# -- how it stands -------------------------------------------------------------------------------------------


def test_it_is_busy_while_there_is_more_to_look_through_and_some_are_over() -> None:
    lookout = watching(250)
    assert not lookout.is_busy(NOW)
    answer(lookout, NOW, *[row(n, status="Completed") for n in range(100)], token="next")
    assert lookout.is_busy(NOW)
    assert not lookout.is_busy(NOW + 15)


def test_the_lag_is_how_long_ago_the_oldest_look_was_that_somebody_relies_on() -> None:
    lookout = watching(3)
    assert lookout.lag(NOW + 4) == 4
    answer(lookout, NOW + 4, row(0), row(1), row(2))
    assert lookout.lag(NOW + 6) == 2
    lookout.watch("late", NOW, NOW + 5)
    assert lookout.lag(NOW + 6) == 2
    assert lookout.lag(NOW + 9) == 5


def test_those_whom_a_way_looks_for_already_are_left_to_it() -> None:
    lookout = watching(250, filters=False)
    answer(lookout, NOW, *[row(n, modified=None) for n in range(PAGE)], token="next")
    assert lookout.ask(NOW + 3).token == "next", "and not begun with again"
    lookout.failed()
    lookout.watch("late", NOW + 3, NOW + 3)
    assert lookout.ask(NOW + 3).token is None
