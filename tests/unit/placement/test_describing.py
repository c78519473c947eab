"""Who is to be described, and when."""

from __future__ import annotations

import math

import pytest

from airflow_sm_prefer.placement.describing import Describing, Urgency

NOW = 1_800_000_000.0


def order_of(describing: Describing, now: float = NOW) -> list[str]:
    """Return who is described, one after the other."""
    order = []
    while first := describing.next(now):
        order.append(first[0])
        describing.described(first[0])
    return order


def test_nobody_is_described_at_first() -> None:
    assert Describing().due(NOW) == math.inf
    assert Describing().next(NOW) is None


def test_the_most_urgent_comes_first_and_of_these_who_was_wanted_first() -> None:
    describing = Describing()
    for handle, urgency in (("stale", 3), ("changed", 2), ("changed-2", 2), ("due", 0), ("doubt", 1)):
        describing.want(handle, Urgency(urgency), NOW)
    assert order_of(describing) == ["due", "doubt", "changed", "changed-2", "stale"]


def test_what_is_wanted_twice_is_described_once_by_the_more_urgent() -> None:
    describing = Describing()
    describing.want("a", Urgency.STALE, NOW)
    describing.want("b", Urgency.CHANGED, NOW)
    describing.want("a", Urgency.MISSING, NOW)
    describing.want("a", Urgency.CHANGED, NOW)
    assert describing.next(NOW) == ("a", Urgency.MISSING)
    assert order_of(describing) == ["a", "b"]


def test_it_stays_first_until_it_is_described() -> None:
    describing = Describing()
    describing.want("a", Urgency.STALE, NOW)
    assert describing.next(NOW) == describing.next(NOW + 9) == ("a", Urgency.STALE)
    assert describing.due(NOW) == NOW


def test_an_instant_is_waited_for_and_another_takes_its_place() -> None:
    describing = Describing()
    describing.want_at("a", NOW + 10)
    describing.want_at("a", NOW + 20)
    assert describing.due(NOW + 15) == NOW + 20
    assert describing.next(NOW + 19) is None
    assert describing.next(NOW + 20) == ("a", Urgency.DUE)


def test_it_may_be_put_forward() -> None:
    describing = Describing()
    describing.want_at("a", NOW + 20)
    describing.want_at("a", NOW + 10)
    assert order_of(describing, NOW + 10) == ["a"]
    assert order_of(describing, NOW + 20) == []


def test_that_it_is_described_changes_nothing_about_when_it_is_due() -> None:
    describing = Describing()
    describing.want_at("a", NOW + 10)
    describing.want_at("a", NOW + 5, Urgency.STALE)
    describing.want("a", Urgency.MISSING, NOW)
    assert order_of(describing) == ["a"]
    assert describing.next(NOW + 5) == ("a", Urgency.STALE)
    assert describing.next(NOW + 10) == ("a", Urgency.DUE)


def test_who_is_forgotten_is_not_described_however_it_was_wanted() -> None:
    describing = Describing()
    describing.want("a", Urgency.MISSING, NOW)
    describing.want_at("a", NOW + 10)
    describing.want_at("a", NOW + 10, Urgency.STALE)
    describing.forget("a")
    assert order_of(describing, NOW + 10) == []
    assert describing.due(NOW + 10) == math.inf


def test_one_that_fails_waits_longer_each_time_and_holds_up_no_other() -> None:
    describing = Describing()
    describing.want("broken", Urgency.DUE, NOW)
    describing.want("fine", Urgency.STALE, NOW)
    now, pauses = NOW, []
    for _ in range(6):
        describing.failed("broken", now)
        assert describing.next(now) != ("broken", Urgency.DUE)
        describing.described("fine")
        pauses.append(describing.due(now) - now)
        now = describing.due(now)
    assert pauses == [5, 10, 20, 40, 60, 60]
    assert order_of(describing, now) == ["broken"]


def test_a_pause_holds_whatever_is_wanted_meanwhile_and_the_more_urgent_counts_after_it() -> None:
    describing = Describing()
    describing.want("a", Urgency.STALE, NOW)
    describing.failed("a", NOW)
    describing.want("a", Urgency.DUE, NOW + 1)
    assert describing.next(NOW + 4) is None
    assert describing.next(NOW + 5) == ("a", Urgency.DUE)


def test_pauses_begin_anew_after_a_describe() -> None:
    describing = Describing()
    for _ in range(2):
        describing.want("a", Urgency.DUE, NOW)
        describing.failed("a", NOW)
        assert describing.due(NOW) == NOW + 5
        describing.described("a")
        assert order_of(describing, NOW + 60) == []


def test_one_that_was_forgotten_while_it_was_looked_at_is_not_tried_again() -> None:
    describing = Describing()
    describing.want("a", Urgency.DUE, NOW)
    describing.forget("a")
    describing.failed("a", NOW)
    assert describing.due(NOW) == math.inf


def test_the_backlog_is_of_those_that_are_as_urgent() -> None:
    describing = Describing()
    for handle, urgency in (("a", Urgency.DUE), ("b", Urgency.HINTED), ("c", Urgency.STALE)):
        describing.want(handle, urgency, NOW)
    assert [describing.backlog(urgency) for urgency in Urgency] == [1, 1, 2, 2, 3]


@pytest.mark.parametrize("ends", [True, False])
def test_what_is_far_off_and_of_no_use_is_not_kept(*, ends: bool) -> None:
    describing = Describing()
    describing.want_at("one", NOW + 100)
    for n in range(2_000):
        describing.want_at(f"job-{n}" if ends else "job", NOW + 1e6 + n)
        if ends:
            describing.forget(f"job-{n}")
    assert len(describing._later) < 200  # what it takes in memory shows nowhere else
    assert describing.due(NOW) == NOW + 100


def test_one_that_a_listing_misses_comes_before_all_that_were_hinted_at() -> None:
    describing = Describing()
    for n in range(9):
        describing.want(f"hinted-{n}", Urgency.HINTED, NOW)
    describing.want("missing", Urgency.MISSING, NOW)
    assert describing.next(NOW) == ("missing", Urgency.MISSING)
