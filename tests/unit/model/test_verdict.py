from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict, judge_end, judge_reason

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


@pytest.mark.parametrize(
    ("reason", "verdict"),
    [
        ("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources", CAP),
        ("Terminated by JobStateTimeLimit action due to reason: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", CAP),
        ("Received status from SageMaker: CapacityError: Unable to provision", CAP),
        ("MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s)", Verdict.QUEUE_UNFIT),
        ("MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED", Verdict.QUEUE_UNFIT),
        (
            "Terminated by JobStateTimeLimit action due to reason: MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE",
            Verdict.QUEUE_UNFIT,
        ),
        ("Cross-share preemption triggered to reclaim borrowed capacity", Verdict.SPOT_INTERRUPTION),
        ("PREEMPTION_IN_PROGRESS: In-share preemption triggered", Verdict.SPOT_INTERRUPTION),
        ("Job attempt duration exceeded timeout", Verdict.LIMIT_REACHED),
        ("Service job attempt duration exceeded timeout", Verdict.LIMIT_REACHED),
        ("Received status from SageMaker: MaxRuntimeExceeded", Verdict.LIMIT_REACHED),
        ("Received status from SageMaker: Training job stopped", Verdict.STOPPED),
        (
            "Received status from SageMaker:InternalServerError: We encountered an internal error",
            Verdict.INFRASTRUCTURE,
        ),
        ("Received status from SageMaker: ValidationException: 1 validation error", Verdict.REQUEST_INVALID),
        ("Received status from SageMaker: AlgorithmError: , exit code: 1", Verdict.USER_ERROR),
        # What a script says is its own.
        ("Received status from SageMaker: AlgorithmError: MISCONFIGURATION: stopped", Verdict.USER_ERROR),
    ],
)
def test_batchs_reasons_are_judged_by_how_they_begin(reason: str, verdict: Verdict) -> None:
    assert judge_reason(reason) == Judgement(verdict, reason)
