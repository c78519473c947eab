"""The metrics of queues: read from AWS Batch, published to CloudWatch."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from airflow_sm_prefer.aws.calls import call, paged
from airflow_sm_prefer.aws.queues_there import QueuesReader, name_in
from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.model.queues import Fleet, JobQueue
from airflow_sm_prefer.model.service_job import seconds
from airflow_sm_prefer.model.written import did_you_mean
from airflow_sm_prefer.placement.queue_metrics import (
    HOLDING,
    QUEUE_DIMENSION,
    RUNNING,
    SHARE_DIMENSION,
    WAITING,
    Point,
    QueuedJob,
    QueueState,
    held,
    points,
)

#: The most values in one PutMetricData request.
#: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_PutMetricData.html
VALUES_AT_ONCE: Final = 1000


def read_points(client: Any, names: Sequence[str], now: float) -> list[Point]:
    """Return the values of some queues for SageMaker training, of all in the Region if none is named.

    Every job is listed: GetJobQueueSnapshot has the first hundred and the largest twenty shares only.
    It takes seven ListServiceJobs calls a queue, one more for every further hundred jobs that wait, and three a queue
    that shares an environment with one of them.

    Args:
        client: A boto3 ``batch`` client.
        names: The queues' names or ARNs.
        now: The instant, in seconds since 1970.

    Raises:
        InvalidSetting: there is no such queue.
        CallFailed: AWS refused a read, or didn't answer.
    """
    fleet = QueuesReader(client, share_tags=False).read().fleet
    chosen = _chosen(fleet, [name_in(name) for name in names])
    sharing = {queue.environment for queue in chosen}
    jobs = {
        queue.name: _jobs(client, queue.name, (*WAITING, *RUNNING) if queue in chosen else HOLDING)
        for queue in fleet.queues
        if queue.environment in sharing
    }
    return [point for queue in chosen for point in points(_state(queue, fleet, jobs), now)]


def publish(client: Any, values: Sequence[Point], namespace: str, now: float) -> None:
    """Send values to CloudWatch, as many in a request as it takes.

    Args:
        client: A boto3 ``cloudwatch`` client.
        values: The values.
        namespace: Where they go.
        now: The instant that they are of, in seconds since 1970.

    Raises:
        CallFailed: AWS refused it, or didn't answer.
    """
    for begin in range(0, len(values), VALUES_AT_ONCE):
        data = [_datum(point, now) for point in values[begin : begin + VALUES_AT_ONCE]]
        call(client.put_metric_data, Namespace=namespace, MetricData=data)


def _chosen(fleet: Fleet, names: Collection[str]) -> list[JobQueue]:
    queues = {queue.name: queue for queue in fleet.queues if queue.environment}
    for name in names:
        if name not in queues:
            msg = f"There is no queue {name!r} for SageMaker training here. {did_you_mean(name, queues)}".rstrip()
            raise InvalidSetting(msg)
    return [queue for name, queue in queues.items() if not names or name in names]


def _state(queue: JobQueue, fleet: Fleet, jobs: Mapping[str, tuple[QueuedJob, ...]]) -> QueueState:
    limits = {environment.name: sum(environment.instances.values()) for environment in fleet.environments}
    others = (q.name for q in fleet.queues if q.environment == queue.environment and q.name != queue.name)
    return QueueState(
        name=queue.name,
        limit=limits[queue.environment],
        jobs=jobs[queue.name],
        shares=_shares(queue, fleet),
        held_by_others=sum(held(jobs[name]) for name in others),
    )


def _shares(queue: JobQueue, fleet: Fleet) -> dict[str, int | None]:
    """Return the shares that are known without any job in them; a fair share that ends with ``*`` stands for many."""
    owned: dict[str, int | None] = {
        share.name: sum(share.instances.values()) for share in fleet.shares if share.queue == queue.name
    }
    fair = [policy.fair_share for policy in fleet.policies if policy.name == queue.policy and policy.fair_share]
    weighed = [name for share in fair for name in share.weights if not name.endswith("*")]
    return {**dict.fromkeys(weighed), **owned}


def _jobs(client: Any, queue: str, statuses: Sequence[str]) -> tuple[QueuedJob, ...]:
    # A shortage sends jobs back to RUNNABLE: what went there between two calls is found in a second look.
    again = [status for status in statuses if status == "RUNNABLE"]
    rows = (
        (status, row)
        for status in (*statuses, *again)
        for row in paged(client.list_service_jobs, "jobSummaryList", jobQueue=queue, jobStatus=status)
    )
    # A job that moved on between two calls is in both lists; the later one is right.
    return tuple({row["jobId"]: _job(status, row) for status, row in rows}.values())


def _job(status: str, row: Mapping[str, Any]) -> QueuedJob:
    """Read a listed job; one whose usage isn't known is counted as one instance."""
    usage = row.get("capacityUsage") or ()
    return QueuedJob(
        status=status,
        created=seconds(row["createdAt"]) or 0.0,
        instances=sum(used["quantity"] for used in usage) if usage else 1.0,
        share=row.get("shareIdentifier") or row.get("quotaShareName"),
    )


def _datum(point: Point, now: float) -> dict[str, Any]:
    dimensions = [{"Name": QUEUE_DIMENSION, "Value": point.queue}]
    if point.share is not None:
        dimensions.append({"Name": SHARE_DIMENSION, "Value": point.share})
    return {
        "MetricName": point.metric.value,
        "Dimensions": dimensions,
        "Timestamp": utc(now),
        "Value": float(point.value),
        "Unit": point.metric.unit,
    }
