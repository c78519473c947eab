"""Lines of jobs that are read by turns while they run, by one trigger after another, and by a worker at last."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.aws.log_pages import LogPages
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.placement import log_turns
from airflow_sm_prefer.placement.handed import NOTHING, Handed
from airflow_sm_prefer.placement.log_cursors import HOLD, JobLog
from airflow_sm_prefer.placement.log_turns import Find, Followed, LogTurns
from airflow_sm_prefer.placement.state import State
from airflow_sm_prefer.triggers import job_logs
from airflow_sm_prefer.triggers.job_logs import Following
from tests.cloudwatch import GROUP, CloudWatch
from tests.unit.placement.builders import new_state

START = 1_800_000_000.0
JOBS = "job-0", "job-1", "job-2"

#: A line: its job, its host, seconds until it is written (often none), milliseconds until it is in CloudWatch.
LINES = st.lists(
    st.tuples(
        st.sampled_from(JOBS),
        st.integers(1, 9),
        st.integers(-6, 12).map(lambda n: max(0, n)),
        st.integers(0, HOLD - 1_000),
    ),
    max_size=60,
)

#: Triggers, one after another: how many turns each has, and how often it writes in the last before it ends.
TRIGGERS = st.lists(st.tuples(st.integers(1, 120), st.integers(0, 12)), max_size=3)


class Trigger:
    """Follows jobs from where the one before it ended, and notes which lines it has written."""

    def __init__(self, aws: CloudWatch, clock: FakeClock, since: dict[str, Handed], out: Counter[str]) -> None:
        self._clock, self._turns, self._pages = clock, LogTurns(), LogPages(aws, clock)
        self._followings: dict[Followed, Following] = {}
        for name in JOBS:
            job = self._turns.follow(JobLog(GROUP, name, since[name]), clock.time())
            self._followings[job] = Following(job.log, noter(name, out), lambda _: None)

    def work(self, turns: int, writes_in_the_last: int) -> dict[str, Handed]:
        """Take turns, end in the middle of the last, and tell what it leaves in the tasks' states."""
        for _ in range(turns - 1):
            for _ in self._take_turn():
                pass
        last = self._take_turn()
        for _ in range(writes_in_the_last):
            next(last, None)
        return {job.log.job_name: kept(each.handed) for job, each in self._followings.items()}

    def _take_turn(self) -> Iterator[None]:
        """Give way wherever lines are left for later."""
        self._clock.sleep(self._turns.wait(self._clock.time()) or 1.0)
        now, lines = self._clock.time(), {}
        turn = self._turns.turn(now)
        if isinstance(turn, Find):
            self._turns.found(turn, *self._pages.streams(GROUP, turn.job.log.job_name, turn.token), now)
        elif turn:
            page = self._pages.events(turn.group, turn.streams, turn.start, turn.end, turn.token)
            jobs, lines = list(turn.jobs), self._turns.lines(turn, *page, now)
            for job in jobs:
                yield
                yield from self._followings[job].hand_out(lines.get(job, ())).__await__()


def noter(job: str, out: Counter[str]) -> Any:
    return lambda line: out.update([f"{job}: {line.rpartition(' ')[2]}"])


def kept(handed: Handed) -> Handed:
    """Take an account through a state, as Airflow's database has it."""
    return State.from_json(json.loads(json.dumps(new_state("ml.a").but(logged=handed).to_json()))).logged


def read_the_rest(aws: CloudWatch, job: str, since: Handed, out: Counter[str]) -> None:
    reader = LogReader(aws, GROUP, job, since)
    while lines := reader.read():
        for line in lines:
            noter(job, out)(line)


@contextmanager
def calls_of(streams: int, lines_at_once: int) -> Iterator[None]:
    """Have a call read so many streams, and so many lines be written before others have their turn."""
    with (
        mock.patch.object(log_turns, "STREAMS_A_CALL", streams),
        mock.patch.object(job_logs, "_LINES_AT_ONCE", lines_at_once),
    ):
        yield


@settings(max_examples=200, deadline=None)
@given(
    lines=LINES,
    page=st.integers(1, 5),
    empty=st.booleans(),
    streams=st.sampled_from([2, 3, 100]),
    lines_at_once=st.sampled_from([1, 2, 50]),
    triggers=TRIGGERS,
)
# A host that is found late, and is read further than the first.
@example(
    lines=[("job-0", 1, 0, 0), ("job-0", 2, 4, 0)],
    page=2,
    empty=False,
    streams=100,
    lines_at_once=50,
    triggers=[(9, 12)],
)
def test_each_line_comes_once(
    lines: list[tuple[str, int, int, int]],
    page: int,
    empty: bool,
    streams: int,
    lines_at_once: int,
    triggers: list[tuple[int, int]],
) -> None:
    clock = FakeClock(START)
    aws, out, at, written = CloudWatch(clock, page, empty), Counter[str](), START, Counter[str]()
    for n, (job, host, wait, delay) in enumerate(lines):
        at += wait
        aws.write(f"{job}/algo-{host}-1", str(n), at=round(at * 1000), delay=delay)
        written[f"{job}: {n}"] += 1
    since = dict.fromkeys(JOBS, NOTHING)
    with calls_of(streams, lines_at_once):
        for turns, writes in triggers:
            since = Trigger(aws, clock, since, out).work(turns, writes)
    clock.sleep(3_600.0)
    for job in JOBS:
        read_the_rest(aws, job, since[job], out)
    assert not written - out, "a line is missing"
    assert not out - written, "a line came twice"


@pytest.mark.parametrize("turns", [10, 11, 12, 13, 17, 40])
def test_a_job_of_250_hosts_is_read_in_parts_and_nothing_comes_twice(turns: int) -> None:
    clock = FakeClock(START)
    aws, out = CloudWatch(clock, page=60), Counter[str]()
    for host in range(250):
        for n in range(4):
            aws.write(f"job-0/algo-{host}-1", f"{host}.{n}", at=round(START * 1000) + host % 7 + n * 15_000)
    clock.sleep(30.0)
    since = Trigger(aws, clock, dict.fromkeys(JOBS, NOTHING), out).work(turns, 1)
    clock.sleep(3_600.0)
    read_the_rest(aws, "job-0", since["job-0"], out)
    assert len(out) == 1_000
    assert set(out.values()) == {1}


def test_all_of_it_comes_by_turns_alone_when_there_is_time() -> None:
    clock = FakeClock(START)
    aws = CloudWatch(clock, page=3, empty_pages=True)
    turns, pages, out = LogTurns(), LogPages(aws, clock), Counter[str]()
    for n in range(40):
        turns.follow(JobLog(GROUP, f"job-{n}"), clock.time())
        aws.write(f"job-{n}/algo-1-1", *map(str, range(5)))
    for _ in range(1_000):
        clock.sleep(turns.wait(clock.time()) or 1.0)
        turn = turns.turn(clock.time())
        if isinstance(turn, Find):
            turns.found(turn, *pages.streams(GROUP, turn.job.log.job_name, turn.token), clock.time())
        elif turn:
            page = pages.events(turn.group, turn.streams, turn.start, turn.end, turn.token)
            for job, lines in turns.lines(turn, *page, clock.time()).items():
                out.update(f"{job.log.job_name}: {line.text}" for line in lines)
    assert len(out) == 200
    assert set(out.values()) == {1}
