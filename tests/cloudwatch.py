"""CloudWatch Logs as far as its readers see it, on a clock that tests move."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from botocore.exceptions import ClientError

from airflow_sm_prefer.clock import FakeClock

GROUP = "/aws/sagemaker/TrainingJobs"


@dataclass(frozen=True, order=True)
class Written:
    at: int
    ingested: int
    id: str
    stream: str
    message: str


@dataclass
class CloudWatch:
    """Shows what has been ingested by now; pages hold a few of anything, and some hold nothing and a token.

    Attributes:
        page: How many lines or streams a page holds.
        empty_pages: Whether every other page of a search holds nothing.
        errors: What the next calls raise, by operation; None answers.
    """

    clock: FakeClock
    page: int = 10_000
    empty_pages: bool = False
    errors: dict[str, list[str | None]] = field(default_factory=dict)
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.created: dict[str, int] = {}
        self.lines: list[Written] = []
        register_first = lambda *_: None  # noqa: E731
        service = SimpleNamespace(service_id=SimpleNamespace(hyphenize=lambda: "logs"))
        self.meta = SimpleNamespace(events=SimpleNamespace(register_first=register_first), service_model=service)

    @property
    def now(self) -> int:
        return round(self.clock.time() * 1000)

    def write(self, stream: str, *messages: str, at: int | None = None, delay: int = 0) -> None:
        """Have a host write lines now, or at a millisecond, that are ingested so many milliseconds later."""
        at = self.now if at is None else at
        self.created.setdefault(stream, at + delay)
        for message in messages:
            self.lines.append(Written(at, at + delay, f"{len(self.lines):06}", stream, message))

    def describe_log_streams(self, *, logGroupName: str, logStreamNamePrefix: str, nextToken: str = "0") -> Any:
        self._called("DescribeLogStreams", locals())
        first = int(nextToken)
        there = sorted(
            (name, created)
            for name, created in self.created.items()
            if name.startswith(logStreamNamePrefix) and created <= self.now
        )
        answer = {"logStreams": [{"logStreamName": n, "creationTime": c} for n, c in there[first : first + self.page]]}
        return self._dated(answer, str(first + self.page) if first + self.page < len(there) else None)

    def filter_log_events(
        self, *, logGroupName: str, logStreamNames: list[str], startTime: int, endTime: int, nextToken: str = ""
    ) -> Any:
        self._called("FilterLogEvents", locals())
        assert 0 < len(logStreamNames) <= 100
        if missing := [name for name in logStreamNames if name not in self.created]:
            raise _error("ResourceNotFoundException", "FilterLogEvents", missing[0])
        shown = [line for line in self._visible() if startTime <= line.at <= endTime and line.stream in logStreamNames]
        after, _, empty = nextToken.partition("@")
        left = [line for line in shown if _place(line) > after]
        if self.empty_pages and not empty and left:
            return self._dated({"events": []}, f"{after}@e")
        token = f"{_place(left[self.page - 1])}@" if len(left) > self.page else None
        return self._dated({"events": [_shown(line) for line in left[: self.page]]}, token)

    def get_log_events(
        self,
        *,
        logGroupName: str,
        logStreamName: str,
        startFromHead: bool,
        limit: int,
        startTime: int = 0,
        nextToken: str = "",
    ) -> Any:
        self._called("GetLogEvents", locals())
        shown = [line for line in self._visible() if line.stream == logStreamName and line.at >= startTime]
        left = [line for line in shown if _place(line) > nextToken][: min(limit, self.page)]
        return {"events": [_shown(x) for x in left], "nextForwardToken": _place(left[-1]) if left else nextToken or "-"}

    def _visible(self) -> list[Written]:
        return sorted(line for line in self.lines if line.ingested <= self.now)

    def _called(self, operation: str, parameters: dict[str, Any]) -> None:
        self.calls.append((operation, {key: value for key, value in parameters.items() if key != "self"}))
        errors = self.errors.get(operation)
        code = errors.pop(0) if errors else None
        if code:
            raise _error(code, operation, "words")

    def _dated(self, answer: dict[str, Any], token: str | None) -> dict[str, Any]:
        return {**answer, "nextToken": token} if token is not None else answer


def _place(line: Written) -> str:
    return f"{line.at:015}.{line.ingested:015}.{line.id}"


def _shown(line: Written) -> dict[str, Any]:
    return {
        "timestamp": line.at,
        "ingestionTime": line.ingested,
        "eventId": line.id,
        "logStreamName": line.stream,
        "message": line.message,
    }


def _error(code: str, operation: str, words: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": words}}, operation)
