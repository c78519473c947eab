"""The queues that are there: an account's in a Region, read from AWS Batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from airflow_sm_prefer.aws.calls import call, paged
from airflow_sm_prefer.model.queues import (
    DEFAULT_DECAY,
    UNLIMITED,
    FairShare,
    Fleet,
    JobQueue,
    Key,
    Piece,
    QuotaShare,
    SchedulingPolicy,
    ServiceEnvironment,
    Sharing,
    key_of,
)

P = TypeVar("P", bound=Piece)

#: The most policies that DescribeSchedulingPolicies takes at once.
_POLICIES_AT_ONCE = 100

#: Statuses of what is there no more.
_GONE = "DELETED"

SAGEMAKER_TRAINING = "SAGEMAKER_TRAINING"


@dataclass(frozen=True, slots=True)
class Standing:
    """How a piece stands: ``status``, why, and its ARN."""

    arn: str
    status: str = "VALID"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class There:
    """What a Region has.

    Attributes:
        fleet: The pieces.
        standings: How each stands, by its key.
    """

    fleet: Fleet
    standings: Mapping[Key, Standing]

    def arn(self, piece: Piece) -> str:
        """Return a piece's ARN."""
        return self.standings[key_of(piece)].arn


class QueuesReader:
    """Reads service environments, policies, queues and quota shares. Blocks."""

    def __init__(self, client: Any, *, share_tags: bool = True) -> None:
        """Take a boto3 ``batch`` client, and whether quota shares' tags are of interest: they take a call a share."""
        self._client = client
        self._share_tags = share_tags

    def read(self) -> There:
        """Return what is there, all of it: there are at most 50 queues.

        Raises:
            CallFailed: AWS refused a read, or didn't answer.
        """
        environments = self._all("describe_service_environments", "serviceEnvironments", environment_of)
        policies = self._policies()
        queues = self._all("describe_job_queues", "jobQueues", queue_of)
        by_quotas = {policy.name for policy, _ in policies if policy.fair_share is None}
        shares = [pair for queue, _ in queues if queue.policy in by_quotas for pair in self._shares(queue.name)]
        rows: list[tuple[Piece, Standing]] = [*environments, *policies, *queues, *shares]
        fleet = Fleet(
            environments=tuple(piece for piece, _ in environments),
            policies=tuple(piece for piece, _ in policies),
            queues=tuple(piece for piece, _ in queues),
            shares=tuple(piece for piece, _ in shares),
        )
        return There(fleet, {key_of(piece): standing for piece, standing in rows})

    def standing(self, piece: Piece, arn: str) -> Standing:
        """Return how a piece stands; a policy is there as soon as it is made."""
        if isinstance(piece, QuotaShare):
            return _standing(call(self._client.describe_quota_share, quotaShareArn=arn), "quotaShareArn")
        if isinstance(piece, SchedulingPolicy):
            return Standing(arn)
        if isinstance(piece, JobQueue):
            rows = call(self._client.describe_job_queues, jobQueues=[arn])["jobQueues"]
            return _standing(rows[0], "jobQueueArn") if rows else Standing(arn, "CREATING")
        rows = call(self._client.describe_service_environments, serviceEnvironments=[arn])["serviceEnvironments"]
        return _standing(rows[0], "serviceEnvironmentArn") if rows else Standing(arn, "CREATING")

    def _all(self, operation: str, key: str, read: Callable[[Any], P]) -> list[tuple[P, Standing]]:
        rows = paged(getattr(self._client, operation), key)
        arn = f"{key[:-1]}Arn"
        return [(read(row), _standing(row, arn)) for row in rows if row.get("status") != _GONE]

    def _policies(self) -> list[tuple[SchedulingPolicy, Standing]]:
        arns = [row["arn"] for row in paged(self._client.list_scheduling_policies, "schedulingPolicies")]
        found: list[tuple[SchedulingPolicy, Standing]] = []
        for begin in range(0, len(arns), _POLICIES_AT_ONCE):
            some = arns[begin : begin + _POLICIES_AT_ONCE]
            rows = call(self._client.describe_scheduling_policies, arns=some)["schedulingPolicies"]
            found += [(policy_of(row), Standing(row["arn"])) for row in rows]
        return found

    def _shares(self, queue: str) -> list[tuple[QuotaShare, Standing]]:
        rows = paged(self._client.list_quota_shares, "quotaShares", jobQueue=queue)
        if self._share_tags:
            rows = [call(self._client.describe_quota_share, quotaShareArn=row["quotaShareArn"]) for row in rows]
        return [(share_of(row), _standing(row, "quotaShareArn")) for row in rows]


def environment_of(row: Mapping[str, Any]) -> ServiceEnvironment:
    """Read a service environment."""
    return ServiceEnvironment(
        name=row["serviceEnvironmentName"],
        instances=_limits(row),
        enabled=row.get("state") != "DISABLED",
        tags=row.get("tags") or {},
    )


def policy_of(row: Mapping[str, Any]) -> SchedulingPolicy:
    """Read a scheduling policy; AWS takes a decay of 0 for 600 seconds, and a weight that isn't there for 1."""
    fair = row.get("fairsharePolicy")
    share = None
    if fair is not None and "quotaSharePolicy" not in row:
        weights = {s["shareIdentifier"]: s.get("weightFactor") or 1.0 for s in fair.get("shareDistribution") or ()}
        share = FairShare(weights, fair.get("shareDecaySeconds") or DEFAULT_DECAY, fair.get("computeReservation") or 0)
    return SchedulingPolicy(row["name"], share, row.get("tags") or {})


def queue_of(row: Mapping[str, Any]) -> JobQueue:
    """Read a job queue; one that isn't for SageMaker training has no environment."""
    order = sorted(row.get("serviceEnvironmentOrder") or (), key=lambda entry: entry["order"])
    policy = row.get("schedulingPolicyArn")
    return JobQueue(
        name=row["jobQueueName"],
        environment=name_in(order[0]["serviceEnvironment"]) if order else "",
        priority=row["priority"],
        policy=name_in(policy) if policy else None,
        time_limits={limit["reason"]: limit["maxTimeSeconds"] for limit in row.get("jobStateTimeLimitActions") or ()},
        enabled=row["state"] != "DISABLED",
        tags=row.get("tags") or {},
    )


def share_of(row: Mapping[str, Any]) -> QuotaShare:
    """Read a quota share."""
    sharing = row["resourceSharingConfiguration"]
    borrows = sharing["strategy"] == Sharing.LEND_AND_BORROW
    return QuotaShare(
        queue=name_in(row["jobQueueArn"]),
        name=row["quotaShareName"],
        instances=_limits(row),
        sharing=sharing["strategy"],
        borrow_limit=sharing.get("borrowLimit", UNLIMITED) if borrows else UNLIMITED,
        in_share_preemption=row["preemptionConfiguration"]["inSharePreemption"] == "ENABLED",
        enabled=row.get("state") != "DISABLED",
        tags=row.get("tags") or {},
    )


def name_in(name_or_arn: str) -> str:
    """Return the name in an ARN, or a name as it is."""
    return name_or_arn.rpartition("/")[2]


def _limits(row: Mapping[str, Any]) -> dict[str, int]:
    return {limit["capacityUnit"]: limit["maxCapacity"] for limit in row["capacityLimits"]}


def _standing(row: Mapping[str, Any], arn: str) -> Standing:
    return Standing(row[arn], row.get("status") or "VALID", row.get("statusReason") or "")
