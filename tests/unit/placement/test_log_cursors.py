from __future__ import annotations

import pytest

from airflow_sm_prefer.placement.handed import NOTHING, Handed, Mark, after_job
from airflow_sm_prefer.placement.log_cursors import LATE, REMEMBERED, Event, JobLog, Line, Stream, host_of

GROUP = "/aws/sagemaker/TrainingJobs"
T = 1_800_000_000_000
ONE, TWO = "job/algo-1-1", "job/algo-2-1"


def event(at: int, name: str, stream: str = ONE) -> Event:
    return Event(at, stream, name, name)


def log(*streams: tuple[str, int], given: Handed = NOTHING) -> JobLog:
    job = JobLog(GROUP, "job", given)
    job.found(streams)
    return job


def account(*streams: tuple[str, int, int]) -> Handed:
    """Of streams by their names, when they were made, and until when they were handed out."""
    return Handed.of(Mark(until, made, after_job(name)) for name, made, until in streams)


def texts(lines: list[Line]) -> list[str]:
    return [line.text for line in lines]


def test_a_line_is_handed_out_once_however_often_it_is_read() -> None:
    job = log((ONE, T))
    assert texts(job.lines([event(T, "a")])) == ["a"]
    job.move([ONE], T + 1)
    assert texts(job.lines([event(T, "a"), event(T + 1, "b")])) == ["b"]


def test_a_line_that_comes_late_is_new_by_its_id() -> None:
    job = log((ONE, T))
    job.lines([event(T, "a")])
    job.move([ONE], T + 10_000)
    assert texts(job.lines([event(T - 5, "late"), event(T, "a")])) == ["late"]
    assert texts(job.lines([event(T - 5, "late")])) == []


def test_what_is_too_late_is_not_told_from_what_was_handed_out() -> None:
    job = log((ONE, T))
    job.move([ONE], T + LATE)
    assert texts(job.lines([event(T - 1, "too late"), event(T, "late")])) == ["late"]


def test_ids_are_bounded_and_what_is_forgotten_does_not_come_again() -> None:
    job = log((ONE, T))
    events = [event(T + n, str(n)) for n in range(3 * REMEMBERED)]
    assert len(job.lines(events)) == 3 * REMEMBERED
    job.move([ONE], T + 3 * REMEMBERED)
    assert len(job.streams[ONE].recent) == REMEMBERED
    assert job.lines(events) == []


def test_a_cursor_never_goes_back() -> None:
    stream = Stream(ONE, T, cursor=T, is_begun=True)
    stream.move(T - 5)
    assert stream.cursor == T


def test_lines_of_several_hosts_begin_with_their_host() -> None:
    job = log((ONE, T), (TWO, T))
    assert job.lines([event(T, "a"), event(T, "b", TWO)]) == [Line(T, "[algo-1] a"), Line(T, "[algo-2] b")]


def test_lines_of_a_stream_that_is_not_this_jobs_are_none_of_its_own() -> None:
    assert log((ONE, T)).lines([event(T, "theirs", "other/algo-1-1")]) == []


def test_the_account_has_the_instant_of_each_stream() -> None:
    job = log((ONE, T), (TWO, T + 7))
    assert job.handed == NOTHING
    job.move([ONE, TWO], T + 50)
    job.move([ONE], T + 90)
    assert job.handed == account((ONE, T, T + 90), (TWO, T + 7, T + 50))


def test_a_stream_that_comes_later_is_read_from_its_start_and_counts_as_far_as_it_is_read() -> None:
    job = log((ONE, T))
    job.move([ONE], T + 100_000)
    assert job.found([(ONE, T), (TWO, T + 50_000)])
    assert job.cursor < T + 50_000
    assert texts(job.lines([event(T + 49_000, "first", TWO)])) == ["[algo-2] first"]
    assert job.handed == account((ONE, T, T + 100_000))
    job.move([TWO], T + 60_000)
    assert job.handed == account((ONE, T, T + 100_000), (TWO, T + 50_000, T + 60_000))


def test_a_page_that_ends_before_a_stream_begins_hands_out_nothing_of_it() -> None:
    job = log((TWO, T))
    job.move([TWO], job.cursor)
    assert job.handed == NOTHING


def test_nothing_is_moved_by_a_stream_that_is_gone() -> None:
    job = log((TWO, T + 50_000))
    job.move([ONE, TWO], T + 60_000)
    assert job.handed == account((TWO, T + 50_000, T + 60_000))


def test_streams_that_are_known_are_nothing_new() -> None:
    job = log((ONE, T))
    assert not job.found([(ONE, T)])


def test_who_reads_on_begins_where_the_one_before_ended() -> None:
    job = log((ONE, T), (TWO, T + 5_000), given=account((ONE, T, T + 4_000)))
    shown = [event(T, "a"), event(T + 4_000, "b"), event(T, "c", TWO)]
    assert texts(job.lines(shown)) == ["[algo-1] b", "[algo-2] c"]


def test_what_was_handed_out_before_is_told_on_until_the_streams_are_found() -> None:
    given = account((ONE, T, T + 4_000), (TWO, T + 5_000, T + 6_000))
    assert log(given=given).handed == given
    assert log((ONE, T), (TWO, T + 5_000), given=given).handed == given


def test_a_stream_that_appears_behind_a_younger_one_is_read_from_its_start() -> None:
    job = log((TWO, T + 5_000))
    job.move([TWO], T + 60_000)
    job.found([(ONE, T)])
    assert texts(job.lines([event(T, "first")])) == ["[algo-1] first"]
    assert job.handed.until(ONE, T) is None


def test_a_stream_that_is_found_again_goes_on_where_it_was() -> None:
    job = log((ONE, T))
    job.move([ONE], T + 100)
    job.forget()
    assert job.cursor == 0
    job.found([(ONE, T)])
    assert texts(job.lines([event(T, "a"), event(T + 100, "b")])) == ["b"]


@pytest.mark.parametrize(
    ("stream", "host"),
    [("job/algo-12-1700000000", "algo-12"), ("job/profiler", "profiler"), ("algo-3-x/other", "other")],
)
def test_a_stream_is_named_after_its_host(stream: str, host: str) -> None:
    assert host_of(stream) == host
