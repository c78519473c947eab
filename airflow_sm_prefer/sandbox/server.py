"""The sandbox as a server on loopback, in a thread of this process."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from airflow_sm_prefer.clock import Clock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox import backdrop
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.handler import Server
from airflow_sm_prefer.sandbox.runs import Runner
from airflow_sm_prefer.sandbox.sandbox import Sandbox
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.remembering import Remembering
from airflow_sm_prefer.sandbox.wsgi import Endpoint

HOST = "127.0.0.1"

_living: set[int] = set()
"""The servers that serve; moto's state belongs to the process, so only the first of several may clear it."""


class SandboxServer:
    """Serves a sandbox; a context manager.

    >>> with SandboxServer() as server:  # doctest: +SKIP
    ...     boto3.client("sagemaker", endpoint_url=server.endpoint_url)

    Args:
        scenario: As :class:`Sandbox` takes it.
        port: The port, 0 for a free one.
        clock: The time.
        speed: How many seconds of durations pass in one second of the clock.
        runner: What makes jobs run; without one, a scripted runner.
        state: As :class:`Sandbox` takes it; what moto holds is kept there too.

    Attributes:
        sandbox: What is served.
        endpoint_url: Where, once it serves.

    Raises:
        InvalidScenario: the scenario has a mistake.
        InvalidSetting: the port is taken, or :class:`Sandbox` refuses a setting or the state.
        StateUnreadable: the state is damaged, or is a later version's.
    """

    TICK_SECONDS = 0.05
    """How long the ticker sleeps at most: a fake clock can move without a word."""

    def __init__(
        self,
        scenario: Scenario | Mapping[str, Any] | Path | str | None = None,
        *,
        port: int = 0,
        clock: Clock | None = None,
        speed: float | None = None,
        runner: Runner | None = None,
        state: StateFolder | Path | str | None = None,
    ) -> None:
        emit = backdrop.put_event
        self.sandbox = Sandbox(scenario, clock=clock, speed=speed, runner=runner, emit=emit, state=state)
        self.endpoint_url = ""
        self._port = port
        self._server: Server | None = None
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()

    def start(self) -> SandboxServer:
        """Begin to serve; when this returns, it does."""
        try:
            self._begin()
        except BaseException:
            self.sandbox.close()
            raise
        return self

    def _begin(self) -> None:
        with _listening(self._port) as listener:
            if not _living:
                backdrop.reset()
            self._server = Server(listener, Endpoint(self.sandbox, self._around_moto()))
        _living.add(id(self))
        self.endpoint_url = f"http://{HOST}:{self._server.port}"
        self.sandbox.endpoint_url = self.endpoint_url
        for work in (self._serve, self._keep_ticking):
            thread = threading.Thread(target=work, daemon=True, name=f"sandbox-{work.__name__.strip('_')}")
            thread.start()
            self._threads.append(thread)

    def stop(self) -> None:
        """End every run and stop serving."""
        self._ending.set()
        self.sandbox.engine.wake.set()
        self.sandbox.close()
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
        for thread in self._threads:
            thread.join()
        _living.discard(id(self))

    def _around_moto(self) -> Callable[[backdrop.Application], backdrop.Application]:
        """Return what makes moto's applications ours; with a state, they remember, and have what they had."""
        if self.sandbox.folder is None:
            return lambda app: app
        remembering = Remembering(self.sandbox.folder)
        remembering.restore()
        return remembering.around

    def _serve(self) -> None:
        assert self._server is not None
        self._server.serve_forever(poll_interval=self.TICK_SECONDS)

    def _keep_ticking(self) -> None:
        wake = self.sandbox.engine.wake
        while not self._ending.is_set():
            wake.wait(self.TICK_SECONDS)
            wake.clear()
            self._tick()

    def _tick(self) -> None:
        """Do what is due; a state that can't be written is told, and tried again with the next change."""
        try:
            self.sandbox.tick()
            self.sandbox.keep_record()
        except ApiError as error:
            if not self._ending.is_set():
                sys.stderr.write(f"sandbox: {error.message}\n")

    def __enter__(self) -> SandboxServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def _listening(port: int) -> socket.socket:
    """Take the port ourselves: werkzeug would end the process if somebody has it."""
    try:
        return socket.create_server((HOST, port), backlog=128)
    except OSError as error:
        msg = f"port {port} can't be listened on: {error.strerror or error}; choose another, or 0 for a free one"
        raise InvalidSetting(msg) from None
