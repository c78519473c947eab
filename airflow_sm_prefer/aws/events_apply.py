"""Making the rule and the queues that events about jobs come through, as deploy/events.yaml does."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final

from airflow_sm_prefer.aws.calls import call
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.model.job_events import PATTERN

#: Of each queue. An event that is an hour old helps nobody: by then its job was found by polling.
_ATTRIBUTES: Final = {
    "SqsManagedSseEnabled": "true",
    "MessageRetentionPeriod": "3600",
    "ReceiveMessageWaitTimeSeconds": "20",
}

#: How long EventBridge tries to reach a queue.
_RETRIES: Final = {"MaximumEventAgeInSeconds": 300, "MaximumRetryAttempts": 10}

#: Characters of a target's id (https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_Target.html).
_LONGEST_ID: Final = 64

_DESCRIPTION: Final = "What happens to SageMaker's jobs and AWS Batch's service jobs, for the triggerers of an Airflow."


def apply_events(sqs: Any, events: Any, rule: str, queues: Sequence[str]) -> Iterator[str]:
    """Make a rule on the default bus and its queues, or make those that are there as they should be.

    Safe to repeat. Nothing is deleted: a queue that was the rule's target before goes on being one.

    Args:
        sqs: A boto3 ``sqs`` client.
        events: A boto3 ``events`` client.
        rule: The rule's name.
        queues: The queues' names; EventBridge allows a rule five targets.

    Yields:
        What was done, a line for each of them.

    Raises:
        CallFailed: AWS refused something, or didn't answer; what was done before stays done.
    """
    done, rule_arn = _rule(events, rule)
    yield f"The rule {rule} {done}."
    targets = []
    for name in queues:
        done, arn = _queue(sqs, name, rule_arn)
        yield f"The queue {name} {done}."
        targets.append({"Id": name[-_LONGEST_ID:], "Arn": arn, "RetryPolicy": _RETRIES})
    answer = call(events.put_targets, Rule=rule, Targets=targets)
    for refused in answer.get("FailedEntries") or ():
        code, message = refused.get("ErrorCode", "Unknown"), f"{refused.get('TargetId')}: {refused.get('ErrorMessage')}"
        raise CallFailed(CallFailure(FailureKind.OTHER, code, message, "PutTargets"))


def _rule(events: Any, name: str) -> tuple[str, str]:
    """Return what was done about the rule, and its ARN."""
    try:
        found = call(events.describe_rule, Name=name)
    except CallFailed as failed:
        if failed.failure.kind is not FailureKind.NOT_FOUND:
            raise
        found = None
    if found and found.get("State") == "ENABLED" and json.loads(found.get("EventPattern") or "null") == PATTERN:
        return "is as it should be", found["Arn"]
    arn: str = call(
        events.put_rule, Name=name, EventPattern=json.dumps(PATTERN), State="ENABLED", Description=_DESCRIPTION
    )["RuleArn"]
    return "was changed" if found else "was made", arn


def _queue(sqs: Any, name: str, rule_arn: str) -> tuple[str, str]:
    """Return what was done about a queue, and its ARN."""
    url, is_new = _url(sqs, name)
    found = call(sqs.get_queue_attributes, QueueUrl=url, AttributeNames=["All"])["Attributes"]
    arn: str = found["QueueArn"]
    policy = _policy(arn, rule_arn)
    is_right = json.loads(found.get("Policy") or "null") == policy
    if not is_right or any(found.get(key) != value for key, value in _ATTRIBUTES.items()):
        call(sqs.set_queue_attributes, QueueUrl=url, Attributes={**_ATTRIBUTES, "Policy": json.dumps(policy)})
        return "was made" if is_new else "was changed", arn
    return "is as it should be", arn


def _url(sqs: Any, name: str) -> tuple[str, bool]:
    """Return a queue's URL, and whether it had to be made."""
    try:
        url: str = call(sqs.get_queue_url, QueueName=name)["QueueUrl"]
    except CallFailed as failed:
        if failed.failure.kind is not FailureKind.NOT_FOUND:
            raise
        url = call(sqs.create_queue, QueueName=name, Attributes=_ATTRIBUTES)["QueueUrl"]
        return url, True
    return url, False


def _policy(queue_arn: str, rule_arn: str) -> dict[str, Any]:
    """Return who may do what with a queue: only EventBridge may write to it, and only for the rule."""
    return {
        "Version": "2012-10-17",
        "Statement": [
            {
                "Sid": "FromTheRule",
                "Effect": "Allow",
                "Principal": {"Service": "events.amazonaws.com"},
                "Action": "sqs:SendMessage",
                "Resource": queue_arn,
                "Condition": {"ArnEquals": {"aws:SourceArn": rule_arn}},
            },
            {
                "Sid": "EncryptedOnly",
                "Effect": "Deny",
                "Principal": "*",
                "Action": "sqs:*",
                "Resource": queue_arn,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
            },
        ],
    }
