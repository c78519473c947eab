"""``sm-prefer``: the command line. One module a command; a command's module is imported when it is called.

A module offers its command as ``app``, a :class:`typer.Typer`, or as a function named after the command.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from airflow_sm_prefer.errors import SmPreferError

COMMANDS: Mapping[str, tuple[str, str]] = {
    "demo": ("airflow_sm_prefer.cli.demo.command", "Run the nightly DAG on a real Airflow and the sandbox."),
    "events": ("airflow_sm_prefer.cli.events", "Make the rule and the queues that events about jobs come through."),
    "queues": ("airflow_sm_prefer.cli.queues.command", "Make AWS Batch queues from a file, and publish their metrics."),
    "reconcile": ("airflow_sm_prefer.cli.reconcile", "Find jobs that no task waits for, and stop them."),
    "sandbox": ("airflow_sm_prefer.cli.sandbox", "Serve AWS on this machine, with GPUs that run out."),
}
"""By name: where the command is, and its line in ``sm-prefer --help``, which imports none of them."""

USAGE_ERROR = 2


class LazyGroup(TyperGroup):
    """Knows its commands by name, and imports one when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        """Return the names, in the order that help shows."""
        return sorted(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        """Return what help needs to know of a command: its name and its line."""
        return _placeholder(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Import the command that was called."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command if name is None else load(name), rest


def load(name: str) -> Any:
    """Import a command.

    Raises:
        ImportError: something that it needs is not installed.
    """
    module = importlib.import_module(COMMANDS[name][0])
    command = get_command(_app(module, name))
    command.name = name
    return command


def _app(module: ModuleType, name: str) -> typer.Typer:
    if isinstance(getattr(module, "app", None), typer.Typer):
        app: typer.Typer = module.app
        return app
    app = _bare_app()
    app.command(name)(getattr(module, name))
    return app


def _bare_app(**settings: Any) -> typer.Typer:
    return typer.Typer(add_completion=False, pretty_exceptions_enable=False, **settings)


def _placeholder(name: str) -> Any:
    app = _bare_app()
    app.command(name, help=COMMANDS[name][1])(lambda: None)
    return get_command(app)


cli = _bare_app(cls=LazyGroup, no_args_is_help=True, help="SageMaker jobs from Airflow, and AWS on your machine.")


@cli.callback()
def _root() -> None:
    """Have a group, however few commands there are."""


def main() -> None:
    """Run the command line; what this package raises is told in its own words, without a traceback."""
    try:
        cli()
    except SmPreferError as error:
        sys.stderr.write(f"sm-prefer: {error}\n")
        sys.exit(USAGE_ERROR)
