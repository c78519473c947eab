"""``sm-prefer queues priority``: let a job that waits go before others, or behind them."""

# ruff: noqa: PLC0415 - Airflow and boto3 take their time

from __future__ import annotations

import contextlib
import os
import sys
from typing import Annotated

import typer

from airflow_sm_prefer.cli.queues.options import EndpointUrl, Region, console
from airflow_sm_prefer.errors import InvalidSetting


def priority(
    job: Annotated[str, typer.Argument(help="The job's id or ARN; with --queue, its name.", show_default=False)],
    value: Annotated[
        str,
        typer.Argument(metavar="PRIORITY", help="0 to 9999, or a name of [sm_prefer] priorities.", show_default=False),
    ],
    *,
    queue: Annotated[str | None, typer.Option(help="The queue that a job of that name is in.")] = None,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Give a service job that waits or runs another priority: the higher goes first, within its share.

    Exit code: 0, it has it; 2, there is no such job, or AWS refused it.
    """
    from airflow_sm_prefer.aws.clients import Clients
    from airflow_sm_prefer.aws.job_priority import update_priority

    number = _number(value)
    job_id = update_priority(Clients(region, endpoint_url)("batch"), job, number, queue)
    console().print(f"{job_id} has priority {number}.")


def _number(value: str) -> int:
    from airflow_sm_prefer.model.priority import parse_priority

    number = parse_priority(value, {} if value.strip().isdecimal() else _names(), rendered=True)
    if number is None:
        msg = "The priority is missing: 0 to 9999, or a name of [sm_prefer] priorities."
        raise InvalidSetting(msg)
    return number


def _names() -> dict[str, int]:
    # Airflow logs to stdout, which isn't its to write to.
    os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")
    with contextlib.redirect_stdout(sys.stderr):
        from airflow_sm_prefer.hooks import settings

        return dict(settings.priorities())
