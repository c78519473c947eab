"""``sm-prefer sandbox``: serve the sandbox, and change it while it runs.

What takes time to import, or may not be installed, is imported by the commands that need it.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import contextlib
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_sm_prefer.errors import InvalidSetting

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.client import SandboxControl
    from airflow_sm_prefer.sandbox.server import SandboxServer

DEFAULT_PORT = 4580

app = typer.Typer(
    help="Serve AWS on this machine, with GPUs that run out when told to.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

EndpointUrl = Annotated[
    str, typer.Option(envvar="AWS_ENDPOINT_URL", help="Where the sandbox serves.", show_default=True)
]
DEFAULT_URL = f"http://127.0.0.1:{DEFAULT_PORT}"


@app.callback(invoke_without_command=True)
def sandbox(
    ctx: typer.Context,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = DEFAULT_PORT,
    scenario: Annotated[
        Path | None, typer.Option(help="What there is and what goes wrong; without it, everything is ample.")
    ] = None,
    speed: Annotated[float, typer.Option(help="How many seconds of durations pass in one.")] = 1.0,
    workdir: Annotated[
        Path | None, typer.Option(help="Where jobs run; without it, a folder that goes with the sandbox.")
    ] = None,
) -> None:
    """Serve AWS on this machine, with GPUs that run out when told to, until SIGTERM or Ctrl-C."""
    if ctx.invoked_subcommand is not None:
        return
    _need_extra()
    with (
        _stop_signals() as asked_to_stop,
        _working_folder(workdir) as folder,
        _server(port, scenario, speed, folder) as server,
    ):
        print(f"sandbox ready at {server.endpoint_url}", flush=True)
        asked_to_stop.wait()


@app.command("set")
def set_capacity(
    counts: Annotated[list[str], typer.Argument(help="As ml.g5.xlarge=2.", metavar="TYPE=COUNT...")],
    spot: Annotated[bool, typer.Option("--spot", help="Spot instances instead of On-Demand ones.")] = False,
    endpoint_url: EndpointUrl = DEFAULT_URL,
) -> None:
    """Fix how many instances of a type there are from now on."""
    wanted = dict(_count(text) for text in counts)
    with _reached(endpoint_url) as control:
        control.set_capacity(wanted, kind="spot" if spot else "on_demand")


@app.command("jobs")
def list_jobs(endpoint_url: EndpointUrl = DEFAULT_URL) -> None:
    """Print every job's present state, a line each."""
    with _reached(endpoint_url) as control:
        for job in control.jobs():
            state = f"{job['status']}/{job['secondary']}"
            on = f"{job['instance_count']} x {job['instance_type']}" if job["instance_type"] else "-"
            print(f"{job['kind']:<10} {job['name']:<63} {state:<28} {on}")


def _server(port: int, scenario: Path | None, speed: float, folder: Path) -> SandboxServer:
    from airflow_sm_prefer.sandbox.local import local_server

    return local_server(port=port, scenario=scenario, speed=speed, workdir=folder)


@contextlib.contextmanager
def _working_folder(given: Path | None) -> Iterator[Path]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="sm-prefer-sandbox-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@contextlib.contextmanager
def _stop_signals() -> Iterator[threading.Event]:
    """Turn SIGTERM and SIGINT into an event; a second one of either has its usual effect."""
    asked = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}

    def stop(*_: object) -> None:
        asked.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, stop)
    yield asked


@contextlib.contextmanager
def _reached(endpoint_url: str) -> Iterator[SandboxControl]:
    from airflow_sm_prefer.sandbox.client import SandboxControl

    try:
        yield SandboxControl(endpoint_url)
    except OSError as error:
        msg = f"no sandbox answers at {endpoint_url} ({error}); start one with: sm-prefer sandbox"
        raise InvalidSetting(msg) from None


def _count(text: str) -> tuple[str, int]:
    name, _, count = text.partition("=")
    if not count.isdecimal():
        msg = f"{text!r} doesn't say how many instances of what there are; expected TYPE=COUNT, as ml.g5.xlarge=2"
        raise InvalidSetting(msg)
    return name, int(count)


def _need_extra() -> None:
    try:
        import moto.server  # noqa: F401
        import yaml  # noqa: F401
    except ImportError as error:
        msg = f"the sandbox needs {error.name}; install it with: pip install 'airflow-sm-prefer[sandbox]'"
        raise InvalidSetting(msg) from None
