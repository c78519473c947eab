"""What the commands about queues have in common."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

Region = Annotated[str | None, typer.Option(help="The AWS Region; unset, AWS's own setting.")]
EndpointUrl = Annotated[
    str | None, typer.Option(help="Where AWS is; the sandbox, say. Unset, AWS's own setting, as AWS_ENDPOINT_URL.")
]


def console() -> Console:
    """Return where a person reads; without a terminal nothing is wrapped, since the text may be searched."""
    from rich.console import Console  # noqa: PLC0415 - takes its time

    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 400)
