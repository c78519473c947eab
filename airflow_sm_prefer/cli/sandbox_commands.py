"""The commands of ``sm-prefer sandbox`` that change a running one, and ask it what has happened."""
# ruff: noqa: PLC0415

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.errors import InvalidSetting

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.client import SandboxControl

DEFAULT_PORT = 4580
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"

EndpointUrl = Annotated[
    str,
    typer.Option(
        envvar=["AWS_ENDPOINT_URL_SAGEMAKER", "AWS_ENDPOINT_URL"],
        help="Where the sandbox serves.",
        show_default=True,
    ),
]

commands = typer.Typer()


@commands.command("set", no_args_is_help=True)
def set_values(
    counts: Annotated[
        list[str] | None, typer.Argument(help="Instances of a type, as ml.g5.xlarge=2.", metavar="TYPE=COUNT")
    ] = None,
    *,
    spot: Annotated[bool, typer.Option("--spot", help="The counts are of spot instances.")] = False,
    quota: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=N", help="As 'ml.p5.48xlarge for training job usage=2'."),
    ] = None,
    rate: Annotated[
        list[str] | None, typer.Option(metavar="OPERATION=N", help="Calls a second, or off: DescribeTrainingJob=2.")
    ] = None,
    speed: Annotated[float | None, typer.Option(help="How many seconds of durations pass in one.")] = None,
    advance: Annotated[
        str | None, typer.Option(metavar="DURATION", help="Let time pass at once, as 1h 30m; after all else.")
    ] = None,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Change counts of instances, quotas, rates, the speed and the time, all at one moment or not at all."""
    sections: dict[str, Any] = {
        "spot" if spot else "capacity": _counts(counts or (), "TYPE=COUNT, as ml.g5.xlarge=2"),
        "quotas": _counts(quota or (), "NAME=N, as 'ml.g5.xlarge for training job usage=2'"),
        "rates": dict(_rate(text) for text in rate or ()),
        "speed": speed,
        "advance": advance,
    }
    with _reached(endpoint_url) as control:
        control.change(**{name: value for name, value in sections.items() if value not in ({}, None)})


@commands.command("change")
def change(
    file: Annotated[str, typer.Argument(help="Sections of a scenario, speed and advance; - reads standard input.")],
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Change everything that a file says, at one moment or not at all; instants in it count from now."""
    text = sys.stdin.read() if file == "-" else _text(Path(file))
    with _reached(endpoint_url) as control:
        control.apply(text, "standard input" if file == "-" else file)


@commands.command("plan")
def give_plan(
    name: Annotated[str, typer.Argument(help="One of the same name is replaced.")],
    count: Annotated[str, typer.Argument(metavar="TYPE=COUNT", help="As ml.p5.48xlarge=2.")],
    *,
    starts: Annotated[str, typer.Option(metavar="DURATION", help="How long from now.")] = "0s",
    lasts: Annotated[str, typer.Option(metavar="DURATION", help="How long it is active.")] = "24h",
    region: Annotated[str | None, typer.Option(help="Only there; without it, everywhere.")] = None,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Give every account a training plan of one block; `change` takes plans with more."""
    instance_type, number = _count(count, "TYPE=COUNT, as ml.p5.48xlarge=2")
    plan = {"name": name, "type": instance_type, "count": number, "blocks": [{"starts": starts, "lasts": lasts}]}
    with _reached(endpoint_url) as control:
        control.change(plans=[plan if region is None else {**plan, "region": region}])


@commands.command("fail-call")
def fail_call(
    operation: Annotated[str, typer.Argument(help="As DescribeTrainingJob; * is any.")],
    *,
    error: Annotated[str, typer.Option(help="drop is no answer at all; or an error code, as ThrottlingException.")],
    job: Annotated[str, typer.Option(help="Pattern of the job's name.")] = "*",
    after: Annotated[int, typer.Option(min=0, help="How many calls go through first.")] = 0,
    times: Annotated[int, typer.Option(min=1, help="How many fail then.")] = 1,
    takes_effect: Annotated[bool, typer.Option("--takes-effect", help="Only the answer is lost.")] = False,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Have the next calls of an operation fail."""
    fault = {
        "operation": operation,
        "error": error,
        "job": job,
        "after": after,
        "times": times,
        "takes_effect": takes_effect,
    }
    with _reached(endpoint_url) as control:
        control.change(call_faults=[fault])


@commands.command("fail-job")
def fail_job(
    job: Annotated[str, typer.Argument(help="Pattern of the job's name.")],
    reason: Annotated[str | None, typer.Option(help="An InternalServerError unless given.")] = None,
    after: Annotated[str, typer.Option(metavar="DURATION", help="From the start of the run.")] = "0s",
    times: Annotated[int, typer.Option(min=1, help="How many runs it happens to.")] = 1,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Have AWS fail the next runs of some jobs."""
    fault: dict[str, Any] = {"job": job, "after": after, "times": times}
    with _reached(endpoint_url) as control:
        control.change(job_faults=[fault if reason is None else {**fault, "reason": reason}])


@commands.command("faults")
def faults(
    clear: Annotated[bool, typer.Option("--clear", help="Forget them.")] = False,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Print the faults that are still to come, as lines of JSON."""
    with _reached(endpoint_url) as control:
        if clear:
            control.clear_faults()
            return
        state = control.state()
    _print_lines([*state["call_faults"], *state["job_faults"]])


@commands.command("state")
def state(endpoint_url: EndpointUrl = DEFAULT_URL) -> None:
    """Print the time, and everything that can be changed as it is now, in JSON."""
    with _reached(endpoint_url) as control:
        print(json.dumps(control.state(), indent=2))


@commands.command("jobs")
def list_jobs(endpoint_url: EndpointUrl = DEFAULT_URL) -> None:
    """Print every job's present state, a line each."""
    with _reached(endpoint_url) as control:
        jobs = control.jobs()
    for job in jobs:
        status = f"{job['status']}/{job['secondary']}"
        on = f"{job['instance_count']} x {job['instance_type']}" if job["instance_type"] else "-"
        print(f"{job['kind']:<10} {job['name']:<63} {status:<28} {on}")


@commands.command("record")
def record(
    what: Annotated[str | None, typer.Option(help="Only call, state or control.")] = None,
    since: Annotated[int, typer.Option(min=0, help="The line of the whole record to begin with.")] = 0,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Print every call, change of a job's state and change of the sandbox so far, as lines of JSON."""
    with _reached(endpoint_url) as control:
        entries = control.record(what, since)
    _print_lines(entries)


@commands.command("live")
def live(
    tag: Annotated[str | None, typer.Option(metavar="KEY=VALUE", help="Only jobs with this tag.")] = None,
    prefix: Annotated[str, typer.Option(help="Only jobs whose names begin like this.")] = "",
    at: Annotated[
        str | None, typer.Option(metavar="INSTANT", help="As 2026-11-30T09:00:00Z or in epoch seconds.")
    ] = None,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Print how many jobs were live at an instant, and which; without one, when most of them were."""
    pair = None if tag is None else _tag(tag)
    with _reached(endpoint_url) as control:
        if at is not None:
            jobs = control.live(tag=pair, prefix=prefix, at=at)
            print(f"{len(jobs)} live at {at}")
        else:
            most = control.busiest(tag=pair, prefix=prefix)
            jobs = most["jobs"]
            print(f"{most['most']} live at once" + (f", at {utc(most['at']).isoformat()}" if jobs else ""))
    for job in jobs:
        print(f"{job['kind']:<10} {job['name']:<63} {job['account']} {job['region']}")


@contextlib.contextmanager
def _reached(endpoint_url: str) -> Iterator[SandboxControl]:
    from airflow_sm_prefer.sandbox.client import SandboxControl

    try:
        yield SandboxControl(endpoint_url)
    except OSError as error:
        msg = f"no sandbox answers at {endpoint_url} ({error}); start one with: sm-prefer sandbox"
        raise InvalidSetting(msg) from None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: can't be read: {error}"
        raise InvalidSetting(msg) from None


def _counts(texts: Iterable[str], expected: str) -> dict[str, int]:
    return dict(_count(text, expected) for text in texts)


def _count(text: str, expected: str) -> tuple[str, int]:
    name, _, count = text.rpartition("=")
    if not name or not count.isdecimal():
        msg = f"{text!r} doesn't say how many there are of what; expected {expected}"
        raise InvalidSetting(msg)
    return name, int(count)


def _rate(text: str) -> tuple[str, float | str]:
    operation, _, rate = text.partition("=")
    try:
        return operation, rate if rate == "off" else float(rate)
    except ValueError:
        msg = f"{text!r} doesn't say how many calls a second there may be; expected OPERATION=N or OPERATION=off"
        raise InvalidSetting(msg) from None


def _tag(text: str) -> tuple[str, str]:
    key, is_pair, value = text.partition("=")
    if not (key and is_pair):
        msg = f"{text!r} isn't a tag; expected KEY=VALUE, as task=train"
        raise InvalidSetting(msg)
    return key, value


def _print_lines(entries: Iterable[dict[str, Any]]) -> None:
    for entry in entries:
        print(json.dumps(entry))
