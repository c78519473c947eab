"""``sm-prefer events``: have ended jobs noticed at once."""

# ruff: noqa: PLC0415 - boto3 takes its time

from __future__ import annotations

from typing import Annotated

import typer

from airflow_sm_prefer.cli.queues.options import EndpointUrl, Region, console

#: What the rule and, where none is named, the queue are called.
_NAME = "sm-prefer-events"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Make the EventBridge rule and the SQS queues that events about jobs come through.",
)


@app.callback()
def _group() -> None:
    """Be a group, though there is one command."""


@app.command("apply")
def apply(
    *,
    queue: Annotated[
        list[str] | None, typer.Option(help=f"A triggerer's queue, five at most; unset, {_NAME} for the only one.")
    ] = None,
    rule: Annotated[str, typer.Option(help="The rule that fills them.")] = _NAME,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Make a rule for the events of jobs, and a queue for each triggerer, as deploy/events.yaml does.

    Safe to repeat: what is as it should be is left alone. Nothing is ever deleted. Exit code: 0, all is there; 2, AWS
    refused something.
    """
    from airflow_sm_prefer.aws.clients import Clients
    from airflow_sm_prefer.aws.events_apply import apply_events

    clients, queues = Clients(region, endpoint_url), queue or [_NAME]
    for line in apply_events(clients("sqs"), clients("events"), rule, queues):
        console().print(line)
    for name in queues:
        console().print(f"Set [sm_prefer] events_queue = {name} where its triggerer runs.")
