"""A container's lines on their way to CloudWatch Logs."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox.runner import logs
from airflow_sm_prefer.sandbox.runner.logs import (
    EVENT_BYTES,
    LONGEST_EVENT,
    MOST_BYTES,
    MOST_EVENTS,
    LogStream,
    in_parts,
)
from tests.unit.sandbox.runner.builders import FakeLogs


def sent(*lines: str, service: Any = None) -> list[list[str]]:
    service = service or FakeLogs()
    stream = LogStream(service, "group", "stream", FakeClock())
    stream.copy(lines)
    stream.close()
    batches: list[list[str]] = service.batches["stream"]
    return batches


def test_lines_that_come_together_go_together() -> None:
    assert sent("a\n", "b\n") == [["a", "b"]]


def test_a_blank_line_is_a_space_since_events_are_not_empty() -> None:
    assert sent("\n", "a\n", "") == [[" ", "a", " "]]


def test_a_batch_has_no_more_events_than_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_EVENTS == 10_000
    monkeypatch.setattr(logs, "MOST_EVENTS", 3)
    assert [len(batch) for batch in sent(*"abcdefg")] == [3, 3, 1]


def test_a_batch_has_no_more_bytes_than_are_taken() -> None:
    batches = sent(*["é" * 100_000] * 12)
    assert sum(map(len, batches)) == 12
    assert len(batches) > 2
    for batch in batches:
        assert sum(EVENT_BYTES + len(line.encode()) for line in batch) <= MOST_BYTES


def test_a_long_line_becomes_several_events_and_loses_nothing() -> None:
    line = "é" * LONGEST_EVENT + "end"
    parts = in_parts(line)
    assert "".join(parts) == line
    assert [len(part.encode()) <= LONGEST_EVENT for part in parts] == [True] * len(parts)
    assert [part for batch in sent(line) for part in batch] == parts


def test_a_line_of_an_events_size_is_one() -> None:
    assert in_parts("x" * LONGEST_EVENT) == ["x" * LONGEST_EVENT]


@pytest.mark.parametrize("operation", ["create_log_group", "create_log_stream", "put_log_events"])
def test_a_log_that_can_not_be_written_fails_nothing(operation: str) -> None:
    class Refusing(FakeLogs):
        def __getattribute__(self, name: str) -> Any:
            return _refuse if name == operation else super().__getattribute__(name)

    service = Refusing()
    service.batches["stream"] = []
    sent("a", service=service)


def _refuse(**_: Any) -> None:
    raise ConnectionError


def test_lines_are_stamped_when_they_come() -> None:
    stamps: list[int] = []

    class Stamping(FakeLogs):
        def put_log_events(self, logGroupName: str, logStreamName: str, logEvents: list[dict[str, Any]]) -> None:
            stamps.extend(event["timestamp"] for event in logEvents)

    clock = FakeClock()
    stream = LogStream(Stamping(), "group", "stream", clock)
    first = int(clock.time() * 1000)
    stream.write("a")
    clock.advance(2)
    stream.write("b")
    stream.close()
    assert stamps == [first, first + 2000]
