"""From a verdict to the exception that a task fails with."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import AirflowFailException

from airflow_sm_prefer import errors
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement import telling


class NotRetried(AirflowFailException):
    """The same input will fail the same way, so Airflow doesn't retry it."""


class InvalidTask(NotRetried, errors.InvalidInput):
    """What was rendered can't work; nothing was sent."""


class RequestRejected(NotRetried, errors.RequestRejected):
    """AWS refused the request, and would again."""


_EXCEPTIONS: dict[Verdict, type[errors.JobFailed]] = {
    Verdict.CAPACITY: errors.CapacityTimeout,
    Verdict.QUOTA_BUSY: errors.QuotaExceeded,
    Verdict.QUOTA_ZERO: errors.QuotaTooSmall,
    Verdict.TYPE_UNAVAILABLE: errors.QuotaTooSmall,
    Verdict.QUEUE_UNFIT: errors.QueueUnfit,
    Verdict.QUEUE_REFUSED: RequestRejected,
    Verdict.THROTTLED: errors.CapacityTimeout,
    Verdict.INFRASTRUCTURE: errors.InfrastructureFailure,
    Verdict.SPOT_INTERRUPTION: errors.InfrastructureFailure,
    Verdict.UNFIT_TYPE: errors.UnfitInstanceType,
    Verdict.USER_ERROR: errors.UserCodeError,
    Verdict.REQUEST_INVALID: RequestRejected,
    Verdict.LIMIT_REACHED: errors.LimitReached,
    Verdict.STOPPED: errors.JobStopped,
    Verdict.LOST: errors.JobLost,
    Verdict.CREDENTIALS: errors.CredentialsUnavailable,
    Verdict.UNREACHABLE: errors.CredentialsUnavailable,
}


def failure(judgement: Judgement, job_name: str) -> errors.JobFailed:
    """Return the exception for a verdict; its text names the job and has AWS's words, and what to do where we know."""
    kind = _EXCEPTIONS.get(judgement.verdict, errors.UnknownFailure)
    remedy = telling.remedy(judgement.verdict)
    text = f"{judgement.text}\n{remedy}" if remedy else judgement.text
    return kind(f"{job_name}: {text}" if job_name else text)
