"""The folder that holds a sandbox's state: its files, whose it is, and whether it is sound.

::

    lock       who uses it; held as long as the process lives
    journal    jobs, and what there is: docs/decisions says what its lines mean
    record     the record of calls and changes of state
    objects    which objects S3 has; their content lies in blobs/
    requests   what the rest of AWS was told
    blobs/     contents of S3 objects, by their SHA-256
    jobs/      where jobs run; nothing in it outlives the process
"""

from __future__ import annotations

import fcntl
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from airflow_sm_prefer.errors import InvalidSetting, StateUnreadable
from airflow_sm_prefer.sandbox.state.journal import VERSION, Journal, Line, read, uncollected

FILES = ("record", "objects", "requests", "journal")
"""The files of a state, in the order in which a new one gets them: without its journal it has not begun."""


class StateFolder:
    """A state folder, in use by this process.

    Args:
        path: The folder; it is made if it isn't there.

    Attributes:
        path: The folder.
        values: What each file held when it was opened, its header left out; empty for a new state.

    Raises:
        InvalidSetting: another sandbox uses it, it holds something else, or it can't be written to.
        StateUnreadable: a file is damaged or missing, or is of a later version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._lock = _lock(self.path)
        self._journals: dict[str, Journal] = {}
        self.values: dict[str, list[Any]] = {name: [] for name in FILES}
        try:
            with usable(self.path):
                self._open()
        except BaseException:
            self.close()
            raise

    @property
    def began(self) -> Any:
        """What :meth:`begin` was given, by this process or an earlier one; None for a state that has not begun."""
        return self._journals["journal"].header["began"] if self._journals else None

    def begin(self, began: Any) -> None:
        """Begin a new state.

        Args:
            began: What it begins with; JSON-clean.

        Raises:
            InvalidSetting: it can't be written.
        """
        state = str(uuid.uuid4())
        with usable(self.path):
            for name in FILES:
                header = {"file": name, "version": VERSION, "state": state}
                if name == "journal":
                    header["began"] = began
                self._journals[name] = Journal.create(self.path / name, header)

    def __getitem__(self, name: str) -> Journal:
        """Return one of the files, to add to."""
        return self._journals[name]

    def replace(self, name: str, values: list[Any]) -> None:
        """Write one of the files anew, at one instant."""
        self._journals[name] = self._journals[name].replaced(values)

    def subfolder(self, name: str) -> Path:
        """Return a folder in this one; it is made if it isn't there.

        Raises:
            InvalidSetting: it can't be made.
        """
        path = self.path / name
        with usable(path):
            path.mkdir(mode=0o700, exist_ok=True)
        return path

    def close(self) -> None:
        """Close the files, and let others have the folder; closing it again does nothing."""
        for journal in self._journals.values():
            journal.close()
        self._journals.clear()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    @uncollected()
    def _open(self) -> None:
        there = [name for name in FILES if (self.path / name).exists()]
        if "journal" not in there and not any(self._has_content(name) for name in there):
            return
        for name in FILES:
            if name not in there:
                raise StateUnreadable(
                    f"{self.path / name} is missing, and belongs to the state in that folder. "
                    "Put it back from a copy, or give --state another folder to begin with a new state."
                )
        lines = {name: list(read(self.path / name)) for name in FILES}
        _check_they_belong_together(self.path, lines)
        lines["record"] = _vouched_for(self.path, lines)
        for name in FILES:
            self._journals[name] = Journal.opened(self.path / name, lines[name])
            self.values[name] = [line.value for line in lines[name][1:]]

    def _has_content(self, name: str) -> bool:
        return len(list(read(self.path / name))) > 1


def _check_they_belong_together(path: Path, lines: dict[str, list[Line]]) -> None:
    wanted = lines["journal"][0].value["state"]
    for name in FILES:
        if lines[name][0].value["state"] != wanted:
            raise StateUnreadable(
                f"{path / name}, line 1: the file belongs to another state than the journal beside it. "
                "Put the right one back, or give --state another folder to begin with a new state."
            )


def _vouched_for(path: Path, lines: dict[str, list[Line]]) -> list[Line]:
    """Return the lines of the record that belong to changes that were made.

    They are written before the change that they tell of, so that a kill may leave some too many, but none too few.
    """
    *_, last = lines["journal"]
    count = last.value["record"] if last.number > 1 else 0
    if len(lines["record"]) - 1 < count:
        raise StateUnreadable(
            f"{path / 'record'} ends after line {len(lines['record'])}, and the journal tells of {count + 1}. "
            "Put the whole file back, or give --state another folder to begin with a new state."
        )
    return lines["record"][: count + 1]


@contextmanager
def usable(path: Path) -> Iterator[None]:
    """Tell of whatever the system refuses in a state folder.

    Raises:
        InvalidSetting: instead of any OSError.
    """
    try:
        yield
    except OSError as error:
        what = error.filename or path
        msg = (
            f"{what} can't hold the sandbox's state: {error.strerror}. "
            "Give --state a folder that can be written to and has room"
        )
        raise InvalidSetting(msg) from None


def _lock(path: Path) -> int:
    """Take a folder for this process; the lock goes with the process, however it ends."""
    with usable(path):
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        others = sorted(child.name for child in path.iterdir())
        if others and "lock" not in others:
            msg = f"{path} is no sandbox's state: it has {others[0]} in it. Give --state a new folder, or an empty one"
            raise InvalidSetting(msg)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _hold(lock, path)
        except BaseException:
            os.close(lock)
            raise
    return lock


def _hold(lock: int, path: Path) -> None:
    """Lock a file for this process, and write into it which that is."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.read(lock, 20).decode(errors="replace").strip()
        msg = f"another sandbox (process {holder}) uses the state in {path}. End it, or give --state another folder"
        raise InvalidSetting(msg) from None
    os.ftruncate(lock, 0)
    os.write(lock, f"{os.getpid()}\n".encode())
