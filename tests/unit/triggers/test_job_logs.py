"""Lines of running jobs, in the logs of the tasks that wait for them."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Iterator
from itertools import pairwise
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer.aws.log_pages import LogPages
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.aws.pacing import TokenBucket
from airflow_sm_prefer.clock import FakeClock, SystemClock
from airflow_sm_prefer.placement.handed import NOTHING
from airflow_sm_prefer.placement.log_cursors import JobLog
from airflow_sm_prefer.triggers import job_logs
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.job_logs import Following, JobLogs, logs_for
from tests.cloudwatch import GROUP, CloudWatch
from tests.unit.triggers.builders import NOW, STATE

HOSTS = "job/algo-1-1", "job/algo-2-1"


@pytest.fixture
def clock() -> Iterator[FakeClock]:
    """A clock that every wait of the reader moves on."""
    clock, real = FakeClock(NOW), asyncio.sleep

    async def sleep(seconds: float) -> None:
        clock.sleep(seconds)
        await real(0)

    async def wait(self: asyncio.Event, seconds: float) -> None:
        await sleep(seconds)

    with mock.patch.object(job_logs.asyncio, "sleep", sleep), mock.patch.object(job_logs, "set_or", wait):
        yield clock


@pytest.fixture
def aws(clock: FakeClock) -> CloudWatch:
    return CloudWatch(clock)


def reader(aws: CloudWatch, clock: FakeClock, rate: float = 1.0) -> JobLogs:
    connection = mock.Mock(spec=Connection)
    connection.hook.return_value = SimpleNamespace(logs_client=aws)
    return JobLogs(connection, TokenBucket(rate, clock), clock)


async def until(clock: FakeClock, seconds: float) -> None:
    """Let others work until the clock has moved on so far."""
    end = clock.time() + seconds
    while clock.time() < end:
        await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(int))])


async def test_lines_reach_who_follows_with_nothing_twice(aws: CloudWatch, clock: FakeClock) -> None:
    logs, lines = reader(aws, clock), []
    following = logs.follow(GROUP, "job", lines.append)
    aws.write(HOSTS[0], "a", "b")
    await until(clock, 60)
    aws.write(HOSTS[0], "c")
    await until(clock, 60)
    following.close()
    assert lines == ["a", "b", "c"]
    assert following.handed.earliest is not None
    assert round(NOW * 1000) < following.handed.earliest < aws.now


async def test_a_host_that_begins_later_is_found(aws: CloudWatch, clock: FakeClock) -> None:
    logs, lines = reader(aws, clock), []
    following = logs.follow(GROUP, "job", lines.append)
    aws.write(HOSTS[0], "a")
    await until(clock, 60)
    aws.write(HOSTS[1], "b")
    made = aws.now
    assert following.handed.until(HOSTS[1], made) is None
    await until(clock, 300)
    following.close()
    assert lines == ["a", "[algo-2] b"]
    assert following.handed.until(HOSTS[1], made) is not None


async def test_a_job_without_a_stream_costs_a_call_a_minute(aws: CloudWatch, clock: FakeClock) -> None:
    aws.errors = {"DescribeLogStreams": ["ResourceNotFoundException"] * 20}
    following = reader(aws, clock).follow(GROUP, "job", pytest.fail)
    await until(clock, 600)
    following.close()
    assert 10 <= len(aws.calls) <= 15
    assert following.handed == NOTHING


async def test_each_line_is_written_in_the_context_of_its_task(aws: CloudWatch, clock: FakeClock) -> None:
    whose: contextvars.ContextVar[str] = contextvars.ContextVar("whose", default="nobody's")
    logs, lines, followings = reader(aws, clock), [], []
    for name in ("a", "b"):
        whose.set(name)
        followings.append(logs.follow(GROUP, name, lambda line: lines.append((whose.get(), line))))
        aws.write(f"{name}/algo-1-1", f"of {name}")
    await until(clock, 60)
    for following in followings:
        following.close()
    assert sorted(lines) == [("a", "of a"), ("b", "of b")]


async def test_the_calls_for_all_jobs_stay_within_the_budget(aws: CloudWatch, clock: FakeClock) -> None:
    logs, lines = reader(aws, clock, rate=0.5), []
    followings = [logs.follow(GROUP, f"job-{n}", lines.append) for n in range(50)]
    for n in range(50):
        aws.write(f"job-{n}/algo-1-1", "line")
    await until(clock, 400)
    for following in followings:
        following.close()
    assert len(lines) == 50
    assert len(aws.calls) <= 0.5 * 400 + 2


async def test_who_may_not_read_is_told_once_and_no_call_follows(aws: CloudWatch, clock: FakeClock) -> None:
    aws.errors = {"FilterLogEvents": ["AccessDeniedException"] * 9}
    logs, lines, others = reader(aws, clock), [], []
    aws.write(HOSTS[0], "a")
    following = logs.follow(GROUP, "job", lines.append)
    await until_idle(logs)
    assert len(lines) == 1
    assert lines[0].startswith("The log of job can't be read: FilterLogEvents: AccessDeniedException")
    calls = len(aws.calls)
    other = logs.follow("other", "other", others.append)
    await until(clock, 60)
    assert {parameters["logGroupName"] for _, parameters in aws.calls[calls:]} == {"other"}
    following.close()
    other.close()


async def test_what_passes_is_told_once_and_the_lines_come_afterwards(aws: CloudWatch, clock: FakeClock) -> None:
    aws.errors = {"FilterLogEvents": ["ExpiredTokenException", "ServiceUnavailable"]}
    lines: list[str] = []
    aws.write(HOSTS[0], "a")
    following = reader(aws, clock).follow(GROUP, "job", lines.append)
    await until(clock, 120)
    following.close()
    assert [line.split(":")[0] for line in lines] == ["The log of job can't be read", "a"]


async def test_a_connection_that_is_not_there_is_told_like_a_failed_call(clock: FakeClock) -> None:
    connection, lines = mock.Mock(spec=Connection), []
    connection.hook.side_effect = KeyError("no such connection")
    following = JobLogs(connection, TokenBucket(1, clock), clock).follow(GROUP, "job", lines.append)
    await until(clock, 120)
    following.close()
    assert len(lines) == 1
    assert "no such connection" in lines[0]


async def test_throttling_slows_it_down_and_is_nobodys_business(aws: CloudWatch, clock: FakeClock) -> None:
    aws.errors = {"DescribeLogStreams": ["ThrottlingException"] * 4}
    lines: list[str] = []
    aws.write(HOSTS[0], "a")
    following = reader(aws, clock, rate=10).follow(GROUP, "job", lines.append)
    await until(clock, 20)
    assert len(aws.calls) <= 4
    await until(clock, 200)
    following.close()
    assert lines == ["a"]


async def test_who_has_closed_gets_no_line_that_was_on_its_way(aws: CloudWatch, clock: FakeClock) -> None:
    lines: list[str] = []

    def write(line: str) -> None:
        lines.append(line)
        if len(lines) == 120:
            following.close()

    for n in range(1_000):
        aws.write(HOSTS[0], str(n), at=aws.now + n // 2)
    logs = reader(aws, clock)
    following = logs.follow(GROUP, "job", write)
    await until_idle(logs)
    assert following.handed.earliest is not None
    written = [n for n in range(1_000) if round(NOW * 1000) + n // 2 < following.handed.earliest]
    assert lines[: len(written)] == [str(n) for n in written]
    assert len(lines) == 120


async def test_who_closes_while_a_page_is_written_has_each_stream_told_as_far_as_it_was_written(
    aws: CloudWatch, clock: FakeClock
) -> None:
    start, lines = aws.now, []
    for n in range(300):
        aws.write(HOSTS[n % 2], str(n), at=start + n)
    clock.sleep(60)
    pages = LogPages(aws, clock)
    log = JobLog(GROUP, "job")
    log.found(pages.streams(GROUP, "job", None)[0])
    log.lines(pages.events(GROUP, [HOSTS[1]], start, start + 200, None)[0])
    log.move([HOSTS[1]], start + 200)
    following = Following(log, lines.append, lambda _: None)
    events, _ = pages.events(GROUP, HOSTS, start, start + 300, None)
    shown = log.lines(events)
    log.move(HOSTS, start + 300)
    writing = following.hand_out(shown).__await__()
    for _ in range(2):
        next(writing)  # others have their turn
    state = following.noted(STATE)
    following.close()
    assert list(writing) == []
    left = LogReader(aws, GROUP, "job", state.logged).read()
    assert 0 < len(lines) < len(shown)
    written = [int(line.rpartition(" ")[2]) for line in lines + left]
    assert sorted(written) == sorted([*range(0, 200, 2), *range(200, 300)])


async def test_ten_thousand_lines_leave_the_loop_to_others_in_between(aws: CloudWatch, clock: FakeClock) -> None:
    for n in range(10_000):
        aws.write(HOSTS[0], str(n), at=aws.now + n)
    seen, lines = [], []
    following = reader(aws, clock).follow(GROUP, "job", lines.append)
    while len(lines) < 10_000:
        await asyncio.wait([asyncio.ensure_future(asyncio.to_thread(int))])
        seen.append(len(lines))
    following.close()
    assert max(b - a for a, b in pairwise(seen)) < 10_000


async def test_a_line_that_can_not_be_written_keeps_none_of_the_others(
    aws: CloudWatch, clock: FakeClock, caplog: pytest.LogCaptureFixture
) -> None:
    lines: list[str] = []

    def write(line: str) -> None:
        if line == "a":
            raise OSError
        lines.append(line)

    aws.write(HOSTS[0], "a", "b")
    following = reader(aws, clock).follow(GROUP, "job", write)
    with caplog.at_level(logging.ERROR):
        await until(clock, 60)
    following.close()
    assert lines == ["b"]
    assert "A line of job could not be written" in caplog.text


async def test_nothing_runs_when_nobody_follows_and_it_begins_again(aws: CloudWatch, clock: FakeClock) -> None:
    logs, lines = reader(aws, clock), []
    logs.follow(GROUP, "job", lines.append).close()
    await until_idle(logs)
    aws.write(HOSTS[0], "a")
    following = logs.follow(GROUP, "job", lines.append)
    await until(clock, 60)
    following.close()
    await until_idle(logs)
    assert lines == ["a"]


async def until_idle(logs: JobLogs) -> None:
    assert logs._task is not None
    await asyncio.wait_for(logs._task, 10)


async def test_who_reads_on_is_told_where(aws: CloudWatch, clock: FakeClock) -> None:
    aws.write(HOSTS[0], "a", "b")
    made, lines = aws.now, []
    first = reader(aws, clock).follow(GROUP, "job", lines.append)
    assert first.noted(STATE) == STATE
    await until(clock, 60)
    first.close()
    state = first.noted(STATE)
    assert state.logged == first.handed
    assert state.logged.until(HOSTS[0], made) is not None
    aws.write(HOSTS[0], "c")
    second = reader(aws, clock).follow(GROUP, "job", lines.append, state.logged)
    assert second.handed == first.handed
    await until(clock, 60)
    second.close()
    assert lines == ["a", "b", "c"]


async def test_one_reader_serves_a_connection() -> None:
    clock = SystemClock()
    logs = logs_for(Connection(), clock)
    assert logs_for(Connection(), clock) is logs
    assert logs_for(Connection(region_name="eu-west-1"), clock) is not logs


def test_a_loop_that_is_over_leaves_nothing() -> None:
    async def in_a_loop() -> Any:
        return logs_for(Connection(), SystemClock())

    first, second = asyncio.run(in_a_loop()), asyncio.run(in_a_loop())
    assert first is not second
    assert list(job_logs._logs.values()) == [second]


def test_the_budget_is_this_triggerers_share_and_a_wrong_one_fails_nothing(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("AIRFLOW__SM_PREFER__LOG_RATE", "2")
    monkeypatch.setenv("AIRFLOW__SM_PREFER__TRIGGERERS", "4")
    assert waits_of(job_logs._bucket(FakeClock()), 3)[-1] == pytest.approx(4.0, abs=0.5)
    monkeypatch.setenv("AIRFLOW__SM_PREFER__LOG_RATE", "much")
    assert waits_of(job_logs._bucket(FakeClock()), 3)[-1] == pytest.approx(5.0, abs=0.5)
    assert "[sm_prefer] log_rate is 'much'" in caplog.text


def waits_of(bucket: TokenBucket, calls: int) -> list[float]:
    return [bucket.take() for _ in range(calls)]
