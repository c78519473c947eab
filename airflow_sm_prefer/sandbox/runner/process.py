"""One container: a process group of its own, its output in a log."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from airflow_sm_prefer.sandbox.runner.logs import LogStream


class Container:
    """A started process with all that it starts.

    Args:
        command: What to run.
        environment: All its environment variables.
        workdir: Where.
        log: Where its output goes; closed when it has ended.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], workdir: Path, log: LogStream) -> None:
        self._log = log
        self._process = subprocess.Popen(
            list(command),
            env=dict(environment),
            cwd=workdir,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        output = self._process.stdout or ()
        self._copier = threading.Thread(target=log.copy, args=(output,), daemon=True)
        self._copier.start()

    def wait(self) -> int:
        """Wait for its end; returns the exit code, negative for the signal that ended it."""
        code = self._process.wait()
        # Whatever it has left running would hold the output open, and the host is gone with the container.
        self._signal(signal.SIGKILL)
        self._copier.join(timeout=5)
        if self._process.stdout and not self._copier.is_alive():
            self._process.stdout.close()
        self._log.close()
        return code

    def stop(self) -> None:
        """Send SIGTERM."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL unless it has ended by itself."""
        if self._process.poll() is None:
            self._signal(signal.SIGKILL)

    def end(self) -> None:
        """Kill it unless it has ended by itself, and wait until it is gone."""
        self.kill()
        self._process.wait()

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
