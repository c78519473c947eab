"""Job queues as AWS Batch shows them: whether they are open, how they share, and how much they have.

These reads are worth having and never worth a failure: where the role may not ask, or Batch doesn't answer, there is a
warning in the log, and Batch's answer to the job tells.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from airflow_sm_prefer.aws.failures import CallFailed
from airflow_sm_prefer.aws.paced import Calls
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.placement.queues import Policy, QueueStatus, QuotaShare

log = logging.getLogger(__name__)

T = TypeVar("T")


class QueuesApi:
    """Reads job queues, paced. Blocks; safe for threads."""

    def __init__(self, client: Any, pacing: Pacing, clock: Clock) -> None:
        """Take a boto3 ``batch`` client; see :class:`Calls`."""
        self._call = Calls(client, pacing, clock)

    def read(self, names: Iterable[str]) -> dict[str, QueueStatus | None]:
        """Return how queues stand, by the names or ARNs that they are asked for by.

        Returns:
            None for a queue that doesn't exist; nothing at all where Batch doesn't say.
        """
        wanted = list(names)
        rows = _or(
            None, lambda: list(self._call.rows("DescribeJobQueues", "jobQueues", jobQueues=wanted)), "job queues"
        )
        if rows is None:
            return {}
        found = {name: row for row in rows for name in (row["jobQueueName"], row["jobQueueArn"])}
        return {name: self._status(found[name]) if name in found else None for name in wanted}

    def _status(self, row: Mapping[str, Any]) -> QueueStatus:
        name = row["jobQueueName"]
        if row.get("jobQueueType") != "SAGEMAKER_TRAINING":
            return QueueStatus(name, is_for_training=False)
        policy = self._policy(row.get("schedulingPolicyArn"))
        is_shared = policy is Policy.QUOTA_SHARES
        environments = _or(None, lambda: self._environments(row), f"the service environment of {name}")
        return QueueStatus(
            name=name,
            closed=_closed(row),
            policy=policy,
            limits=None if environments is None else _limits(environments),
            shares=_or(None, lambda: self._shares(name), f"the quota shares of {name}") if is_shared else None,
            paused=_paused(environments or ()),
        )

    def _policy(self, arn: str | None) -> Policy | None:
        if arn is None:
            return Policy.FIFO
        rows: list[dict[str, Any]] = _or(
            [], lambda: self._call("DescribeSchedulingPolicies", arns=[arn])["schedulingPolicies"], arn
        )
        policies = [Policy.QUOTA_SHARES if row.get("quotaSharePolicy") else Policy.FAIR_SHARE for row in rows]
        return policies[0] if policies else None

    def _environments(self, row: Mapping[str, Any]) -> list[dict[str, Any]]:
        names = [order["serviceEnvironment"] for order in row.get("serviceEnvironmentOrder", ())]
        return list(self._call.rows("DescribeServiceEnvironments", "serviceEnvironments", serviceEnvironments=names))

    def _shares(self, queue: str) -> Mapping[str, QuotaShare]:
        rows = self._call.rows("ListQuotaShares", "quotaShares", jobQueue=queue)
        return {row["quotaShareName"]: _quota_share(row) for row in rows}


def _closed(row: Mapping[str, Any]) -> str:
    if row.get("state") == "DISABLED":
        return "it is disabled. Enable it"
    status = row.get("status", "VALID")
    if status in {"INVALID", "DELETING", "DELETED"}:
        return f"it is {status}. {row.get('statusReason') or ''}".strip()
    return ""


def _limits(environments: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    return {limit["capacityUnit"]: limit["maxCapacity"] for found in environments for limit in found["capacityLimits"]}


def _paused(environments: Iterable[Mapping[str, Any]]) -> str:
    names = [found["serviceEnvironmentName"] for found in environments if found.get("state") == "DISABLED"]
    return f"its service environment {names[0]!r} is disabled. Enable it" if names else ""


def _quota_share(row: Mapping[str, Any]) -> QuotaShare:
    limits = {limit["capacityUnit"]: limit["maxCapacity"] for limit in row.get("capacityLimits", ())}
    sharing = row.get("resourceSharingConfiguration") or {}
    percent = sharing.get("borrowLimit", -1) if sharing.get("strategy") == "LEND_AND_BORROW" else 0
    most = {} if percent < 0 else {unit: limit + limit * percent // 100 for unit, limit in limits.items()}
    return QuotaShare(row["quotaShareName"], limits, most, is_open=row.get("state", "ENABLED") == "ENABLED")


def _or(default: T, read: Callable[[], T], what: str) -> T:
    """Return what is read, or the default with a warning where AWS doesn't say."""
    try:
        return read()
    except CallFailed as failed:
        log.warning("AWS Batch doesn't say how it stands with %s, which its answer to the job will: %s", what, failed)
        return default
