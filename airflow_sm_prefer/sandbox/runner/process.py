"""One container: a supervised process, its output in a log."""

from __future__ import annotations

import contextlib
import io
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from airflow_sm_prefer.sandbox.runner import supervisor
from airflow_sm_prefer.sandbox.runner.logs import LogStream

#: How long the last of a container's output is waited for, in seconds.
_LAST_WORDS = 5.0


@dataclass(frozen=True, slots=True)
class Launch:
    """What a container runs, and where.

    Attributes:
        command: The program, looked for on the environment's PATH, and its arguments.
        environment: All its environment variables.
        workdir: Its working directory, as it sees it.
        namespace: Whether it has a mount namespace of its own.
        mounts: What it sees elsewhere there: pairs of a path of this machine and the place.
        scratch: An empty folder that the namespace may need.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    workdir: str
    namespace: bool = False
    mounts: Sequence[tuple[str, str]] = ()
    scratch: str = ""


def supervised(launch: Launch) -> subprocess.Popen[bytes]:
    """Start a launch under a supervisor; it and all that it starts die when its input is closed, or when we die."""
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", supervisor.__file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    if process.stdin:
        process.stdin.write(f"{json.dumps(asdict(launch))}\n".encode())
        process.stdin.flush()
    return process


class Container:
    """A started launch.

    Args:
        launch: What to run.
        log: Where its output goes; closed when it has ended.
    """

    def __init__(self, launch: Launch, log: LogStream) -> None:
        self._log = log
        self._process = supervised(launch)
        self._copier = threading.Thread(target=self._copy, daemon=True)
        self._copier.start()

    def wait(self) -> int:
        """Wait for its end; returns the exit code, 128 and the signal's number where a signal ended it."""
        code = self._process.wait()
        self.kill()
        # Where orphans can't be adopted, one may have got away with the output; it doesn't hold up the job's end.
        self._copier.join(timeout=_LAST_WORDS)
        self._log.close()
        return code

    def stop(self) -> None:
        """Send SIGTERM to the command, as Docker does: to it alone, and not to what it has started."""
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it and all that it has started, unless it has ended by itself."""
        if self._process.stdin:
            self._process.stdin.close()

    def end(self) -> None:
        """Kill it, and wait until it is gone and its log is sent."""
        self.kill()
        self.wait()

    def _copy(self) -> None:
        """Copy lines as they end with a line feed: a progress bar's carriage returns make none."""
        if self._process.stdout:
            with io.TextIOWrapper(self._process.stdout, encoding="utf-8", errors="replace", newline="\n") as lines:
                self._log.copy(lines)
