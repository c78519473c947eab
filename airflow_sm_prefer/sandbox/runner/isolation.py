"""How a job gets its literal ``/opt/ml``.

Where the system allows it, each host runs in a mount namespace of its own, in which its folder lies over ``/opt/ml``:
nothing of it is visible outside, and nothing is left behind. The mount point itself, an empty ``/opt/ml``, is created
once on the machine if it isn't there and we may. Elsewhere paths are rewritten: in arguments, in the environment, and
in the text files that the job brings along.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from enum import StrEnum
from functools import cache
from pathlib import Path

ML = "/opt/ml"

#: Text files beyond this size are data, not scripts.
_LARGEST_SCRIPT = 1_000_000
_SCRIPT_SUFFIXES = frozenset({".py", ".sh", ".json", ".yaml", ".yml", ".txt", ".cfg", ".toml", ".ini"})


class Isolation(StrEnum):
    """How ``/opt/ml`` is made the job's own."""

    NAMESPACE = "namespace"
    REWRITTEN = "rewritten"


def in_namespace(command: Sequence[str], root: Path, workdir: str) -> list[str]:
    """Wrap a command so that it sees a folder as ``/opt/ml`` and runs in a directory.

    Args:
        command: What to run.
        root: The folder.
        workdir: The directory, as the job sees it.
    """
    # The mount point may have been tidied away since it was made.
    mount = f"mkdir -p {ML} && mount --bind {shlex.quote(str(root))} {ML}"
    script = f"{mount} && cd {shlex.quote(workdir)} && exec {shlex.join(command)}"
    return [*_unshare(), "sh", "-c", script]


def rewritten(text: str, root: Path) -> str:
    """Return a text with ``/opt/ml`` replaced by a folder."""
    return text.replace(ML, str(root))


def rewrite_scripts(folder: Path, root: Path) -> None:
    """Rewrite ``/opt/ml`` in the scripts and settings below a folder."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.suffix not in _SCRIPT_SUFFIXES:
            continue
        if path.stat().st_size > _LARGEST_SCRIPT:
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if ML in text:
            path.write_text(rewritten(text, root), encoding="utf-8")


@cache
def best_isolation() -> Isolation:
    """Try what this machine allows, once."""
    if shutil.which("unshare") is None or not _mount_point():
        return Isolation.REWRITTEN
    trial = in_namespace(["true"], Path("/tmp"), "/")  # noqa: S108 - any folder will do
    tried = subprocess.run(trial, capture_output=True, check=False)
    return Isolation.NAMESPACE if tried.returncode == 0 else Isolation.REWRITTEN


def _unshare() -> list[str]:
    as_user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *as_user, "--mount", "--propagation", "private", "--"]


def _mount_point() -> bool:
    try:
        Path(ML).mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return True
