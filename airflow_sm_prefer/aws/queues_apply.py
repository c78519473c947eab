"""Making queues what a file wants them to be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from airflow_sm_prefer.aws.calls import call
from airflow_sm_prefer.aws.queues_there import SAGEMAKER_TRAINING, QueuesReader, There
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.errors import SmPreferError
from airflow_sm_prefer.model.queues import (
    JobQueue,
    Key,
    Piece,
    QuotaShare,
    SchedulingPolicy,
    ServiceEnvironment,
    Sharing,
    called,
    key_of,
)
from airflow_sm_prefer.model.words import span
from airflow_sm_prefer.placement.queues_difference import Change

#: How long a piece may take to become valid, in seconds, and how often it is looked at meanwhile.
VALID_WITHIN: Final = 300.0
LOOK_EVERY: Final = 1.0


class NotValid(SmPreferError):
    """A piece was made or changed, and AWS Batch doesn't call it valid."""


class QueuesWriter:
    """Carries out changes, one after the other; each piece is valid before the next refers to it. Blocks.

    Raises, whatever is called:
        CallFailed: AWS refused a change, or didn't answer; what was done before stays done.
        NotValid: a piece is invalid, or isn't valid in time.
    """

    def __init__(self, client: Any, clock: Clock) -> None:
        """Take a boto3 ``batch`` client and the clock that is waited with."""
        self._client = client
        self._clock = clock
        self._reader = QueuesReader(client)
        self._arns: dict[Key, str] = {}

    def apply(self, change: Change, there: There) -> None:
        """Carry out one change and wait until the piece is valid."""
        self._arns |= {key: standing.arn for key, standing in there.standings.items() if key not in self._arns}
        key = key_of(change.wanted)
        if change.found is None:
            self._arns[key] = self._create(change.wanted, change.tags)
        else:
            self._update(change)
        self._wait(change.wanted, self._arns[key])

    def _create(self, piece: Piece, tags: Mapping[str, str]) -> str:
        operation, name_key, arn_key = _OPERATIONS[type(piece)]
        request = {name_key: piece.name, "tags": dict(tags), **self._request(piece)}
        if isinstance(piece, ServiceEnvironment):
            request["serviceEnvironmentType"] = SAGEMAKER_TRAINING
        elif isinstance(piece, JobQueue):
            request["jobQueueType"] = SAGEMAKER_TRAINING
        elif isinstance(piece, QuotaShare):
            request["jobQueue"] = piece.queue
        arn: str = call(self._method("create", operation), **request)[arn_key]
        return arn

    def _update(self, change: Change) -> None:
        operation, _, arn_key = _OPERATIONS[type(change.wanted)]
        arn = self._arns[key_of(change.wanted)]
        if change.fields:
            by = {ServiceEnvironment: "serviceEnvironment", JobQueue: "jobQueue"}.get(type(change.wanted), arn_key)
            call(self._method("update", operation), **{by: arn}, **self._request(change.wanted))
        if change.tags:
            call(self._client.tag_resource, resourceArn=arn, tags=dict(change.tags))

    def _method(self, verb: str, operation: str) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(self._client, f"{verb}_{operation}")
        return method

    def _request(self, piece: Piece) -> dict[str, Any]:
        """Return what creating and updating a piece have in common."""
        if isinstance(piece, SchedulingPolicy):
            return _policy(piece)
        state = {"state": "ENABLED" if piece.enabled else "DISABLED"}
        if isinstance(piece, ServiceEnvironment):
            return {**state, "capacityLimits": _limits(piece.instances)}
        return {**state, **(self._queue(piece) if isinstance(piece, JobQueue) else _share(piece))}

    def _queue(self, queue: JobQueue) -> dict[str, Any]:
        request: dict[str, Any] = {
            "priority": queue.priority,
            "serviceEnvironmentOrder": [
                {"order": 1, "serviceEnvironment": self._arns[ServiceEnvironment, "", queue.environment]}
            ],
            "jobStateTimeLimitActions": [
                {"reason": reason, "state": "RUNNABLE", "maxTimeSeconds": seconds, "action": "TERMINATE"}
                for reason, seconds in queue.time_limits.items()
            ],
        }
        if queue.policy is not None:
            request["schedulingPolicyArn"] = self._arns[SchedulingPolicy, "", queue.policy]
        return request

    def _wait(self, piece: Piece, arn: str) -> None:
        give_up = self._clock.time() + VALID_WITHIN
        while (standing := self._reader.standing(piece, arn)).status != "VALID":
            if standing.status == "INVALID":
                msg = f"{called(piece)} is invalid: {standing.reason or 'AWS Batch says no more.'}"
                raise NotValid(msg)
            if self._clock.time() >= give_up:
                msg = f"{called(piece)} is still {standing.status} after {span(VALID_WITHIN)}. Run this again later."
                raise NotValid(msg)
            self._clock.sleep(LOOK_EVERY)


#: By class: the operation behind ``create_`` and ``update_``, the key of the name, and that of the ARN.
_OPERATIONS: dict[type[Piece], tuple[str, str, str]] = {
    ServiceEnvironment: ("service_environment", "serviceEnvironmentName", "serviceEnvironmentArn"),
    SchedulingPolicy: ("scheduling_policy", "name", "arn"),
    JobQueue: ("job_queue", "jobQueueName", "jobQueueArn"),
    QuotaShare: ("quota_share", "quotaShareName", "quotaShareArn"),
}


def _limits(instances: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"capacityUnit": unit, "maxCapacity": count} for unit, count in instances.items()]


def _policy(policy: SchedulingPolicy) -> dict[str, Any]:
    share = policy.fair_share
    if share is None:
        return {"quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}
    weights = [{"shareIdentifier": name, "weightFactor": weight} for name, weight in share.weights.items()]
    return {
        "fairsharePolicy": {
            "shareDecaySeconds": share.decay,
            "computeReservation": share.reservation,
            "shareDistribution": weights,
        }
    }


def _share(share: QuotaShare) -> dict[str, Any]:
    sharing: dict[str, Any] = {"strategy": share.sharing}
    if share.sharing == Sharing.LEND_AND_BORROW:
        sharing["borrowLimit"] = share.borrow_limit
    return {
        "capacityLimits": _limits(share.instances),
        "resourceSharingConfiguration": sharing,
        "preemptionConfiguration": {"inSharePreemption": "ENABLED" if share.in_share_preemption else "DISABLED"},
    }
