from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.model.job import JobKind


class Jobs:
    """Fails a number of times, then answers."""

    kind = JobKind.TRAINING

    def __init__(self, failures: int, kind: FailureKind) -> None:
        self.failures, self.fault, self.calls = failures, kind, 0

    def _call(self, *_: Any) -> Any:
        self.calls += 1
        if self.calls <= self.failures:
            raise CallFailed(CallFailure(self.fault, "Code", "words", "Operation"))
        return {"answer": self.calls}

    create = describe = tags = stop = add_tags = _call

    def listed(self, **_: Any) -> Any:
        yield "first"
        self._call()
        yield "second"


def patient(failures: int, kind: FailureKind = FailureKind.THROTTLED) -> tuple[PatientJobs, Jobs, FakeClock]:
    jobs, clock = Jobs(failures, kind), FakeClock(start=0.0)
    return PatientJobs(jobs, clock, lambda: 1.0), jobs, clock


@pytest.mark.parametrize("kind", [FailureKind.THROTTLED, FailureKind.NETWORK, FailureKind.SERVER])
@pytest.mark.parametrize("operation", ["describe", "tags", "stop"])
def test_what_passes_is_waited_for_longer_each_time(operation: str, kind: FailureKind) -> None:
    calls, _, clock = patient(4, kind)
    assert getattr(calls, operation)("name") == {"answer": 5}
    assert clock.time() == 2 + 4 + 8 + 10


def test_a_listing_that_breaks_off_begins_anew() -> None:
    calls, jobs, _ = patient(2)
    assert calls.listed(created_after=datetime.now(UTC), name_contains="x") == ["first", "second"]
    assert jobs.calls == 3


def test_a_tag_is_written_again_until_aws_takes_it() -> None:
    calls, jobs, _ = patient(2)
    calls.add_tags("arn", {"key": "value"})
    assert jobs.calls == 3


def test_what_lasts_is_raised_in_the_end() -> None:
    calls, jobs, clock = patient(99)
    with pytest.raises(CallFailed):
        calls.describe("name")
    assert jobs.calls == 8
    assert clock.time() < 60


@pytest.mark.parametrize("kind", [FailureKind.NOT_FOUND, FailureKind.CREDENTIALS, FailureKind.INVALID])
def test_what_will_not_pass_is_raised_at_once(kind: FailureKind) -> None:
    calls, jobs, _ = patient(1, kind)
    with pytest.raises(CallFailed):
        calls.describe("name")
    assert jobs.calls == 1


def test_a_create_is_never_repeated_here() -> None:
    calls, jobs, _ = patient(1)
    with pytest.raises(CallFailed):
        calls.create({})
    assert jobs.calls == 1
    assert calls.kind is JobKind.TRAINING
