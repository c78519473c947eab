"""What hints have said, and what has come of it."""

from __future__ import annotations

from airflow_sm_prefer.placement.hints import Hints

NOW = 1_800_000_000.0


def trusted() -> Hints:
    hints = Hints()
    for n in range(3):
        hints.look_into(f"proof-{n}")
        hints.seen(f"proof-{n}", is_over=True, now=NOW)
    return hints


def test_hints_are_believed_once_those_have_proved_true_that_were_looked_into() -> None:
    assert not Hints().are_believed(NOW)
    assert trusted().are_believed(NOW)


def test_looks_that_no_hint_has_led_to_prove_nothing() -> None:
    hints = Hints()
    for n in range(10):
        hints.seen(f"job-{n}", is_over=True, now=NOW)
    assert not hints.are_believed(NOW)


def test_one_that_is_looked_into_is_pending_until_it_is_seen_or_let_go() -> None:
    hints = Hints()
    hints.look_into("seen")
    hints.look_into("let-go")
    assert hints.is_pending("seen")
    hints.seen("seen", is_over=True, now=NOW)
    hints.forget("let-go")
    assert not hints.is_pending("seen")
    assert not hints.is_pending("let-go")


def test_a_false_one_ends_all_belief() -> None:
    hints = trusted()
    hints.look_into("false")
    hints.seen("false", is_over=False, now=NOW)
    assert not hints.are_believed(NOW)


def test_what_is_pending_is_believed_with_the_rest_and_not_before() -> None:
    doubted, hints = Hints(), trusted()
    for each in (doubted, hints):
        each.look_into("b")
        each.look_into("a")
    assert doubted.believe_pending(NOW) == []
    assert hints.believe_pending(NOW) == ["a", "b"]
    assert hints.believe_pending(NOW) == []


def test_a_task_that_a_hint_has_woken_and_that_waits_again_ends_all_belief() -> None:
    hints = trusted()
    hints.believe("job", NOW)
    hints.waits_again("another", NOW + 1)
    assert hints.are_believed(NOW + 1)
    hints.waits_again("job", NOW + 1)
    assert not hints.are_believed(NOW + 1)


def test_one_that_comes_back_long_after_says_nothing_of_the_hint() -> None:
    hints = trusted()
    hints.believe("job", NOW)
    hints.believe("later", NOW + 700)
    hints.waits_again("job", NOW + 700)
    assert hints.are_believed(NOW + 700)
