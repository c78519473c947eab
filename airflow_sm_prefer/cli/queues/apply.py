"""``sm-prefer queues apply``: make the queues of a Region what a file says."""

# ruff: noqa: PLC0415 - boto3 takes its time

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_sm_prefer.cli.queues.options import EndpointUrl, Region, console
from airflow_sm_prefer.errors import InvalidQueues, SmPreferError

if TYPE_CHECKING:
    from airflow_sm_prefer.aws.queues_apply import QueuesWriter
    from airflow_sm_prefer.aws.queues_there import There
    from airflow_sm_prefer.model.queues import Fleet
    from airflow_sm_prefer.placement.plans import PlanStatus
    from airflow_sm_prefer.placement.queues_difference import Change, Difference

#: The exit code of a dry run that has found a difference.
DIFFERENT = 3


def apply(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The queues, as YAML.", show_default=False)],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the difference, and change nothing.")] = False,
    region: Region = None,
    endpoint_url: EndpointUrl = None,
) -> None:
    """Make the queues of a Region what a file says.

    Safe to repeat: what is as the file says is left alone, and so is all that the file doesn't name. Nothing is ever
    deleted. Exit code: 0, all is as the file says; 3, a dry run has found a difference; 2, the file has a mistake, asks
    for what AWS Batch never changes, or AWS refused something.
    """
    from airflow_sm_prefer.aws.clients import Clients
    from airflow_sm_prefer.aws.queues_apply import QueuesWriter
    from airflow_sm_prefer.aws.queues_there import QueuesReader
    from airflow_sm_prefer.clock import SystemClock
    from airflow_sm_prefer.placement.queues_difference import difference

    wanted = _read(file)
    clients = Clients(region, endpoint_url)
    there = QueuesReader(clients("batch")).read()
    found = difference(wanted, there.fleet, _plans(wanted, clients))
    _show(found)
    _refuse_obstacles(found)
    if not dry_run:
        _carry_out(QueuesWriter(clients("batch"), SystemClock()), found, there)
    console().print(_sum(found, dry_run=dry_run))
    raise typer.Exit(DIFFERENT if dry_run and found.changes else 0)


def _read(file: Path) -> Fleet:
    from airflow_sm_prefer.model.queues_file import parse_queues

    try:
        return parse_queues(file.read_text(encoding="utf-8"), str(file))
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{file}: the file can't be read: {error}"
        raise InvalidQueues(msg) from None


def _plans(wanted: Fleet, clients: Callable[[str], object]) -> dict[str, PlanStatus | None]:
    from airflow_sm_prefer.aws.pacing import Pacing
    from airflow_sm_prefer.aws.plans import PlansApi
    from airflow_sm_prefer.clock import SystemClock

    arns = {environment.training_plan for environment in wanted.environments if environment.training_plan}
    if not arns:
        return {}
    clock = SystemClock()
    api = PlansApi(clients("sagemaker"), Pacing(clock), clock)
    return {arn: api.status(arn) for arn in sorted(arns)}


def _show(found: Difference) -> None:
    out = console()
    for change in found.changes:
        for line in _lines(change):
            out.print(line)
    for warning in found.warnings:
        out.print(f"warning: {warning}")


def _lines(change: Change) -> list[str]:
    from airflow_sm_prefer.model.queues import called

    lines = [f"{'+' if change.creates else '~'} {called(change.wanted)}"]
    lines += (f"    {f.label}: {f'{f.before} → ' if f.before else ''}{f.after}" for f in change.fields)
    if change.tags:
        lines.append(f"    tags: {', '.join(f'{key}={value}' for key, value in sorted(change.tags.items()))}")
    return lines


def _refuse_obstacles(found: Difference) -> None:
    if found.obstacles:
        raise InvalidQueues("\n".join(("This can't be done, and nothing was changed:", *found.obstacles)))


def _carry_out(writer: QueuesWriter, found: Difference, there: There) -> None:
    for done, change in enumerate(found.changes):
        try:
            writer.apply(change, there)
        except SmPreferError:
            console().print(f"{done} of {len(found.changes)} changes are made. Run this again to go on.")
            raise


def _sum(found: Difference, *, dry_run: bool) -> str:
    if not found.changes:
        return "Nothing to change: all is as the file says."
    created = sum(change.creates for change in found.changes)
    done = "to make" if dry_run else "made"
    end = "; nothing was changed. Without --dry-run it is." if dry_run else ", and all of it valid."
    return f"{created} {done}, {len(found.changes) - created} {'to change' if dry_run else 'changed'}{end}"
