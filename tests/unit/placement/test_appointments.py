from __future__ import annotations

from airflow_sm_prefer.placement.appointments import Appointments


def test_the_next_is_first_and_of_one_instant_who_came_first() -> None:
    queue: Appointments[str] = Appointments()
    for name, at in (("late", 9.0), ("first", 1.0), ("second", 1.0)):
        queue.set(name, at)
    assert queue.first() == (1.0, "first")
    assert list(queue.taken(until=5.0)) == [(1.0, "first"), (1.0, "second")]
    assert queue.first() == (9.0, "late")


def test_a_new_appointment_replaces_the_old_one() -> None:
    queue: Appointments[str] = Appointments()
    queue.set("a", 1.0)
    queue.set("b", 2.0)
    queue.set("a", 3.0)
    assert list(queue.taken(until=5.0)) == [(2.0, "b"), (3.0, "a")]


def test_who_was_taken_out_is_passed_over_and_may_come_again() -> None:
    queue: Appointments[str] = Appointments()
    queue.drop("a")
    queue.set("a", 1.0)
    queue.drop("a")
    assert queue.first() is None
    queue.set("a", 2.0)
    assert queue.first() == (2.0, "a")
