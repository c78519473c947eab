"""The queue of AWS Batch that an entry of a preference list names, read from what was written.

The rules are AWS's: https://docs.aws.amazon.com/batch/latest/APIReference/API_SubmitServiceJob.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from airflow_sm_prefer.model.preference import CapacityKind, Queue
from airflow_sm_prefer.model.written import refused, shown

#: What an entry may say of its queue: the names of SubmitServiceJob's parameters, as AWS's dicts write them.
QUEUE_KEYS = frozenset({"JobQueue", "ShareIdentifier", "QuotaShareName"})

#: A queue's name, or its ARN.
_QUEUE = re.compile(r"[A-Za-z0-9_-]{1,128}|arn:aws[a-z-]*:batch:[a-z0-9-]+:\d{12}:job-queue/[A-Za-z0-9_-]{1,128}")

#: What a share identifier is made of (API reference, ``ShareAttributes``), and the name of a quota share.
_SHARE_IDENTIFIER = re.compile(r"[A-Za-z0-9]{1,255}")
_QUOTA_SHARE = re.compile(r"[A-Za-z0-9_-]{1,128}")

_HOW_TO_WRITE = 'Write it as queued("ml.…", job_queue="…"), or give the operator a job_queue'


@dataclass(frozen=True, slots=True)
class Queues:
    """What an operator says about queues beside its list.

    Attributes:
        default: The queue of entries that name neither a queue nor a kind of capacity; None sends them to SageMaker.
    """

    default: Queue | None = None


def read_queue(values: Mapping[str, Any], place: str, queues: Queues | None, kind: CapacityKind) -> Queue | None:
    """Read which queue an entry waits in.

    Args:
        values: The entry as it was written.
        place: Where it stands, as messages name it.
        queues: What the operator says about queues; None where it knows none.
        kind: The kind of capacity that the entry asks for.

    Returns:
        None for an entry that goes to SageMaker itself.

    Raises:
        InvalidPreference: what it says can't work.
    """
    default = queues.default if queues is not None else None
    if QUEUE_KEYS.isdisjoint(values):
        return default if "Capacity" not in values else None
    if queues is None:
        remedy = "Use BatchPreferTrainingOperator, or take the queue away."
        raise refused(place, "it is for a job queue, and this operator knows none", remedy)
    if kind is CapacityKind.SPOT:
        remedy = "AWS Batch's queues hold On-Demand and training-plan capacity; write spot(…) without a queue."
        raise refused(place, "it asks for spot capacity through a queue", remedy)
    written = {key: values[key] for key in sorted(QUEUE_KEYS) if values.get(key) is not None}
    if "JobQueue" not in written and default is None:
        raise refused(place, "it is for a job queue and doesn't say for which", f"{_HOW_TO_WRITE}.")
    return _queue(written, place, default)


def check_queue(queue: Queue, place: str) -> Queue:
    """Check the form of a queue's name and its share's; returns it.

    Raises:
        InvalidPreference: a name can't be one, or there are two shares.
    """
    if not _QUEUE.fullmatch(queue.name):
        problem = f"its JobQueue is {shown(queue.name)}"
        raise refused(place, problem, "Give the name of a job queue, or its ARN: letters, digits, - and _ make a name.")
    if queue.share_identifier is not None and queue.quota_share is not None:
        problem = f"it has the share identifier {queue.share_identifier!r} and the quota share {queue.quota_share!r}"
        remedy = "A queue with a fair-share policy takes a share identifier, one that manages quotas a quota share."
        raise refused(place, problem, remedy)
    _check_name(queue.share_identifier, _SHARE_IDENTIFIER, "ShareIdentifier", "255 letters and digits", place)
    _check_name(queue.quota_share, _QUOTA_SHARE, "QuotaShareName", "128 letters, digits, - and _", place)
    return queue


def _queue(written: Mapping[str, Any], place: str, default: Queue | None) -> Queue:
    """Put together what the entry says and, where it names no queue or only repeats it, what the operator says."""
    for key, value in written.items():
        if not isinstance(value, str):
            raise refused(place, f"its {key} is {shown(value)}", "It has to be a string.")
    name = str(written.get("JobQueue", default.name if default else "")).strip()
    shares = (written.get("ShareIdentifier"), written.get("QuotaShareName"))
    queue = Queue(name, *shares)
    if default is not None and shares == (None, None) and name == default.name:
        queue = replace(queue, share_identifier=default.share_identifier, quota_share=default.quota_share)
    return check_queue(queue, place)


def _check_name(value: str | None, form: re.Pattern[str], key: str, made_of: str, place: str) -> None:
    if value is not None and not form.fullmatch(value):
        raise refused(place, f"its {key} is {shown(value)}", f"AWS takes 1 to {made_of} there.")
