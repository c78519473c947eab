"""From a training request to the request of a service job, which goes through a job queue of AWS Batch.

Batch looks at none of the payload before it dispatches the job, and counts instances by what the payload says. The
rules are AWS's: https://docs.aws.amazon.com/batch/latest/userguide/service-job-payload.html and
https://docs.aws.amazon.com/batch/latest/userguide/service_limits.html
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from airflow_sm_prefer.errors import InvalidRequest
from airflow_sm_prefer.model.preference import Queue
from airflow_sm_prefer.model.written import request_refused, shown
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name, task_marker

#: What Batch leaves of a training job's 63 characters: it puts ``AWSBatch`` before the name, and 32 digits behind it.
INNER_NAME_LIMIT = 23

#: How large a payload may be, in bytes, and the whole request.
PAYLOAD_LIMIT = 10 * 1024
REQUEST_LIMIT = 30 * 1024

#: Tags that a service job can have, and how long they may be (API reference, ``TagrisTagsMap``).
TAGS_LIMIT = 50
TAG_KEY_LIMIT = 128
TAG_VALUE_LIMIT = 256


@dataclass(frozen=True, slots=True)
class Terms:
    """What every service job of a task is submitted with, in AWS's own shapes.

    Attributes:
        priority: The scheduling priority, 0 to 9999; None leaves it out.
        retry_strategy: How often Batch itself tries, and after what.
        timeout: How long one attempt may take.
        preemption: How often a job may be preempted before it fails.
        tags: The author's tags.
    """

    priority: int | None = None
    retry_strategy: Mapping[str, Any] | None = None
    timeout: Mapping[str, Any] | None = None
    preemption: Mapping[str, Any] | None = None
    tags: Mapping[str, str] = field(default_factory=dict)


def inner_name(identity: TaskIdentity, submission: int) -> str:
    """Name the training job in a payload; Batch makes it unique, attempt by attempt."""
    name = job_name(identity, "", submission, limit=INNER_NAME_LIMIT)
    return name if len(name) <= INNER_NAME_LIMIT else task_marker(identity)


def client_token(identity: TaskIdentity, submission: int) -> str:
    """Return the token of a task instance's nth submission: AWS takes a job with it once, whoever sends it."""
    fields = (*identity.fields, str(submission))
    return hashlib.sha256("\0".join(fields).encode()).hexdigest()


def service_request(
    training: Mapping[str, Any], queue: Queue, terms: Terms, *, name: str, token: str, priority: int | None
) -> dict[str, Any]:
    """Return the SubmitServiceJob request for a training job.

    Args:
        training: The CreateTrainingJob request, whose name is short enough for Batch.
        queue: Where it waits.
        terms: What else it is submitted with.
        name: The service job's name.
        token: Its client token.
        priority: Its scheduling priority; None leaves it out.

    Raises:
        InvalidRequest: it is larger than Batch takes, or has more tags.
    """
    payload = {key: value for key, value in training.items() if key != "Tags"}
    tags = {**terms.tags, **{tag["Key"]: tag["Value"] for tag in training.get("Tags", ())}}
    optional = {
        "retryStrategy": terms.retry_strategy,
        "schedulingPriority": priority,
        "shareIdentifier": queue.share_identifier,
        "quotaShareName": queue.quota_share,
        "preemptionConfiguration": terms.preemption,
        "timeoutConfig": terms.timeout,
    }
    request = {
        "jobName": name,
        "jobQueue": queue.name,
        "serviceJobType": "SAGEMAKER_TRAINING",
        "serviceRequestPayload": json.dumps(payload, separators=(",", ":"), default=str),
        "tags": tags,
        "clientToken": token,
        **{key: value for key, value in optional.items() if value is not None},
    }
    _check_tags(tags)
    _check_sizes(request)
    return request


def _check_tags(tags: Mapping[str, str]) -> None:
    """Check what tags a service job takes (Batch user guide, *Tag restrictions*)."""
    if len(tags) > TAGS_LIMIT:
        problem = f"has {len(tags)} tags through a job queue, ours among them, and a service job takes {TAGS_LIMIT}"
        raise request_refused("Tags", problem, "Leave some away.")
    for key, value in tags.items():
        if not 1 <= len(key) <= TAG_KEY_LIMIT or key.lower().startswith("aws:") or len(value) > TAG_VALUE_LIMIT:
            remedy = (
                f"A key has 1 to {TAG_KEY_LIMIT} characters, not aws: first, and a value {TAG_VALUE_LIMIT} at most."
            )
            raise request_refused("Tags", f"has {shown({key: value})}, and AWS Batch doesn't take that", remedy)


def _check_sizes(request: Mapping[str, Any]) -> None:
    size = len(request["serviceRequestPayload"].encode())
    if size > PAYLOAD_LIMIT:
        raise _too_large("is", size, PAYLOAD_LIMIT)
    whole = len(json.dumps(dict(request)).encode())
    if whole > REQUEST_LIMIT:
        raise _too_large("is, with its tags and all,", whole, REQUEST_LIMIT)


def _too_large(how: str, size: int, limit: int) -> InvalidRequest:
    msg = (
        f"config: the request {how} {size:,} bytes as JSON, and AWS Batch takes {limit:,}.\n"
        "Shorten HyperParameters and Environment: put what is long into a file in an input channel."
    )
    return InvalidRequest(msg)
