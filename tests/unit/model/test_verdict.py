from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict, judge_end, judge_quota, judge_reason

CAP, USR, INF = Verdict.CAPACITY, Verdict.USER_ERROR, Verdict.INFRASTRUCTURE
QUOTA = "The account-level service limit '{name}' is {limit} Instances, with current utilization of {used} Instances "
QUOTA += "and a request delta of {delta} Instances. Please contact AWS support to request an increase for this limit."

#: Texts that people have met, by what they mean.
REASONS = [
    (
        "CapacityError: Unable to provision requested ML compute capacity. "
        "Please retry using a different ML instance type.",
        CAP,
    ),
    ("InsufficientCapacityError: no capacity within the pending time", CAP),
    (
        "EC2InsufficientCapacityError: Instance type 'ml.g5.48xlarge' is temporarily unavailable in supported "
        "availability zones [euw1-az1]. Try again in a few minutes, or try a different instance type.",
        CAP,
    ),
    ("Insufficient notebook instance capacity. Retry later or with a different instance type.", CAP),
    ("Insufficient capacity error from EC2 while launching instances, retrying!", CAP),
    ("InsufficientInstanceCapacity: We currently do not have sufficient g4dn.xlarge capacity", CAP),
    ("CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources", CAP),
    ("Terminated by JobStateTimeLimit action due to reason: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", CAP),
    ("InternalServerError: We encountered an internal error. Please try again.", INF),
    ("InternalServerError: We encountered an internal error.  Please try again.", INF),
    ("Launched instance was unhealthy, replacing it!", INF),
    (
        "ValidationException: Invalid MaxWaitTimeInSeconds. It is only supported when spot is on",
        Verdict.REQUEST_INVALID,
    ),
    ("AlgorithmError: , exit code: 1", USR),
    ("AlgorithmError: Exit Code: 1", USR),
    ('AlgorithmError: ExecuteUserScriptError:\nExitCode 1\nErrorMessage "x"\nCommand "y"', USR),
    ("AlgorithmError: framework error: Traceback (most recent call last)", USR),
    ("AlgorithmError: , exit code: 132", Verdict.UNFIT_TYPE),
    ("AlgorithmError: , exit code: 137", Verdict.UNFIT_TYPE),
    (
        "ClientError: Please use an instance type with more memory, or reduce the size of job data processed "
        "on an instance.",
        Verdict.UNFIT_TYPE,
    ),
    (
        "ClientError: Artifact upload failed:ClientError: Out of Memory. Please use a larger instance",
        Verdict.UNFIT_TYPE,
    ),
    ("ClientError: Data download failed:Insufficient disk space", USR),
    ("ClientError: Data download failed:Unable to download object s3://b/k (AccessDenied: Access Denied)", USR),
    ("AlgorithmError: An error occurred (403) when calling the HeadObject operation: Forbidden", USR),
    ("Cannot pull algorithm container. Either the image does not exist or its permissions are incorrect.", USR),
    ("ClientError: Cannot pull algorithm container. Either the image does not exist", USR),
    ("ClientError: Please use a GPU instance for training", Verdict.UNFIT_TYPE),
    ("AlgorithmError: XGBoostError: std::bad_alloc: out_of_memory: CUDA error", Verdict.UNFIT_TYPE),
    ("AlgorithmError: RuntimeError: CUDA out of memory. Tried to allocate 2 GiB", Verdict.UNFIT_TYPE),
    (
        "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE - Service environment(s) associated with the job queue "
        "cannot meet the capacity requirement of the job.",
        Verdict.REQUEST_INVALID,
    ),
    ("MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED", Verdict.REQUEST_INVALID),
    (
        "PREEMPTION_IN_PROGRESS: Cross-share preemption triggered to reclaim borrowed capacity",
        Verdict.SPOT_INTERRUPTION,
    ),
    ("Received status from SageMaker: ValidationException: nothing of the kind", Verdict.REQUEST_INVALID),
    ("Received status from SageMaker:InternalServerError: We encountered an internal error.", INF),
    ("Received status from SageMaker: ThrottlingException: Rate exceeded", Verdict.THROTTLED),
    (
        "Received status from SageMaker: ResourceLimitExceeded: "
        + QUOTA.format(name="ml.p5.48xlarge for training job usage", limit=0, used=0, delta=1),
        Verdict.QUOTA_ZERO,
    ),
]


@pytest.mark.parametrize(("reason", "verdict"), REASONS)
def test_a_known_text_has_its_meaning(reason: str, verdict: Verdict) -> None:
    judgement = judge_reason(reason)
    assert judgement.verdict is verdict
    assert reason.endswith(judgement.text)


@pytest.mark.parametrize(
    "said", ["CapacityError: none left", "InternalServerError", "ThrottlingException", "ResourceLimitExceeded: 0"]
)
def test_what_a_script_prints_is_the_scripts_own(said: str) -> None:
    assert judge_reason(f"AlgorithmError: {said}, exit code: 1").verdict is USR


def test_an_unknown_text_is_unknown_and_kept_word_for_word() -> None:
    assert judge_reason("Something  entirely new.") == Judgement(Verdict.UNKNOWN, "Something  entirely new.")


@pytest.mark.parametrize(
    ("text", "verdict", "named"),
    [
        (QUOTA.format(name="ml.p3.2xlarge for training job usage", limit=0, used=0, delta=1), Verdict.QUOTA_ZERO, True),
        (QUOTA.format(name="ml.p3.2xlarge for training job usage", limit=2, used=3, delta=1), Verdict.QUOTA_BUSY, True),
        (QUOTA.format(name="ml.p3.2xlarge for training job usage", limit=2, used=0, delta=4), Verdict.QUOTA_ZERO, True),
        (
            QUOTA.format(name="Number of instances across all processing jobs", limit=4, used=0, delta=11),
            Verdict.QUOTA_ZERO,
            False,
        ),
        ("service limit for training-job/ml.p3.2xlarge is 0 Instances, with current", Verdict.QUOTA_ZERO, True),
        (
            "The requested resource training-job/ml.p3.2xlarge is not available in this region",
            Verdict.TYPE_UNAVAILABLE,
            True,
        ),
        ("You have reached some other limit.", Verdict.QUOTA_BUSY, False),
    ],
)
def test_one_error_code_covers_quotas_that_pass_and_those_that_do_not(text: str, verdict: Verdict, named: bool) -> None:
    judgement = judge_quota(text)
    assert judgement == Judgement(verdict, text, "ml.p3.2xlarge" if named else None)


def test_a_job_that_is_too_big_by_itself_never_fits():
    text = "The request delta of 1025 GBs for 'Size of EBS volume for a processing job instance' is greater than the "
    text += "account-level service-limit of 1024 GBs. Please use AWS Service Quotas to request an increase."
    assert judge_quota(text).verdict is Verdict.QUOTA_ZERO


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
