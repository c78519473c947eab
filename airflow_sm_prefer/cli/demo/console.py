"""What the demo says as it goes: in colour where a person looks on, plain where not; standard error beside JSON."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from rich.console import Console
from rich.text import Text

STYLES = {"good": "green", "bad": "bold red", "quiet": "dim", "loud": "bold", "plain": ""}


class _Console(Console):
    def on_broken_pipe(self) -> None:
        """Fall silent; rich would end the program, and nobody would clean up."""
        self.quiet = True


class Teller:
    """Prints one line after another, each with the seconds since the beginning.

    A reader that goes away (a closed pipe, a closed terminal) doesn't end the demo: cleaning up matters more.
    """

    def __init__(self, *, to_stderr: bool = False, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._console = _Console(stderr=to_stderr, highlight=False, soft_wrap=True)
        self._monotonic = monotonic
        self._began = monotonic()

    def say(self, text: str, style: str = "plain") -> None:
        """Print a line with the time before it."""
        elapsed = self._monotonic() - self._began
        self._print(Text.assemble((f"{elapsed:6.1f}s  ", "dim"), (text, STYLES[style])))

    def block(self, text: str, style: str = "plain") -> None:
        """Print lines as they are."""
        self._print(Text(text, STYLES[style]))

    def _print(self, text: Text) -> None:
        with suppress(OSError, ValueError):
            self._console.print(text)
