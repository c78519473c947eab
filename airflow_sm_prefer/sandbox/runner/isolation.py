"""How a job gets its literal ``/opt/ml``.

Where the system allows it, each host runs in a mount namespace of its own, in which its folder lies over ``/opt/ml``:
nothing of it is visible outside, what this machine has there isn't touched, and nothing is left behind. The mount point
itself, an empty ``/opt/ml``, is created once on the machine if it isn't there and we may; if we may not, it is there
for the job only. Elsewhere paths are rewritten: in arguments, in the environment, and in the text files that the job
brings along.
"""

from __future__ import annotations

import re
import sys
import tempfile
from enum import StrEnum
from functools import cache
from pathlib import Path

from airflow_sm_prefer.sandbox.runner.process import Launch, supervised

ML = "/opt/ml"

#: ``/opt/ml`` as whole parts of a path that begins there: not in ``/opt/mlflow``, ``s3://x/opt/ml`` or ``{x}/opt/ml``.
_ML = re.compile(r"(?<![\w.})-])/opt/ml(?![\w-])(?!\.\w)")

#: Text files beyond this size are data, not scripts.
_LARGEST_SCRIPT = 1_000_000
_SCRIPT_SUFFIXES = frozenset({".py", ".sh", ".json", ".yaml", ".yml", ".txt", ".cfg", ".toml", ".ini"})


class Isolation(StrEnum):
    """How ``/opt/ml`` is made the job's own."""

    NAMESPACE = "namespace"
    REWRITTEN = "rewritten"


def rewritten(text: str, root: Path) -> str:
    """Return a text with ``/opt/ml`` replaced by a folder."""
    return _ML.sub(lambda _: str(root), text)


def rewrite_scripts(folder: Path, root: Path) -> None:
    """Rewrite ``/opt/ml`` in the scripts and settings below a folder."""
    for path in folder.rglob("*"):
        if path.is_symlink() or not path.is_file() or path.suffix not in _SCRIPT_SUFFIXES:
            continue
        if path.stat().st_size > _LARGEST_SCRIPT:
            continue
        try:
            text = path.read_bytes().decode("utf-8")
        except UnicodeDecodeError:
            continue
        changed = rewritten(text, root)
        if changed != text:
            path.write_bytes(changed.encode("utf-8"))


@cache
def best_isolation() -> Isolation:
    """Try what this machine allows, once."""
    if sys.platform != "linux":
        return Isolation.REWRITTEN
    with tempfile.TemporaryDirectory() as root, tempfile.TemporaryDirectory() as scratch:
        launch = Launch([sys.executable, "-I", "-S", "-c", ""], {}, ML, True, [(root, ML)], scratch)
        with supervised(launch) as trial:
            tried = trial.wait()
    return Isolation.NAMESPACE if tried == 0 else Isolation.REWRITTEN
