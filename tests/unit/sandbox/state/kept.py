"""A sandbox with a state, and kills."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox import Sandbox, Script, ScriptedRunner
from airflow_sm_prefer.sandbox.control import Control
from tests.unit.sandbox.builders import Bench


class Kept(Bench):
    """A sandbox on a fake clock that keeps a state; :meth:`killed` gives the one that goes on from there."""

    def __init__(
        self,
        folder: Path,
        scenario: dict[str, Any] | None = None,
        *,
        clock: FakeClock | None = None,
        scripts: dict[str, Script] | None = None,
        speed: float | None = None,
    ) -> None:
        self.folder = folder
        self.clock = clock or FakeClock()
        self.scripts = scripts
        self.runner = ScriptedRunner(scripts, Script(seconds=100))
        self.sandbox = Sandbox(scenario, clock=self.clock, speed=speed, runner=self.runner, state=folder)
        self.control = Control(self.sandbox)
        self.call = self.sandbox.call
        self.advance = self.sandbox.advance

    @classmethod
    def begun(cls, folder: Path, scripts: dict[str, Script] | None = None, **scenario: Any) -> Kept:
        return cls(folder, {"rates": False, **scenario}, scripts=scripts)

    def killed(self, *, down: float = 0) -> Kept:
        """Leave the files as they are now, and start again from them after a while."""
        copy = self.copied()
        self.clock.advance(down)
        return Kept(copy, clock=self.clock, scripts=self.scripts)

    def copied(self) -> Path:
        number = len(list(self.folder.parent.iterdir()))
        copy = self.folder.parent / f"state-{number}"
        shutil.copytree(self.folder, copy)
        return copy

    def record(self, what: str | None = None) -> list[dict[str, Any]]:
        return self.sandbox.engine.record.entries(what)
