"""What a container finds on its PATH: the image's Python under its usual names, and a pip that installs nothing.

A job runs on a Python of this machine, and what it installed there would stay. So ``pip install`` says that nothing is
installed and succeeds, by either name and as ``python -m pip``; the packages are those that Python has.
"""

from __future__ import annotations

import shlex
from pathlib import Path

_PYTHONS = ("python", "python3")
_PIPS = ("pip", "pip3")
_PIP_MODULE = """\
import sys

print("sandbox: pip", *sys.argv[1:])
print("sandbox: nothing is installed; this job has the packages of", sys.executable)
"""


def write_shims(folder: Path, python: str) -> None:
    """Write them into a folder, which is made.

    Args:
        folder: :func:`path_folder` of it belongs on the PATH, and :func:`module_folder` on the PYTHONPATH.
        python: The interpreter that stands for the image.
    """
    programs, module = path_folder(folder), module_folder(folder) / "pip"
    programs.mkdir(parents=True)
    module.mkdir(parents=True)
    (module / "__init__.py").touch()
    (module / "__main__.py").write_text(_PIP_MODULE, encoding="utf-8")
    for name in _PYTHONS:
        _write_program(programs / name, python)
    for name in _PIPS:
        _write_program(programs / name, python, "-m", "pip")


def path_folder(folder: Path) -> Path:
    """Return where the programs lie."""
    return folder / "bin"


def module_folder(folder: Path) -> Path:
    """Return where the module lies."""
    return folder / "modules"


def _write_program(path: Path, *command: str) -> None:
    path.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
