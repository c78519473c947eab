"""``sm-prefer sandbox``: serve the sandbox. What changes it while it runs is in ``sandbox_commands``.

What takes time to import, or may not be installed, is imported by the commands that need it.
"""
# ruff: noqa: PLC0415

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from airflow_sm_prefer.cli.sandbox_commands import DEFAULT_PORT, commands
from airflow_sm_prefer.errors import InvalidSetting

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.server import SandboxServer

app = typer.Typer(
    help="Serve AWS on this machine, with GPUs that run out when told to.",
    add_completion=False,
    pretty_exceptions_enable=False,
)

app.add_typer(commands)


@app.callback(invoke_without_command=True)
def sandbox(
    ctx: typer.Context,
    *,
    port: Annotated[int, typer.Option(min=0, max=65_535, help="0 takes a free one.")] = DEFAULT_PORT,
    scenario: Annotated[
        Path | None, typer.Option(help="What there is and what goes wrong; without it, everything is ample.")
    ] = None,
    speed: Annotated[
        float | None, typer.Option(help="How many seconds of durations pass in one; 1 unless it is given.")
    ] = None,
    workdir: Annotated[
        Path | None, typer.Option(help="Where jobs run; without it, a folder that goes with the sandbox.")
    ] = None,
    state: Annotated[
        Path | None, typer.Option(help="A folder to keep everything in, to go on from after a kill.")
    ] = None,
) -> None:
    """Serve AWS on this machine, with GPUs that run out when told to, until SIGTERM or Ctrl-C."""
    if ctx.invoked_subcommand is not None:
        return
    _need_extra()
    with (
        _stop_signals() as asked_to_stop,
        _working_folder(workdir, state) as folder,
        _server(port, scenario, speed, folder, state) as server,
    ):
        print(f"sandbox ready at {server.endpoint_url}", flush=True)
        asked_to_stop.wait()


def _server(
    port: int, scenario: Path | None, speed: float | None, folder: Path | None, state: Path | None
) -> SandboxServer:
    from airflow_sm_prefer.sandbox.local import local_server

    # This process is AWS itself: moto in it would look for the shell's profile, which may not be there.
    for name in ("AWS_PROFILE", "AWS_DEFAULT_PROFILE"):
        os.environ.pop(name, None)
    return local_server(port=port, scenario=scenario, speed=speed, workdir=folder, state=state)


@contextlib.contextmanager
def _working_folder(given: Path | None, state: Path | None) -> Iterator[Path | None]:
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
        return
    if state is not None:
        yield None
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


def _need_extra() -> None:
    try:
        import moto.server  # noqa: F401
        import yaml  # noqa: F401
    except ImportError as error:
        msg = f"the sandbox needs {error.name}; install it with: pip install 'airflow-sm-prefer[sandbox]'"
        raise InvalidSetting(msg) from None
