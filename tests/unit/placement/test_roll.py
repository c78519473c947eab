"""Who is waited for, in the order in which AWS created them."""

from __future__ import annotations

from airflow_sm_prefer.placement.roll import SLACK, Roll, Watched

NOW = 1_800_000_000.0


def anybody(_: Watched) -> bool:
    return True


def roll_of(**created: float) -> Roll:
    """Return a roll on which it is known when each was created."""
    roll = Roll()
    for handle, second in created.items():
        roll.place(roll.add(handle, NOW, NOW), NOW + second)
    return roll


def handle_of(watched: Watched | None) -> str | None:
    return watched and watched.handle


def test_nobody_is_waited_for_at_first() -> None:
    roll = Roll()
    assert (len(roll), list(roll), roll.newest(anybody), roll.oldest()) == (0, [], None, 0.0)
    assert roll.get("a") is None
    roll.remove("a")


def test_the_newest_comes_first_wherever_it_was_added() -> None:
    roll = roll_of(old=0, new=20, middle=10)
    assert handle_of(roll.newest(anybody)) == "new"
    assert handle_of(roll.newest(anybody, NOW + 19)) == "middle"
    assert handle_of(roll.newest(lambda watched: watched.handle != "new")) == "middle"
    assert roll.newest(anybody, NOW - 1) is None
    assert roll.oldest() == NOW


def test_one_that_is_not_placed_may_have_been_created_some_time_before_or_after() -> None:
    roll = roll_of(known=0)
    roll.add("guessed", NOW, NOW)
    assert handle_of(roll.newest(anybody)) == "guessed"
    assert handle_of(roll.newest(anybody, NOW - SLACK)) == "guessed"
    assert roll.newest(anybody, NOW - SLACK - 1) is None
    assert roll.oldest() == NOW - SLACK


def test_the_oldest_may_be_one_that_comes_later_in_the_order() -> None:
    roll = roll_of(known=0)
    roll.add("guessed", NOW + 0.5 * SLACK, NOW)
    assert roll.oldest() == NOW - 0.5 * SLACK


def test_one_that_is_placed_moves() -> None:
    roll = roll_of(a=0, b=10)
    moved = roll.get("a")
    assert moved is not None
    roll.place(moved, NOW + 20)
    roll.place(moved, NOW + 20)
    assert handle_of(roll.newest(anybody)) == "a"
    roll.remove("a")
    assert handle_of(roll.newest(anybody)) == "b"
    assert [watched.handle for watched in roll] == ["b"]


def test_between_are_those_that_were_surely_created_then() -> None:
    roll = roll_of(a=0, b=10, c=20)
    roll.add("guessed", NOW + 10, NOW)
    assert [found.handle for found in roll.between(NOW, NOW + 10, anybody)] == ["b"]
    assert [found.handle for found in roll.between(NOW, NOW + 2 * SLACK, anybody)] == ["b", "c"]
    wanted = roll.between(NOW - 2 * SLACK, NOW + 2 * SLACK, lambda watched: watched.handle > "b")
    assert [found.handle for found in wanted] == ["c", "guessed"]


def test_those_of_one_instant_are_told_apart() -> None:
    roll = roll_of(a=0, b=0, c=0)
    roll.remove("b")
    assert [found.handle for found in roll.between(NOW - 1, NOW, anybody)] == ["a", "c"]


def test_one_who_may_be_anywhere_comes_first_and_reaches_furthest_back() -> None:
    roll = roll_of(a=0, b=-1e6)
    lost = roll.add("lost", NOW, NOW)
    assert not roll.is_anywhere(lost)
    roll.place_anywhere(lost)
    assert roll.is_anywhere(lost)
    assert handle_of(roll.newest(anybody)) == handle_of(roll.newest(anybody, NOW - 1e6)) == "lost"
    assert roll.oldest() == NOW - 60 * 86_400
    assert [found.handle for found in roll.between(NOW - 1e6, NOW + 1e6, anybody)] == ["a"]
    roll.place(lost, NOW - 9)
    assert not roll.is_anywhere(lost)
    assert roll.oldest() == NOW - 1e6
    roll.place_anywhere(lost)
    roll.remove("lost")
    assert handle_of(roll.newest(anybody)) == "a"
