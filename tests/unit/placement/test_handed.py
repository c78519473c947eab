from __future__ import annotations

import json
from dataclasses import asdict

import pytest

from airflow_sm_prefer.placement.handed import MOST, NOTHING, Handed, Mark, with_account

T = 1_800_000_000_000


def host(number: int) -> str:
    return f"algo-{number}-1"


def handed(*streams: tuple[int, int]) -> Handed:
    """Of streams that were made one after another, by host and instant."""
    return Handed.of(Mark(until and T + until, T + n, host(number)) for n, (number, until) in enumerate(streams))


def until(account: Handed, number: int, created: int) -> int | None:
    found = account.until(f"job/{host(number)}", T + created)
    return found and found - T


def test_streams_that_were_read_equally_far_share_a_mark_however_many_there_are() -> None:
    account = handed(*((n, 500) for n in range(1_000)))
    assert account.marks == (Mark(T + 500, T + 999, host(999)),)
    assert until(account, 7, 7) == 500


def test_each_stream_has_its_own_instant() -> None:
    account = handed((1, 500), (2, 500), (3, 100), (4, 900))
    assert len(account.marks) == 3
    assert [until(account, n, n - 1) for n in (1, 2, 3, 4)] == [500, 500, 100, 900]


def test_nothing_was_handed_out_of_streams_that_were_made_later() -> None:
    assert until(handed((1, 500)), 2, 1) is None
    assert until(NOTHING, 1, 0) is None


def test_of_streams_of_one_millisecond_the_names_say_which_are_known() -> None:
    account = Handed.of([Mark(T, T, host(1)), Mark(T + 9, T, host(2))])
    assert [until(account, n, 0) for n in (1, 2, 3)] == [0, 9, None]


def test_streams_that_were_found_and_not_read_are_left_to_who_reads_on() -> None:
    account = handed((1, 0), (2, 500), (3, 0))
    assert [until(account, n, n - 1) for n in (1, 2, 3)] == [None, 500, None]
    assert len(account.marks) == 2
    assert handed((1, 0)) == NOTHING


def test_before_the_earliest_instant_nothing_is_left_of_what_was_read() -> None:
    assert handed((1, 0), (2, 500), (3, 300)).earliest == T + 300
    assert NOTHING.earliest is None


def test_while_lines_are_written_each_stream_that_was_read_is_as_far_as_they_are() -> None:
    before, after = handed((1, 100), (2, 500), (3, 200)), handed((1, 900), (2, 900), (3, 200), (4, 900))
    account = before.towards(after, T + 300)
    assert [until(account, n, n - 1) for n in (1, 2, 3, 4)] == [300, 500, 200, 300]
    assert before.towards(after, T + 5_000) == after


def test_a_stream_that_is_there_no_more_keeps_its_instant() -> None:
    account = handed((1, 100), (2, 500)).towards(handed((1, 900)), T + 300)
    assert [until(account, n, n - 1) for n in (1, 2)] == [300, 500]


def test_there_are_so_many_marks_at_most_and_nothing_is_told_that_was_not_handed_out() -> None:
    streams = [(n, 1_000 * n + n % 3) for n in range(1, 4 * MOST)]
    account = handed(*streams)
    assert len(account.marks) == MOST
    told = [until(account, n, place) for place, (n, _) in enumerate(streams)]
    assert all(t is not None and t <= u for t, (_, u) in zip(told, streams, strict=True))


def test_neighbours_that_differ_least_are_told_as_one() -> None:
    account = handed((1, 100), (2, 900), (3, 890), (4, 5_000)).within(3)
    assert [until(account, n, n - 1) for n in (1, 2, 3, 4)] == [100, 890, 890, 5_000]


def test_as_many_marks_as_there_can_be_take_a_fifth_of_a_state() -> None:
    account = handed(*((1_000 + n, n * n + 1) for n in range(2 * MOST)))
    assert len(json.dumps(asdict(account))) < 1_600


def test_it_survives_json() -> None:
    account = handed((1, 100), (2, 900))
    assert Handed.from_wire(json.loads(json.dumps(asdict(account)))) == account


@pytest.mark.parametrize(
    ("wire", "known", "unknown"),
    [
        ({"logged_until": T + 500, "logged_streams": T + 7}, [(1, 0), (2, 7)], [(3, 8)]),
        ({"logged_until": T + 500}, [(1, 0), (2, 10**9)], []),
        ({}, [], [(1, 0)]),
        ({"logged_until": T + 500, "logged": {"marks": []}}, [], [(1, 0)]),
    ],
)
def test_two_instants_of_an_earlier_version_are_an_account(
    wire: dict[str, object], known: list[tuple[int, int]], unknown: list[tuple[int, int]]
) -> None:
    read = with_account(wire).get("logged", {"marks": []})
    account = Handed.from_wire(read)
    assert [until(account, *stream) for stream in known] == [500] * len(known)
    assert [until(account, *stream) for stream in unknown] == [None] * len(unknown)
