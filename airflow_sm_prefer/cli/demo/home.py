"""The folder that a demo lives in: what is where, and making it fresh without touching anything else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import airflow_sm_prefer
from airflow_sm_prefer.cli.demo.errors import DemoError

PACKAGE = Path(airflow_sm_prefer.__file__).parent
MARKER = ".sm-prefer-demo"


@dataclass(frozen=True, slots=True)
class Home:
    """A demo's folder.

    Attributes:
        path: Absolute.
    """

    path: Path

    @property
    def airflow(self) -> Path:
        """AIRFLOW_HOME of the demo: configuration and database."""
        return self.path / "airflow"

    @property
    def logs(self) -> Path:
        """What the processes print, one file each."""
        return self.path / "logs"

    @property
    def sandbox(self) -> Path:
        """The sandbox's working folder."""
        return self.path / "sandbox"

    @property
    def record(self) -> Path:
        """Who runs here; see :mod:`~airflow_sm_prefer.cli.demo.record`."""
        return self.path / "demo.json"

    @property
    def lock(self) -> Path:
        """Held by the command that works here."""
        return self.path / "demo.lock"

    @property
    def model(self) -> Path:
        """The copy of the model that stays when the sandbox has gone."""
        return self.path / "model.tar.gz"

    def claim(self) -> None:
        """Make the folder, or make sure that it is a demo's own.

        Raises:
            DemoError: it holds something else, or can't be written.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not (self.path / MARKER).exists():
                self._refuse_foreign()
                (self.path / MARKER).write_text("sm-prefer demo keeps its files here and empties it at each start.\n")
        except OSError as error:
            msg = f"The demo can't use {self.path}: {error.strerror}.\nGive it another folder: --home DIR"
            raise DemoError(msg) from error

    def _refuse_foreign(self) -> None:
        if any(self.path.iterdir()):
            msg = f"{self.path} is not empty and no demo has run there.\nGive the demo an empty folder: --home DIR"
            raise DemoError(msg)

    def clear(self) -> None:
        """Remove what an earlier demo left, and make the folders for the next."""
        for folder in (self.airflow, self.logs, self.sandbox):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        self.model.unlink(missing_ok=True)


def default_home() -> Path:
    """Return ``.demo`` in the project when this is a checkout of it, else in the working folder."""
    root = PACKAGE.parent
    project = root if (root / "dags").is_dir() and (root / "pyproject.toml").is_file() else Path.cwd()
    return project / ".demo"


def dags_folder() -> Path:
    """Return the folder of the examples: the checkout's, else the one installed with the package.

    Raises:
        DemoError: neither is there.
    """
    for folder in (PACKAGE.parent / "dags", PACKAGE / "example_dags"):
        if (folder / "nightly_training.py").is_file():
            return folder
    msg = f"The example DAGs are missing beside {PACKAGE}.\nInstall the package again, or run the demo from a checkout."
    raise DemoError(msg)
