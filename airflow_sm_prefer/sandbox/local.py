"""The sandbox as the command line serves it: with jobs that really run on this machine."""

from __future__ import annotations

from pathlib import Path

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.runner import ImageTable, LocalRunner
from airflow_sm_prefer.sandbox.scenario_file import as_scenario
from airflow_sm_prefer.sandbox.server import SandboxServer


def local_server(*, port: int, scenario: Path | None, speed: float, workdir: Path) -> SandboxServer:
    """Return a server, not yet started, whose jobs are processes in a working folder.

    Args:
        port: The port, 0 for a free one.
        scenario: A scenario file; without one everything is ample.
        speed: How many seconds of durations pass in one.
        workdir: Where jobs run.

    Raises:
        InvalidScenario: the file has a mistake.
        InvalidSetting: the speed isn't above 0.
    """
    if not speed > 0:
        msg = f"--speed is {speed:g}; it says how many seconds pass in one, so it has to be above 0"
        raise InvalidSetting(msg)
    read = as_scenario(scenario)
    clock = SystemClock()
    runner = LocalRunner(workdir, ImageTable(read.images), clock=clock)
    return SandboxServer(read, port=port, clock=clock, speed=speed, runner=runner)
