import logging

import pytest
from botocore.exceptions import ClientError

from airflow_sm_prefer.aws.log_groups import log_group, stream_prefix
from airflow_sm_prefer.aws.log_stream import LogReader
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.handed import Handed, Mark
from tests.cloudwatch import CloudWatch

GROUP = "/aws/sagemaker/TrainingJobs"


class FakeLogs:
    """CloudWatch Logs as far as a reader sees it; pages hold two of anything."""

    def __init__(self):
        self.streams: dict[str, list[tuple[int, str]]] = {}
        self.error: str | None = None
        self.calls = 0

    def write(self, stream, *lines, at=0):
        self.streams.setdefault(stream, []).extend((at + i, line) for i, line in enumerate(lines))

    def describe_log_streams(self, *, logGroupName, logStreamNamePrefix, nextToken="0"):
        self._answer("DescribeLogStreams")
        assert logGroupName == GROUP
        names = sorted(name for name in self.streams if name.startswith(logStreamNamePrefix))
        start = int(nextToken)
        page = {"logStreams": [{"logStreamName": name} for name in names[start : start + 2]]}
        return {**page, "nextToken": str(start + 2)} if start + 2 < len(names) else page

    def get_log_events(self, *, logGroupName, logStreamName, startFromHead, limit, nextToken="0"):
        self._answer("GetLogEvents")
        assert startFromHead
        start = int(nextToken)
        events = self.streams[logStreamName][start : start + min(2, limit)]
        return {
            "events": [{"timestamp": at, "message": line} for at, line in events],
            "nextForwardToken": str(start + len(events)),
        }

    def _answer(self, operation):
        self.calls += 1
        if self.error:
            raise ClientError({"Error": {"Code": self.error, "Message": "no"}}, operation)


@pytest.fixture
def logs():
    return FakeLogs()


@pytest.fixture
def reader(logs):
    return LogReader(logs, GROUP, "job")


def test_groups_and_streams_are_named_as_sagemaker_names_them():
    assert log_group(JobKind.TRAINING) == GROUP
    assert log_group(JobKind.PROCESSING) == "/aws/sagemaker/ProcessingJobs"
    assert stream_prefix("job") == "job/"


def test_each_line_comes_once(logs, reader):
    logs.write("job/algo-1-1", "a", "b", "c", "d", "e")
    assert reader.read() == ["a", "b", "c", "d", "e"]
    assert reader.read() == []
    logs.write("job/algo-1-1", "f", at=9)
    assert reader.read() == ["f"]


def test_hosts_are_told_apart_and_interleaved_by_time(logs, reader):
    logs.write("job/algo-1-1700000000", "one", "three", at=10)
    logs.write("job/algo-2-1700000000", "two", at=10)
    logs.write("job/algo-3-1700000000", "zero", at=1)
    assert reader.read() == ["[algo-3] zero", "[algo-1] one", "[algo-2] two", "[algo-1] three"]


def test_a_stream_with_another_name_goes_by_it(logs, reader):
    logs.write("job/algo-1-1", "a")
    logs.write("job/profiler", "b", at=1)
    assert reader.read() == ["[algo-1] a", "[profiler] b"]


def test_a_job_whose_name_begins_the_same_is_not_read(logs, reader):
    logs.write("job-2/algo-1-1", "theirs")
    logs.write("job/algo-1-1", "ours")
    assert reader.read() == ["ours"]


def test_one_read_is_bounded_and_the_next_goes_on(logs, reader):
    logs.write("job/algo-1-1", *"abcde")
    assert reader.read(limit=3) == ["a", "b", "c"]
    assert reader.read(limit=3) == ["d", "e"]


def test_the_rest_of_a_log_is_asked_for_no_more_once_it_is_read_to_its_end(logs, reader):
    logs.write("job/algo-1-1", "a", "b", "c")
    assert list(reader.rest()) == ["a", "b", "c"]
    assert logs.calls == 1 + 3  # the streams, and the pages up to an empty one


def test_the_rest_of_a_log_is_all_of_it_however_long(logs, reader, monkeypatch):
    logs.write("job/algo-1-1", *"abcdefg")
    bounded = reader.read
    monkeypatch.setattr(reader, "read", lambda: bounded(limit=3))
    assert list(reader.rest()) == list("abcdefg")
    assert list(reader.rest()) == []


def test_the_rest_of_a_log_goes_on_after_a_page_that_failed(logs, reader, monkeypatch):
    logs.write("job/algo-1-1", *"abcde")
    whole, failures = logs.get_log_events, ["ServiceUnavailable"]

    def broken_once(**parameters):
        if parameters.get("nextToken") == "2" and failures:
            raise ClientError({"Error": {"Code": failures.pop(), "Message": "no"}}, "GetLogEvents")
        return whole(**parameters)

    monkeypatch.setattr(logs, "get_log_events", broken_once)
    assert list(reader.rest()) == list("abcde")


def test_a_group_that_is_not_there_yet_gives_no_lines_and_no_word(logs, reader, caplog):
    logs.error = "ResourceNotFoundException"
    assert reader.read() == []
    assert "ResourceNotFoundException" in reader.problem
    assert not caplog.records
    logs.error = None
    logs.write("job/algo-1-1", "a")
    assert reader.read() == ["a"]
    assert reader.problem is None


def test_a_role_that_may_not_read_is_told_once_and_not_asked_again(logs, reader, caplog):
    logs.error = "AccessDeniedException"
    with caplog.at_level(logging.WARNING):
        assert [reader.read() for _ in range(3)] == [[], [], []]
    assert len(caplog.records) == 1
    assert GROUP in caplog.text
    assert logs.calls == 1
    assert "AccessDenied" in reader.problem


def test_what_was_read_before_a_failure_is_not_lost(logs, reader, monkeypatch):
    logs.write("job/algo-1-1", "a", "b", "c")
    whole = logs.get_log_events

    def broken(**parameters):
        if parameters.get("nextToken") == "2":
            raise ClientError({"Error": {"Code": "ServiceUnavailable", "Message": "no"}}, "GetLogEvents")
        return whole(**parameters)

    monkeypatch.setattr(logs, "get_log_events", broken)
    assert reader.read() == ["a", "b"]
    monkeypatch.setattr(logs, "get_log_events", whole)
    assert reader.read() == ["c"]


# -- where somebody has read before ------------------------------------------------------------------------------

T = 1_800_000_000


@pytest.fixture
def aws():
    return CloudWatch(FakeClock(T + 3_600), page=2)


def handed(*hosts):
    """Of hosts' streams: until when they were handed out, and when they were made, in seconds."""
    return Handed.of(Mark(until * 1000, made * 1000, f"algo-{n}-1") for n, (until, made) in enumerate(hosts, start=1))


def rest(aws, *hosts):
    reader, lines = LogReader(aws, GROUP, "job", handed(*hosts)), []
    while more := reader.read():
        lines += more
    return lines


def test_only_the_lines_from_there_on_are_read(aws):
    for n in range(6):
        aws.write("job/algo-1-1", str(n), at=(T + n) * 1000)
    assert rest(aws, (T + 4, T)) == ["4", "5"]


def test_streams_that_were_made_later_are_read_from_their_start(aws):
    aws.write("job/algo-1-1", "a", at=T * 1000)
    aws.write("job/algo-2-1", "b", at=(T + 1) * 1000)
    assert rest(aws, (T + 9, T)) == ["[algo-2] b"]


def test_each_stream_is_read_from_where_it_was_left(aws):
    for host in (1, 2, 3):
        for n in range(6):
            aws.write(f"job/algo-{host}-1", str(n), at=(T + host + n) * 1000)
    assert rest(aws, (T + 6, T + 1), (T + 3, T + 2), (T + 8, T + 3)) == [
        *("[algo-2] 1", "[algo-2] 2", "[algo-2] 3", "[algo-1] 5", "[algo-2] 4", "[algo-2] 5", "[algo-3] 5")
    ]


def test_a_line_that_came_too_late_for_who_read_before_is_read(aws):
    aws.write("job/algo-1-1", "in time", at=T * 1000, delay=9_000)
    aws.write("job/algo-1-1", "late", at=T * 1000, delay=30_000)
    assert rest(aws, (T + 9, T + 9)) == ["late"]


def test_any_number_of_lines_that_were_read_hides_none_that_was_not(aws, monkeypatch):
    aws.write("job/algo-1-1", *map(str, range(30)), at=T * 1000)
    aws.write("job/algo-1-1", "new", at=(T + 9) * 1000)
    reader = LogReader(aws, GROUP, "job", handed((T + 9, T)))
    assert reader.read(limit=4) == ["new"]
