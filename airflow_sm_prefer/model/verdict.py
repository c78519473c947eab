"""What an ended or refused attempt means.

SageMaker says why a job ended in statuses and in a text of the form ``<Class>: <words>``. The class decides, and
texts are matched at their start: what follows ``AlgorithmError:`` is the user's own and may contain any word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from airflow_sm_prefer.model.job import Observation


class Verdict(StrEnum):
    """What an attempt's end means for what comes next."""

    SUCCEEDED = "succeeded"
    CAPACITY = "capacity"
    QUOTA_BUSY = "quota_busy"
    QUOTA_ZERO = "quota_zero"
    TYPE_UNAVAILABLE = "type_unavailable"
    QUEUE_UNFIT = "queue_unfit"
    QUEUE_REFUSED = "queue_refused"
    THROTTLED = "throttled"
    INFRASTRUCTURE = "infrastructure"
    SPOT_INTERRUPTION = "spot_interruption"
    UNFIT_TYPE = "unfit_type"
    USER_ERROR = "user_error"
    REQUEST_INVALID = "request_invalid"
    LIMIT_REACHED = "limit_reached"
    STOPPED = "stopped"
    LOST = "lost"
    CREDENTIALS = "credentials"
    UNREACHABLE = "unreachable"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and the words it stands on.

    Attributes:
        verdict: What it means.
        text: AWS's own words, or ours where AWS said nothing.
        instance_type: The type that the text names, for a quota or a type that a Region lacks.
    """

    verdict: Verdict
    text: str
    instance_type: str | None = None


#: What Batch, and SDKs, put before SageMaker's own words.
_PREAMBLE = re.compile(r"^Received status from SageMaker:\s*")
_SDK_PREAMBLE = re.compile(r"^An error occurred \((?P<code>\w+)\) when calling the \w+ operation( \([^)]*\))?: ")

#: Ends of a user's script that say that the machine was too small for it: killed for its memory, or no memory left.
_OUT_OF_MEMORY = (
    r"exit ?code\s*:?\s*(137|-9)\b|\bSIGKILL\b|OutOfMemoryError|CUDA (error: )?out of memory|out_of_memory: CUDA"
    r"|CUDA_ERROR_OUT_OF_MEMORY|CUBLAS_STATUS_ALLOC_FAILED|ResourceExhaustedError: OOM"
    r"|RESOURCE_EXHAUSTED: Out of memory|MemoryError\b|Cannot allocate memory|can't allocate memory"
)

#: And that it was of the wrong kind: instructions that the processor lacks, no accelerator or another generation of it.
_WRONG_KIND = (
    r"exit ?code\s*:?\s*(132|-4)\b|\bSIGILL\b|illegal instruction|no kernel image is available"
    r"|CUDA driver version is insufficient|Found no NVIDIA driver|no CUDA-capable device"
    r"|only supports? \w+ GPUs or newer"
)

#: Matched at the start of a FailureReason or a Batch status reason; the first that fits decides.
_REASONS: tuple[tuple[re.Pattern[str], Verdict], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), verdict)
    for pattern, verdict in (
        (r"\w*CapacityError\b|(Server\.)?Insufficient\w*Capacity\b", Verdict.CAPACITY),
        (r"Insufficient[\w ]* capacity\b|Unable to provision requested ML compute capacity", Verdict.CAPACITY),
        (r"(Terminated by JobStateTimeLimit action due to reason: )?CAPACITY:", Verdict.CAPACITY),
        (r"(Terminated by JobStateTimeLimit action due to reason: )?MISCONFIGURATION:", Verdict.QUEUE_UNFIT),
        (r"Internal(Server|Service)?(Error|Failure|Exception)\b|ServiceUnavailable", Verdict.INFRASTRUCTURE),
        (r"Launched instance was unhealthy|Request to service failed", Verdict.INFRASTRUCTURE),
        (r"(PREEMPTION_IN_PROGRESS: )?(Cross|In)-share preemption\b", Verdict.SPOT_INTERRUPTION),
        (r"(Service )?[Jj]ob attempt duration exceeded|\w*MaxRuntimeExceeded\b", Verdict.LIMIT_REACHED),
        (r"(Training job )?(was )?[Ss]topped\b", Verdict.STOPPED),
        (r"Throttling(Exception)?\b|Rate exceeded", Verdict.THROTTLED),
        (r"ResourceLimitExceeded\b", Verdict.QUOTA_BUSY),
        (r"(ValidationException|AccessDenied(Exception)?)\b", Verdict.REQUEST_INVALID),
        (
            r"ClientError:[\s\S]*(more memory|out of memory|larger instance|use a GPU instance)",
            Verdict.UNFIT_TYPE,
        ),
        (r"ClientError\b", Verdict.USER_ERROR),
        (r"Cannot pull algorithm container", Verdict.USER_ERROR),
        # The accelerator is broken, which no other word of a script's would say.
        (r"AlgorithmError:[\s\S]*uncorrectable ECC error", Verdict.INFRASTRUCTURE),
        (rf"AlgorithmError:[\s\S]*({_OUT_OF_MEMORY}|{_WRONG_KIND})", Verdict.UNFIT_TYPE),
        (r"(AlgorithmError|ExecuteUserScriptError|FrameworkError)\b", Verdict.USER_ERROR),
    )
)

#: No literal is documented for a pending limit that ended a job; its siblings are MaxRuntimeExceeded and
#: MaxWaitTimeExceeded, and AWS Batch speaks of a secondary status that "timed out in pending".
_PENDING_LIMIT = re.compile(r"Pending.*(Exceeded|Timeout|TimedOut)|MaxPending", re.IGNORECASE)


def judge_reason(reason: str) -> Judgement:
    """Judge a FailureReason or a Batch status reason; a text that nothing fits is UNKNOWN, word for word."""
    words = _SDK_PREAMBLE.sub(r"\g<code>: ", _PREAMBLE.sub("", reason.strip()))
    for pattern, verdict in _REASONS:
        if pattern.match(words):
            return judge_quota(reason) if verdict is Verdict.QUOTA_BUSY else Judgement(verdict, reason)
    return Judgement(Verdict.UNKNOWN, reason)


def judge_end(seen: Observation, *, max_pending: float | None = None, max_runtime: float | None = None) -> Judgement:
    """Judge a job that is over and that we did not stop.

    Args:
        seen: The job, in a terminal status.
        max_pending: The MaxPendingTimeInSeconds that it was sent with, in real seconds, if it was.
        max_runtime: Its MaxRuntimeInSeconds, in real seconds. Processing jobs have no secondary status that would
            tell a limit from a person's stop.
    """
    if seen.status == "Completed":
        return Judgement(Verdict.SUCCEEDED, "the job completed")
    if seen.status == "Failed":
        return judge_reason(seen.failure_reason) if seen.failure_reason else _no_reason(seen)
    return _judge_stopped(seen, max_pending, max_runtime)


def _no_reason(seen: Observation) -> Judgement:
    return Judgement(Verdict.UNKNOWN, f"the job is {seen.status}, and AWS gave no reason")


def _judge_stopped(seen: Observation, max_pending: float | None, max_runtime: float | None) -> Judgement:
    """Tell the five ways to Stopped apart; none of them is a success."""
    secondary = seen.secondary or ""
    said = f"the job is Stopped ({secondary})" if secondary not in {"", "Stopped"} else "the job is Stopped"
    if _PENDING_LIMIT.search(secondary):
        return Judgement(Verdict.CAPACITY, said)
    if secondary == "MaxWaitTimeExceeded":
        verdict = Verdict.SPOT_INTERRUPTION if seen.has_capacity else Verdict.CAPACITY
        return Judgement(verdict, said)
    if secondary == "MaxRuntimeExceeded" or _lasted(seen.capacity_at, seen.ended, max_runtime):
        return Judgement(Verdict.LIMIT_REACHED, f"{said}: it ran into its MaxRuntimeInSeconds")
    if not seen.has_capacity and _lasted(seen.created, seen.ended, max_pending):
        return Judgement(Verdict.CAPACITY, f"{said} without having started, at the end of its pending limit")
    reason = f": {seen.failure_reason}" if seen.failure_reason else ""
    return Judgement(Verdict.STOPPED, f"{said}: somebody stopped it{reason}")


def _lasted(start: float | None, end: float | None, limit: float | None) -> bool:
    """Whether a span is as long as its limit; AWS's own clock may be a second short of it."""
    return start is not None and end is not None and limit is not None and end - start >= limit - 1.0


_QUOTA = re.compile(
    r"service limit (?:'[^']+'|for \S+) is (?P<limit>\d+) \w+(?:.*?delta of (?P<delta>\d+) \w+)?", re.DOTALL
)
_TOO_BIG = re.compile(
    r"request delta of \d+ \w+ for '[^']+' is greater than the account-level service-limit", re.IGNORECASE
)
_NOT_IN_REGION = re.compile(r"requested resource (?P<resource>\S+) is not available in this region", re.IGNORECASE)
_TYPE = re.compile(r"\bml\.[a-z0-9-]+\.[a-z0-9]+\b")


def judge_quota(text: str) -> Judgement:
    """Judge a ResourceLimitExceeded text, which covers three cases of very different consequence.

    A limit that is smaller than the request will never do (zero); one that is only used up will, some time (busy);
    and a type that the Region lacks comes under the same code and never will.
    """
    named = _TYPE.search(text)
    instance_type = named.group(0) if named else None
    if _NOT_IN_REGION.search(text):
        return Judgement(Verdict.TYPE_UNAVAILABLE, text, instance_type)
    if _TOO_BIG.search(text):
        return Judgement(Verdict.QUOTA_ZERO, text, instance_type)
    quota = _QUOTA.search(text)
    if quota is None:
        return Judgement(Verdict.QUOTA_BUSY, text, instance_type)
    limit, delta = int(quota["limit"]), int(quota["delta"] or 1)
    return Judgement(Verdict.QUOTA_ZERO if delta > limit else Verdict.QUOTA_BUSY, text, instance_type)
