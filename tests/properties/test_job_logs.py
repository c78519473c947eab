"""Lines of jobs that are read by turns while they run, and by a worker afterwards: each comes once."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.aws.log_pages import LogPages
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement.log_cursors import HOLD, JobLog
from airflow_sm_prefer.placement.log_turns import Find, Followed, LogTurns
from tests.cloudwatch import GROUP, CloudWatch

START = 1_800_000_000.0

#: A line: its job, its host, seconds until it is written, milliseconds until it is in CloudWatch.
LINES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(1, 3), st.integers(0, 12), st.integers(0, HOLD - 1_000)),
    max_size=60,
)


def take_turn(turns: LogTurns, pages: LogPages, now: float, out: Counter[str]) -> None:
    turn = turns.turn(now)
    if isinstance(turn, Find):
        turns.found(turn, *pages.streams(GROUP, turn.job.log.job_name, turn.token), now)
    elif turn:
        page = pages.events(turn.group, turn.streams, turn.start, turn.end, turn.token)
        for job, lines in turns.lines(turn, *page, now).items():
            out.update(f"{job.log.job_name}: {line.text.rpartition(' ')[2]}" for line in lines)


def read_the_rest(aws: CloudWatch, job: Followed, out: Counter[str]) -> None:
    reader = LogReader(aws, GROUP, job.log.job_name, job.log.until, job.log.newest)
    while lines := reader.read():
        out.update(f"{job.log.job_name}: {line.rpartition(' ')[2]}" for line in lines)


@settings(max_examples=150, deadline=None)
@given(lines=LINES, page=st.integers(2, 5), empty=st.booleans(), turns_before_the_end=st.integers(0, 120))
def test_each_line_comes_once(
    lines: list[tuple[int, int, int, int]], page: int, empty: bool, turns_before_the_end: int
) -> None:
    clock = FakeClock(START)
    aws = CloudWatch(clock, page, empty)
    turns, pages, out = LogTurns(), LogPages(aws, clock), Counter[str]()
    jobs = [turns.follow(JobLog(GROUP, f"job-{n}"), clock.time()) for n in range(3)]
    at, written = START, Counter[str]()
    # No page is of one millisecond: what is handed out of such a page may come twice.
    for n, (job, host, wait, delay) in enumerate(lines):
        at += wait
        aws.write(f"job-{job}/algo-{host}-1", str(n), at=round(at * 1000) + n, delay=delay)
        written[f"job-{job}: {n}"] += 1
    for _ in range(turns_before_the_end):
        clock.sleep(turns.wait(clock.time()) or 1.0)
        take_turn(turns, pages, clock.time(), out)
    for job in jobs:
        turns.leave(job)
    clock.sleep(3_600.0)
    for job in jobs:
        read_the_rest(aws, job, out)
    assert not written - out, "a line is missing"
    catching_up = {s.name for job in jobs for s in job.log.streams.values() if not s.is_level}
    once = {f"job-{j}: {n}" for n, (j, host, *_) in enumerate(lines) if f"job-{j}/algo-{host}-1" not in catching_up}
    assert not (out - written).keys() & once, "a line came twice"


def test_all_of_it_comes_by_turns_alone_when_there_is_time() -> None:
    clock = FakeClock(START)
    aws = CloudWatch(clock, page=3, empty_pages=True)
    turns, out = LogTurns(), Counter[str]()
    for n in range(40):
        turns.follow(JobLog(GROUP, f"job-{n}"), clock.time())
        aws.write(f"job-{n}/algo-1-1", *map(str, range(5)))
    pages: Any = LogPages(aws, clock)
    for _ in range(1_000):
        clock.sleep(turns.wait(clock.time()) or 1.0)
        take_turn(turns, pages, clock.time(), out)
    assert len(out) == 200
    assert set(out.values()) == {1}
