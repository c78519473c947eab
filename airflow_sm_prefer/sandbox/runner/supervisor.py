"""Runs one container's command, and lets nothing of it outlive it. A program of its own, on the standard library only.

It reads one line of JSON from its standard input, which then stays open: when that ends, the sandbox is gone or wants
the container gone, and every process of it is killed at once. SIGTERM goes on to the command alone, as Docker's init
passes it on. When the command ends, whatever it has left running is killed too: orphans come to this program, since
Linux makes it their parent (PR_SET_CHILD_SUBREAPER), even those in sessions of their own.

The line has ``command``, ``environment``, ``workdir``, ``namespace`` (whether to make a mount namespace), ``mounts``
(pairs of a folder or file and the place it is to be seen at) and ``scratch`` (an empty folder that may be covered).
"""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

#: Exit codes, as of ``docker run``: it couldn't be set up, isn't executable, isn't there, was killed.
NOT_SET_UP, NOT_EXECUTABLE, NOT_FOUND, KILLED = 125, 126, 127, 128 + signal.SIGKILL

_CLONE_NEWNS, _CLONE_NEWUSER = 0x00020000, 0x10000000
_MS_BIND, _MS_REC, _MS_PRIVATE = 0x1000, 0x4000, 0x40000
_PR_SET_CHILD_SUBREAPER = 36


def main() -> int:
    """Run what the line says; returns its exit code, 128 and the signal's number where a signal ended it."""
    lifeline = sys.stdin.fileno()
    task = json.loads(_line(lifeline) or "null")
    if task is None:
        return KILLED
    _adopt_orphans()
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    # Held back until there is a command to pass it on to.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    command = os.fork()
    if command == 0:
        _become(task)
    signal.signal(signal.SIGTERM, lambda *_: _send(command, signal.SIGTERM))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    code = _watch(command, woken, lifeline)
    _kill_all(command)
    return code


def _line(descriptor: int) -> str:
    """Read up to the line's end and nothing beyond; what ends before that is no task."""
    read = bytearray()
    while not read.endswith(b"\n"):
        part = os.read(descriptor, 65536)
        if not part:
            return ""
        read += part
    return read.decode()


def _adopt_orphans() -> None:
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _watch(command: int, woken: int, lifeline: int) -> int:
    while True:
        code = _reap(command)
        if code is not None:
            return code
        ready, _, _ = select.select([woken, lifeline], [], [])
        if lifeline in ready:
            return KILLED
        os.read(woken, 4096)


def _reap(command: int) -> int | None:
    """Bury what has ended; returns the command's exit code if it is among that."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return None
        if pid == command:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _kill_all(command: int) -> None:
    """Kill until nothing is left: the children of one that dies become ours before it can be buried."""
    _send(-command, signal.SIGKILL)
    while True:
        for pid in _children():
            _send(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _send(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return


def _children() -> Iterator[int]:
    own = str(os.getpid())
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name in brackets may hold anything; the state and the parent come after it.
            after = path.read_text(errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        if after[1] == own:
            yield int(path.parent.name)


# -- in the container ------------------------------------------------------------------------------------


def _become(task: Mapping[str, Any]) -> NoReturn:
    signal.set_wakeup_fd(-1)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
    os.setsid()
    try:
        if task["namespace"]:
            _unshare()
            _mount_all(task["mounts"], task["scratch"])
        os.chdir(task["workdir"])
    except OSError as error:
        _give_up(f"sandbox: the container could not be set up: {error}", NOT_SET_UP)
    no_input = os.open(os.devnull, os.O_RDONLY)
    os.dup2(no_input, 0)
    _execute(task["command"], task["environment"])


def _execute(command: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    name = command[0]
    try:
        os.execvpe(name, list(command), dict(environment))  # noqa: S606 - what the container is for
    except (FileNotFoundError, NotADirectoryError):
        where = "no such file or directory" if "/" in name else "executable file not found in $PATH"
        _give_up(f'exec: "{name}": {where}', NOT_FOUND)
    except OSError as error:
        _give_up(f'exec: "{name}": {str(error.strerror).lower()}', NOT_EXECUTABLE)


def _give_up(why: str, code: int) -> NoReturn:
    os.write(2, f"{why}\n".encode())
    os._exit(code)


def _unshare() -> None:
    user, group = os.geteuid(), os.getegid()
    _call("unshare", _CLONE_NEWNS | (_CLONE_NEWUSER if user else 0))
    if user:
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        Path("/proc/self/gid_map").write_text(f"0 {group} 1")
    _call("mount", None, b"/", None, _MS_REC | _MS_PRIVATE, None)


def _mount_all(mounts: Sequence[tuple[str, str]], scratch: str) -> None:
    for source, target in mounts:
        place = Path(target)
        if not place.exists():
            _make_place(place, Path(scratch))
        _bind(Path(source), place)


def _make_place(folder: Path, scratch: Path) -> None:
    """Make a mount point; where its parent can't be written to, in a copy of that which only this container sees."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        _cover(folder.parent, scratch)
        folder.mkdir()


def _cover(folder: Path, scratch: Path) -> None:
    """Put an empty file system over a folder, with the folder's entries bound into it."""
    _bind(folder, scratch)
    _call("mount", b"tmpfs", bytes(folder), b"tmpfs", 0, None)
    for entry in scratch.iterdir():
        place = folder / entry.name
        if entry.is_symlink():
            place.symlink_to(entry.readlink())
        elif entry.is_dir():
            place.mkdir()
            _bind(entry, place)
        else:
            place.touch()
            _bind(entry, place)


def _bind(source: Path, target: Path) -> None:
    _call("mount", bytes(source), bytes(target), None, _MS_BIND | _MS_REC, None)


def _call(name: str, *arguments: Any) -> None:
    """Call a function of the C library."""
    wide = [ctypes.c_ulong(argument) if isinstance(argument, int) else argument for argument in arguments]
    if getattr(ctypes.CDLL(None, use_errno=True), name)(*wide) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


if __name__ == "__main__":
    sys.exit(main())
