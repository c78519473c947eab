from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Verdict, judge_end

CAP = Verdict.CAPACITY


def seen(status: str, **fields: Any) -> Observation:
    return Observation(**{"name": "job", "status": status, "created": 1000.0, **fields})


@pytest.mark.parametrize(
    ("job", "verdict"),
    [
        (seen("Completed"), Verdict.SUCCEEDED),
        (seen("Failed"), Verdict.UNKNOWN),
        (seen("Failed", failure_reason="CapacityError: none"), CAP),
        (seen("Stopped", secondary="Stopped", ended=1100.0), Verdict.STOPPED),
        (seen("Stopped"), Verdict.STOPPED),
        (seen("Stopped", secondary="MaxPendingTimeExceeded"), CAP),
        (seen("Stopped", secondary="PendingTimeout"), CAP),
        (seen("Stopped", secondary="MaxRuntimeExceeded", capacity_at=1010.0), Verdict.LIMIT_REACHED),
        (seen("Stopped", secondary="MaxWaitTimeExceeded"), CAP),
        (seen("Stopped", secondary="MaxWaitTimeExceeded", capacity_at=1010.0), Verdict.SPOT_INTERRUPTION),
        # Processing jobs have no secondary status: only the time tells.
        (seen("Stopped", capacity_at=1010.0, ended=1010.0 + 600), Verdict.LIMIT_REACHED),
        (seen("Stopped", capacity_at=1010.0, ended=1010.0 + 500), Verdict.STOPPED),
        # Nobody stopped it, nothing had capacity, and its pending limit was over.
        (seen("Stopped", secondary="Stopped", ended=1000.0 + 1800), CAP),
    ],
)
def test_an_end_is_judged_by_status_and_time(job: Observation, verdict: Verdict) -> None:
    assert judge_end(job, max_pending=1800.0, max_runtime=600.0).verdict is verdict


def test_a_stop_with_a_reason_shows_it() -> None:
    assert (
        judge_end(seen("Stopped", failure_reason="by hand")).text == "the job is Stopped: somebody stopped it: by hand"
    )
