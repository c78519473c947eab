"""``sm-prefer reconcile``: find running jobs that no task waits for any more, and stop them if told to."""

# ruff: noqa: PLC0415 - Airflow and boto3 take their time

from __future__ import annotations

import contextlib
import json
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_sm_prefer.errors import InvalidSetting

if TYPE_CHECKING:
    from airflow_sm_prefer.hooks.airflow_rest import RestTaskStates
    from airflow_sm_prefer.placement.findings import Report

#: The exit code where something is left that somebody should look at.
LEFT = 3

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command("reconcile")
def reconcile(
    *,
    stop: Annotated[bool, typer.Option("--stop", help="Stop them; otherwise it only reports.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as one JSON object.")] = False,
    region: Annotated[str | None, typer.Option(help="The AWS Region; unset, the connection's or AWS's own.")] = None,
    conn_id: Annotated[
        str | None, typer.Option(help="An Airflow connection; unset, AWS's own settings (profile, environment, role).")
    ] = None,
    airflow_url: Annotated[
        str | None, typer.Option(envvar="SM_PREFER_AIRFLOW_URL", help="Where Airflow is; unset, [api] base_url.")
    ] = None,
    airflow_user: Annotated[
        str, typer.Option(envvar="SM_PREFER_AIRFLOW_USER", help="Its password: SM_PREFER_AIRFLOW_PASSWORD.")
    ] = "",
    ended_within: Annotated[
        float, typer.Option(min=0.5, max=72, help="Hours back to look for tasks that sleep past their job's end.")
    ] = 2.0,
) -> None:
    """Find running jobs that no task waits for any more, and stop them if told to.

    Airflow is asked with the token in SM_PREFER_AIRFLOW_TOKEN, or as a user; AWS with an Airflow connection or its own
    settings. Exit code: 0, nothing is left to look at; 3, something is; 2, AWS or Airflow could not be asked, or an
    option can't work.
    """
    # Airflow logs to stdout, which is the report's.
    os.environ.setdefault("AIRFLOW__LOGGING__LOGGING_LEVEL", "WARNING")
    with contextlib.redirect_stdout(sys.stderr):
        states = _airflow(airflow_url, airflow_user)
        report = _run(states, conn_id, region, stop=stop, ended_within=ended_within * 3600)
    if as_json:
        print(json.dumps(report.to_json(), indent=2))
    else:
        _show(report)
    raise typer.Exit(0 if report.is_settled else LEFT)


def _airflow(address: str | None, user: str) -> RestTaskStates:
    from airflow.providers.common.compat.sdk import conf

    from airflow_sm_prefer.hooks.airflow_rest import Login, RestTaskStates

    address = address or conf.get("api", "base_url", fallback=None)
    if not address:
        msg = "Where is Airflow? Say --airflow-url https://airflow.example.com, or set [api] base_url."
        raise InvalidSetting(msg)
    token = os.environ.get("SM_PREFER_AIRFLOW_TOKEN", "")
    return RestTaskStates(address, Login(token, user, os.environ.get("SM_PREFER_AIRFLOW_PASSWORD", "")))


def _run(states: RestTaskStates, conn_id: str | None, region: str | None, *, stop: bool, ended_within: float) -> Report:
    from airflow_sm_prefer.aws.failures import CALL_ERRORS
    from airflow_sm_prefer.clock import SystemClock
    from airflow_sm_prefer.hooks import settings
    from airflow_sm_prefer.hooks.reconcile import reconciler, require_deployment
    from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook

    if stop:
        require_deployment()
        theirs = states.deployment()
        if theirs is not None and theirs.strip() != settings.deployment():
            msg = f"That Airflow calls itself {theirs!r}, and the settings here say {settings.deployment()!r}."
            raise InvalidSetting(msg)
    hook = SageMakerPreferHook(aws_conn_id=conn_id, region_name=region)
    try:
        run = reconciler(hook, states, clock=SystemClock(), stop=stop, ended_within=ended_within)
    except CALL_ERRORS as error:
        msg = f"AWS can't be asked: {error} See --region, --conn-id, or AWS's own settings, such as AWS_PROFILE."
        raise InvalidSetting(msg) from error
    return run.run()


def _show(report: Report) -> None:
    """Print the report for people: what goes on as it should is only counted."""
    from rich.console import Console
    from rich.table import Table

    # Not on a terminal, nothing is gained by wrapping: the text may be searched.
    console = Console(highlight=False, markup=False, width=None if sys.stdout.isatty() else 400)
    if report.remarkable:
        table = Table("", "job, and its task", "why", box=None, pad_edge=False)
        for finding in report.remarkable:
            table.add_row(finding.done.words, f"{finding.job.name}\n{finding.task}", finding.text)
        for column in table.columns:
            column.overflow = "fold"
        console.print(table)
    for sleeper in report.sleepers:
        console.print(str(sleeper))
    console.print(str(report))
    if not report.stops and not report.is_settled:
        console.print("Nothing was stopped or noted: --stop does that.")
