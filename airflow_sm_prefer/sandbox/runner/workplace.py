"""The folder that a runner's jobs lie in, and what one that died has left of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from pathlib import Path
from uuid import uuid4

_PREFIX = "sandbox-"
_LOCK = ".lock"


class Workplace:
    """A folder of one runner's own below a working directory, which others may share.

    It holds a file that is locked for as long as this process lives. A folder whose lock is free belongs to nobody any
    more and is removed when the next runner comes.

    Args:
        workdir: The working directory; nothing else in it is touched.

    Attributes:
        folder: The folder; :meth:`open` makes it.
    """

    def __init__(self, workdir: Path) -> None:
        workdir = workdir.absolute()
        for folder in workdir.glob(f"{_PREFIX}*"):
            _remove_if_left(folder)
        self.folder = workdir / f"{_PREFIX}{uuid4().hex}"
        self._lock: int | None = None

    def open(self) -> None:
        """Make the folder, unless it is there."""
        if self._lock is None:
            self.folder.mkdir(parents=True)
            self._lock = os.open(self.folder / _LOCK, os.O_CREAT | os.O_RDWR)
            fcntl.flock(self._lock, fcntl.LOCK_EX)

    def close(self) -> None:
        """Remove it."""
        if self._lock is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
            os.close(self._lock)
            self._lock = None


def _remove_if_left(folder: Path) -> None:
    with contextlib.suppress(OSError):
        lock = os.open(folder / _LOCK, os.O_RDWR)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _remove(folder)
        finally:
            os.close(lock)


def _remove(folder: Path) -> None:
    """Remove a folder, its lock last: what a dying job still writes to goes when the next runner comes."""
    for child in folder.iterdir():
        if child.is_dir() and not child.is_symlink():
            shutil.rmtree(child, ignore_errors=True)
        elif child.name != _LOCK:
            child.unlink()
    if [child.name for child in folder.iterdir()] == [_LOCK]:
        shutil.rmtree(folder, ignore_errors=True)
