"""Who runs in a demo's folder: kept as JSON, so that a later command can stop it, and held by a lock meanwhile."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from airflow_sm_prefer.cli.demo.errors import DemoError
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.processes import Service


@dataclass(frozen=True, slots=True)
class Record:
    """The services of a demo.

    Attributes:
        ui: Where its Airflow UI is.
        kept: Whether they were left running on purpose, or by a command that was killed.
        services: In the order in which they started.
    """

    ui: str
    kept: bool
    services: tuple[Service, ...]

    def is_running(self) -> bool:
        """Return whether any of them still runs."""
        return any(service.is_running() for service in self.services)

    def save(self, home: Home) -> None:
        """Write it down; a reader sees the old or the new one, never a half."""
        data = {"ui": self.ui, "kept": self.kept, "services": [service.to_json() for service in self.services]}
        draft = home.record.with_suffix(".new")
        draft.write_text(json.dumps(data, indent=2))
        draft.replace(home.record)


def load(home: Home) -> Record | None:
    """Return the record of a folder, or None if nothing runs there that we know of.

    A file that can't be read as one is no reason to fail: it names nothing that could be stopped.
    """
    try:
        data = json.loads(home.record.read_text())
        return Record(data["ui"], data["kept"], tuple(Service(**service) for service in data["services"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget(home: Home) -> None:
    """Remove the record."""
    home.record.unlink(missing_ok=True)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Hold the folder's lock; the system lets go of it however this process ends.

    Raises:
        DemoError: another command holds it.
    """
    with path.open("w") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            msg = f"Another demo is at work in {path.parent}.\nWait for it, or give this one another folder: --home DIR"
            raise DemoError(msg) from error
        yield
