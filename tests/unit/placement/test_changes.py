"""Asking a listing for what was modified lately."""

from __future__ import annotations

from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.changes import Changes, Glance
from airflow_sm_prefer.placement.listing import PAGE, Page, Question

NOW = 1_800_000_000.0
QUESTION = Question(NOW - 3600, modified_after=NOW - 10)


def page(rows: int, token: str | None = None) -> Page:
    return Page(tuple(Listed(f"job-{n}", f"arn:{n}", "InProgress", NOW) for n in range(rows)), token)


def test_an_answer_of_one_page_is_complete() -> None:
    changes = Changes(QUESTION, NOW, worth=3)
    changes.answered(page(7), news=7)
    assert (changes.question, changes.is_complete, changes.is_late, changes.is_costly) == (None, True, False, False)
    assert (changes.began, changes.horizon) == (NOW, NOW - 10)


def test_full_pages_are_followed_while_they_say_something_new() -> None:
    changes = Changes(QUESTION, NOW, worth=1)
    for n in range(9):
        changes.answered(page(PAGE, f"token-{n}"), news=PAGE)
        assert changes.question == Question(NOW - 3600, modified_after=NOW - 10, token=f"token-{n}")
    assert not changes.is_complete


def test_it_ends_where_too_much_is_known_already() -> None:
    changes = Changes(QUESTION, NOW, worth=1)
    changes.answered(page(PAGE, "1"), news=0)
    assert changes.question is not None
    changes.answered(page(PAGE, "2"), news=PAGE - 1)
    assert (changes.question, changes.is_costly, changes.is_complete) == (None, True, False)


def test_a_page_that_is_cut_short_says_that_aws_has_no_index_for_it() -> None:
    changes = Changes(QUESTION, NOW, worth=9)
    changes.answered(page(0, "1"), news=0)
    assert (changes.question, changes.is_late, changes.is_complete) == (None, True, False)


def test_a_question_without_a_bound_asks_for_everything() -> None:
    assert Changes(Question(NOW), NOW, worth=1).horizon == 0.0


def test_a_glance_is_due_at_once_while_it_is_under_way_and_after_its_pause_otherwise() -> None:
    glance = Glance(every=30.0, overlap=3.0)
    assert glance.due < 0
    glance.began, glance.changes = NOW, Changes(QUESTION, NOW, worth=1)
    assert glance.due == NOW
    glance.changes = None
    assert glance.due == NOW + 30
