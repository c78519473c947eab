"""Reading a scenario."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_sm_prefer.sandbox.scenario import Scenario


def as_scenario(given: Scenario | Mapping[str, Any] | Path | str | None) -> Scenario:
    """Return a scenario, however it is given."""
    if given is None:
        return Scenario()
    if isinstance(given, Scenario):
        return given
    raise NotImplementedError
