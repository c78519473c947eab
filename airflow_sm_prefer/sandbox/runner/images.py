"""Which Python on this machine stands for a container image."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.runner.failures import NO_IMAGE, RunFailed

_PYTHONS = ("python", "python3")


class ImageTable:
    """Patterns of image addresses and the interpreters that stand for them.

    Args:
        interpreters: By pattern (``*sklearn*``), the path of a Python, or its name, found as a shell finds it here; the
            first that fits is taken, an empty path stands for an image that can't be pulled, and an image that no
            pattern fits runs on our own Python.

    Raises:
        InvalidSetting: there is no such program.
    """

    def __init__(self, interpreters: Mapping[str, str] | None = None) -> None:
        # A job has a folder and a PATH of its own, on which every Python is its image's.
        self._interpreters = {pattern: _whole(path, pattern) for pattern, path in (interpreters or {}).items()}

    def python_for(self, image: str) -> str:
        """Return the interpreter for an image.

        Raises:
            RunFailed: there is no such image.
        """
        for pattern, path in self._interpreters.items():
            if fnmatchcase(image, pattern):
                if not path:
                    raise RunFailed(NO_IMAGE)
                return path
        return sys.executable

    def command(self, image: str, entrypoint: Sequence[str], arguments: Sequence[str]) -> list[str]:
        """Return the command of a container: its entrypoint, with the image's Python, and its arguments.

        Raises:
            RunFailed: there is no such image, or it has no entrypoint that could be known here.
        """
        python = self.python_for(image)
        if not entrypoint:
            msg = (
                "ClientError: the sandbox can't know what an image runs by itself. Give it ContainerEntrypoint, or "
                "sagemaker_program and sagemaker_submit_directory."
            )
            raise RunFailed(msg)
        first = python if entrypoint[0] in _PYTHONS else entrypoint[0]
        if first.endswith(".py"):
            return [python, first, *entrypoint[1:], *arguments]
        return [first, *entrypoint[1:], *arguments]


def _whole(path: str, pattern: str) -> str:
    if not path:
        return ""
    program = shutil.which(Path(path).expanduser())
    if program is None:
        how = "give the path of a Python, or an empty one for an image that can't be pulled"
        msg = f"images: {pattern!r} is to run on {path!r}, which is no program here; {how}"
        raise InvalidSetting(msg)
    return str(Path(program).absolute())
