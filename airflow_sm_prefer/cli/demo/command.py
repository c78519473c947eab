"""``sm-prefer demo``: what the user calls, and how its end becomes an exit code."""

from __future__ import annotations

import json
import os
import shlex
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from airflow_sm_prefer.cli.demo import ports, processes, record
from airflow_sm_prefer.cli.demo.console import Teller
from airflow_sm_prefer.cli.demo.environment import Addresses, shed_foreign
from airflow_sm_prefer.cli.demo.errors import DemoError, Interrupted
from airflow_sm_prefer.cli.demo.home import Home, default_home
from airflow_sm_prefer.cli.demo.report import Report
from airflow_sm_prefer.cli.demo.session import Session
from airflow_sm_prefer.cli.demo.signals import Signals
from airflow_sm_prefer.cli.demo.stack import Stack

AIRFLOW_PORT = 8080
SANDBOX_PORT = 4580
FAILED = 1


def demo(
    as_json: Annotated[bool, typer.Option("--json", help="Print what was measured as a last line of JSON.")] = False,
    keep: Annotated[bool, typer.Option("--keep", help="Leave everything running for a look in the UI.")] = False,
    stop: Annotated[bool, typer.Option("--stop", help="End what --keep has left running, and do no more.")] = False,
    home: Annotated[Path | None, typer.Option(help="The demo's folder; without it, .demo in the project.")] = None,
) -> None:
    """Run the nightly DAG on a real Airflow and the sandbox: out of GPUs and back, on this machine alone."""
    folder = Home((home or default_home()).resolve())
    tell = Teller(to_stderr=as_json)
    try:
        if stop and not folder.path.exists():
            tell.block(f"No demo is running in {folder.path}.")
            return
        folder.claim()
        with Signals(lambda: tell.block("Still cleaning up, a few seconds more.")) as signals, record.held(folder.lock):
            code = stop_kept(folder, tell) if stop else run(folder, tell, signals, keep=keep, as_json=as_json)
    except DemoError as error:
        tell_error(tell, error)
        code = FAILED
    except Interrupted as interrupted:
        tell.block("Interrupted.", "bad")
        code = 128 + interrupted.signal_number
    raise typer.Exit(code)


def run(folder: Home, tell: Teller, signals: Signals, *, keep: bool, as_json: bool) -> int:
    """Run one demo in its folder and return the exit code: 0 only when the DAG run succeeded."""
    refuse_second(folder, tell)
    shed_foreign()
    addresses = Addresses(ports.pick(AIRFLOW_PORT), ports.pick(SANDBOX_PORT))
    stack = Stack(folder, addresses, signals.held)
    report = run_and_clean_up(Session(folder, stack, tell), signals, keep=keep)
    if keep:
        keep_running(stack, folder, tell)
    else:
        tell.block(f"Everything has been stopped. Logs: {folder.logs}", "quiet")
    if as_json:
        print(json.dumps(report.to_json()), flush=True)
    return 0 if report.state == "success" else FAILED


def run_and_clean_up(session: Session, signals: Signals, *, keep: bool) -> Report:
    """Run a session; unless it came to its end and is to be kept, leave nothing of it running."""
    kept = False
    try:
        try:
            report = session.run()
            kept = keep
        finally:
            if not kept:
                clean_up(session, signals)
    except Interrupted:
        # The signal may have come before cleaning up was safe from it. Doing it twice does no harm.
        clean_up(session, signals)
        raise
    return report


def refuse_second(folder: Home, tell: Teller) -> None:
    """Leave a kept demo alone; end what is left of one whose command was killed.

    Raises:
        DemoError: a kept demo runs in the folder.
    """
    found = record.load(folder)
    if found is None or not found.is_running():
        return
    if found.kept:
        msg = f"A demo is running in {folder.path}. UI: {found.ui}\nStop it with:  {stop_command(folder)}"
        raise DemoError(msg)
    tell.say("Ending what is left of a demo that was killed.")
    processes.stop(found.services)
    record.forget(folder)


def stop_kept(folder: Home, tell: Teller) -> int:
    """End the demo that runs in the folder and return the exit code."""
    found = record.load(folder)
    if found is None or not found.is_running():
        tell.block(f"No demo is running in {folder.path}.")
    else:
        processes.stop(found.services)
        tell.block("The demo has been stopped.")
    record.forget(folder)
    return 0


def clean_up(session: Session, signals: Signals) -> None:
    """End everything, whatever signals come meanwhile."""
    signals.disarm()
    session.tell.block("Stopping everything.", "quiet")
    session.stack.stop()
    record.forget(session.home)


def keep_running(stack: Stack, folder: Home, tell: Teller) -> None:
    """Write down what runs, and say how to stop it."""
    stack.record(kept=True).save(folder)
    tell.block(f"Left running. Airflow UI: {stack.addresses.ui}   sandbox: {stack.addresses.sandbox}", "loud")
    tell.block(f"Stop it with:  {stop_command(folder)}", "loud")


def stop_command(folder: Home) -> str:
    """Return the command that stops a kept demo, as a shell takes it."""
    home = [] if folder.path == default_home().resolve() else ["--home", str(folder.path)]
    return shlex.join([_program(), "demo", "--stop", *home])


def _program() -> str:
    """Return this program as it was called, relative where that is shorter."""
    program = sys.argv[0]
    with suppress(ValueError):
        relative = os.path.relpath(program)
        return program if os.sep not in program else min(program, relative, key=len)
    return program


def tell_error(tell: Teller, error: DemoError) -> None:
    """Say what went wrong and show the end of the log that tells more."""
    if error.log is not None and (end := processes.tail(error.log)):
        tell.block(f"--- the end of {error.log}", "quiet")
        tell.block(end)
    tell.block(f"sm-prefer demo: {error}", "bad")
