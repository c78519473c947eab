"""``sm-prefer queues``: the group of its commands."""

from __future__ import annotations

import typer

from airflow_sm_prefer.cli.queues.apply import apply
from airflow_sm_prefer.cli.queues.metrics import metrics
from airflow_sm_prefer.cli.queues.priority import priority

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    help="Make AWS Batch queues from a file, publish their metrics, and change what waits in them.",
)
app.command("apply")(apply)
app.command("metrics")(metrics)
app.command("priority")(priority)
