"""The sandbox as the command line serves it: with jobs that really run on this machine."""

from __future__ import annotations

from pathlib import Path

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.runner import ImageTable, LocalRunner
from airflow_sm_prefer.sandbox.scenario_file import as_scenario
from airflow_sm_prefer.sandbox.server import SandboxServer
from airflow_sm_prefer.sandbox.state.beginning import take_up


def local_server(
    *, port: int, scenario: Path | None, speed: float | None, workdir: Path | None, state: Path | None
) -> SandboxServer:
    """Return a server, not yet started, whose jobs are processes in a working folder.

    Args:
        port: The port, 0 for a free one.
        scenario: A scenario file; without one everything is ample, or what an old state began with.
        speed: How many seconds of durations pass in one; None is 1, or what an old state began with.
        workdir: Where jobs run; without one, in the state folder, which has to be given then.
        state: The folder that everything is kept in; without one, nothing is kept.

    Raises:
        InvalidScenario: the file has a mistake.
        InvalidSetting: the speed isn't above 0, an image's Python isn't there, or the state can't be used or began with
            something else.
        StateUnreadable: the state is damaged, or is a later version's.
    """
    if speed is not None and not speed > 0:
        msg = f"--speed is {speed:g}; it says how many seconds pass in one, so it has to be above 0"
        raise InvalidSetting(msg)
    asked = None if scenario is None else as_scenario(scenario)
    images = None if asked is None else ImageTable(asked.images)  # a mistake in it is told before a folder keeps it
    folder, began = take_up(state, asked, speed)
    if workdir is None:
        assert folder is not None
        workdir = folder.subfolder("jobs")
    clock = SystemClock()
    runner = LocalRunner(workdir, images or ImageTable(began.scenario.images), clock=clock)
    return SandboxServer(began.scenario, port=port, clock=clock, speed=began.speed, runner=runner, state=folder)
