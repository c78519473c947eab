"""EventBridge's events about jobs, read as hints to look at one.

An event is never the truth: it may be lost, doubled, late, out of order or forged. So nothing is taken from it but
which job to look at, whether it says that the job is over, and when that was. Whatever is in a message, reading it
raises nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from airflow_sm_prefer.model.job import TERMINAL_STATUSES, JobKind
from airflow_sm_prefer.model.service_job import TERMINAL as SERVICE_JOB_ENDS
from airflow_sm_prefer.model.service_job import seconds

#: By ``detail-type``, what a job of SageMaker's own is
#: (https://docs.aws.amazon.com/sagemaker/latest/dg/automating-sagemaker-with-eventbridge.html).
_KINDS: Final = {f"SageMaker {kind.word} Job State Change": kind for kind in JobKind}

#: How the ``detail-type`` of a service job's events begins: of its states, and of its queue's blocks and preemptions
#: (https://docs.aws.amazon.com/batch/latest/userguide/service-job-events.html).
_OF_SERVICE_JOBS: Final = "Batch Service Job "

#: What the names of all jobs have that this package submits, of whatever Airflow, as EventBridge matches texts
#: (https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html).
_OURS: Final = [{"wildcard": "*smp*"}]

#: Which events are worth having: the pattern of an EventBridge rule. Nobody waits for jobs with other names. Of those
#: with ours all changes are: each status is told in the task's log, and without its event it would be told later.
PATTERN: Final[Mapping[str, Any]] = {
    "source": ["aws.sagemaker", "aws.batch"],
    "detail-type": [*_KINDS, f"{_OF_SERVICE_JOBS}State Change"],
    "detail": {"$or": [*({kind.name_key: _OURS} for kind in JobKind), {"jobName": _OURS}]},
}

#: CreateTrainingJob's rule for names; CreateProcessingJob's is the same.
_NAME: Final = re.compile(r"[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}")

_SERVICE_JOB_ARN: Final = re.compile(
    r"arn:aws[a-z-]{0,20}:batch:[a-z0-9-]{1,32}:[0-9]{12}:service-job/[\w-]{1,128}", re.A
)

#: Between which an instant makes sense, in seconds since 1970: from 2001 to where datetimes end.
_FIRST: Final = 1e9
_LAST: Final = 253_402_300_799.0

#: Characters of a message that is read: the longest request with all its tags is shorter. SQS lets a message have twice
#: as many, and to read those would hold up everything else in the process.
_LONGEST: Final = 2**19


@dataclass(frozen=True, slots=True)
class Hint:
    """A reason to look at a job.

    Attributes:
        handle: What AWS calls the job by: the name of one of SageMaker's own, the ARN of a service job. It may be
            anybody's job, or none.
        is_over: Whether the event says that the job is over.
        at: When the job changed, in seconds since 1970 by AWS's clock; None where the event doesn't say.
    """

    handle: str
    is_over: bool
    at: float | None


def read_hint(body: str) -> Hint | None:
    """Read the body of an SQS message: an event as EventBridge sends it, or one that came through an SNS topic.

    Returns:
        None where it is no event about a job, or can't be read.
    """
    event = _object(body)
    if event.get("Type") == "Notification":
        event = _object(event.get("Message"))
    title, detail = event.get("detail-type"), event.get("detail")
    if not isinstance(title, str) or not isinstance(detail, dict):
        return None
    if event.get("source") == "aws.sagemaker" and title in _KINDS:
        return _of_sagemaker(_KINDS[title], event, detail)
    if event.get("source") == "aws.batch" and title.startswith(_OF_SERVICE_JOBS):
        return _of_service_job(event, detail)
    return None


def _of_sagemaker(kind: JobKind, event: Mapping[str, Any], detail: Mapping[str, Any]) -> Hint | None:
    name, status = detail.get(kind.name_key), detail.get(kind.status_key)
    if not (isinstance(name, str) and _NAME.fullmatch(name)):
        return None
    changed = _instant(detail.get("LastModifiedTime"))
    return Hint(name, status in tuple(TERMINAL_STATUSES), _time(event) if changed is None else changed)


def _of_service_job(event: Mapping[str, Any], detail: Mapping[str, Any]) -> Hint | None:
    arn, status = detail.get("jobArn") or detail.get("preemptedJobArn"), detail.get("status")
    if not (isinstance(arn, str) and _SERVICE_JOB_ARN.fullmatch(arn)):
        return None
    is_over = status in tuple(SERVICE_JOB_ENDS)
    stopped = _instant(detail.get("stoppedAt")) if is_over else None
    return Hint(arn, is_over, _time(event) if stopped is None else stopped)


def _object(text: Any) -> dict[str, Any]:
    """Return the JSON object that a text is; an empty one where it is none."""
    try:
        found = json.loads(text) if isinstance(text, str) and len(text) <= _LONGEST else None
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _instant(value: Any) -> float | None:
    """Read an instant of an event's detail: a number, or one in a string as in AWS's samples."""
    try:
        instant = seconds(float(value)) if isinstance(value, int | float | str) else None
    except (ValueError, OverflowError):
        return None
    return instant if instant is not None and _FIRST <= instant <= _LAST else None


def _time(event: Mapping[str, Any]) -> float | None:
    """Read when EventBridge's event was, to the second."""
    try:
        return datetime.fromisoformat(event.get("time", "")).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None
