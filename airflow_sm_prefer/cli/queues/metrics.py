"""``sm-prefer queues metrics``: publish how full queues are."""

# ruff: noqa: PLC0415 - boto3 takes its time

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_sm_prefer.cli.queues.options import EndpointUrl, Region, console
from airflow_sm_prefer.placement.queue_metrics import NAMESPACE

if TYPE_CHECKING:
    from airflow_sm_prefer.placement.queue_metrics import Point


def metrics(
    *,
    queue: Annotated[
        list[str] | None, typer.Option(help="A queue, as often as there are; unset, all for SageMaker training.")
    ] = None,
    namespace: Annotated[str, typer.Option(help="Where they go in CloudWatch.")] = NAMESPACE,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print them, and publish nothing.")] = False,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Publish how many jobs wait, how long, and how many instances run or lie idle, by queue and share.

    To CloudWatch, once: run it each minute, or the DAG queue_metrics. Exit code: 0, they are published; 2, there is no
    such queue, or AWS refused something.
    """
    from airflow_sm_prefer.aws.clients import Clients
    from airflow_sm_prefer.aws.queue_metrics import publish, read_points
    from airflow_sm_prefer.clock import SystemClock

    clients = Clients(region, endpoint_url)
    now = SystemClock().time()
    values = read_points(clients("batch"), queue or [], now)
    _show(values)
    if dry_run:
        console().print(f"{len(values)} values; nothing was published.")
        return
    publish(clients("cloudwatch"), values, namespace, now)
    console().print(f"{len(values)} values published to {namespace}.")


def _show(values: Sequence[Point]) -> None:
    from rich.table import Table

    from airflow_sm_prefer.placement.queue_metrics import Metric

    rows: dict[tuple[str, str], dict[Metric, float]] = {}
    for point in values:
        rows.setdefault((point.queue, point.share or ""), {})[point.metric] = point.value
    table = Table("queue", "share", *(metric.value for metric in Metric), box=None, pad_edge=False)
    for (name, share), by_metric in rows.items():
        table.add_row(name, share, *(f"{by_metric[m]:.0f}" if m in by_metric else "" for m in Metric))
    console().print(table)
