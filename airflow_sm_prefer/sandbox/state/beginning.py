"""What a sandbox begins with, and that it goes on with that: its state's own world, not another scenario's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from airflow_sm_prefer.errors import InvalidSetting, StateUnreadable
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.pace import checked_speed
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.state.folder import StateFolder


@dataclass(frozen=True, slots=True)
class Beginning:
    """What a sandbox began with.

    Attributes:
        scenario: What there was, and what was to go wrong.
        speed: How many seconds of durations passed in one second of the clock.
    """

    scenario: Scenario
    speed: float


def take_up(
    state: StateFolder | Path | str | None, scenario: Scenario | None, speed: float | None
) -> tuple[StateFolder | None, Beginning]:
    """Open a state, and return it with what its sandbox began with; a new one begins with what is given.

    Args:
        state: The folder, ready or as its path; None for a sandbox that keeps nothing.
        scenario: What was asked for; None is ample capacity, or whatever an old state began with.
        speed: What was asked for; None is 1, or whatever an old state began with.

    Raises:
        InvalidSetting: an old state began with something else, the speed isn't above 0, or the folder can't be used.
        StateUnreadable: the state is damaged.
    """
    asked = Beginning(scenario or Scenario(), 1.0 if speed is None else checked_speed(speed))
    if state is None:
        return None, asked
    folder = state if isinstance(state, StateFolder) else StateFolder(Path(state))
    try:
        if folder.began is None:
            folder.begin(encode(asked))
            return folder, asked
        began = _began(folder)
        if scenario is not None and scenario != began.scenario:
            raise InvalidSetting(_other_scenario(folder.path, scenario, began.scenario))
        if speed is not None and speed != began.speed:
            msg = (
                f"the sandbox in {folder.path} began at speed {began.speed:g}, not {speed:g}. Leave the speed out, and "
                "change it while the sandbox runs; or give --state another folder"
            )
            raise InvalidSetting(msg)
    except BaseException:
        folder.close()
        raise
    return folder, began


def _began(folder: StateFolder) -> Beginning:
    try:
        return decode(Beginning, folder.began)
    except (KeyError, TypeError, ValueError) as error:
        raise StateUnreadable(
            f"{folder.path / 'journal'}, line 1 tells of a scenario that this version of airflow-sm-prefer doesn't "
            f"know: {error}. Start the version that wrote it, or give --state another folder."
        ) from error


def _other_scenario(path: Path, asked: Scenario, began: Scenario) -> str:
    mine, other = encode(began), encode(asked)
    sections = ", ".join(name for name in mine if mine[name] != other[name])
    return (
        f"the sandbox in {path} began with another scenario; different: {sections}. It goes on with its own: leave the "
        "scenario out, and change what there is while it runs; or give --state another folder"
    )
