"""From a failed call to what the machine hears of it."""

from __future__ import annotations

from airflow_sm_prefer.aws.failures import CallFailure, FailureKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict, judge_quota
from airflow_sm_prefer.placement.events import NoAnswer, Refused, Unseen

#: What a failed create means where AWS did answer.
_REFUSALS = {
    FailureKind.THROTTLED: Verdict.THROTTLED,
    FailureKind.INVALID: Verdict.REQUEST_INVALID,
    FailureKind.DENIED: Verdict.REQUEST_INVALID,
    FailureKind.NOT_FOUND: Verdict.REQUEST_INVALID,
    FailureKind.CREDENTIALS: Verdict.CREDENTIALS,
    FailureKind.NETWORK: Verdict.UNREACHABLE,
    FailureKind.SERVER: Verdict.UNREACHABLE,
}

#: What a failed look at a job means.
_UNSEEN = {
    FailureKind.NOT_FOUND: Verdict.LOST,
    FailureKind.CREDENTIALS: Verdict.CREDENTIALS,
    FailureKind.DENIED: Verdict.CREDENTIALS,
}


def create_failed(failure: CallFailure) -> Refused | NoAnswer:
    """Say what a failed create means; a name in use is not for here: whose the job is has to be looked up."""
    if failure.kind in {FailureKind.NETWORK, FailureKind.SERVER, FailureKind.OTHER} and failure.no_answer:
        return NoAnswer(str(failure))
    if failure.kind is FailureKind.LIMIT_EXCEEDED:
        return Refused(judge_quota(failure.message))
    if failure.code == "ClientException":
        # Batch's, who has no other for what a queue doesn't take
        return Refused(Judgement(Verdict.QUEUE_REFUSED, f"{failure.code}: {failure.message}"))
    verdict = _REFUSALS.get(failure.kind, Verdict.UNKNOWN)
    return Refused(Judgement(verdict, f"{failure.code}: {failure.message}"))


def look_failed(failure: CallFailure) -> Unseen:
    """Say what a failed Describe means: none of these says anything about the job itself."""
    verdict = _UNSEEN.get(failure.kind, Verdict.UNREACHABLE)
    return Unseen(Judgement(verdict, str(failure)))
