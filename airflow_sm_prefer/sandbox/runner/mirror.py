"""Folders that are copied to S3 while a job runs: checkpoints, and a processing job's outputs."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from airflow_sm_prefer.sandbox.runner.storage import Storage, files_below

_Mark = tuple[int, int]


class Mirror:
    """Copies one folder of each host to a prefix in S3.

    Args:
        storage: S3.
        address: ``s3://bucket/prefix``.
        folders: One folder a host; there may be none yet.
        deletes: Whether an object goes when no host has its file any more. Checkpoints do
            (https://docs.aws.amazon.com/sagemaker/latest/dg/model-checkpoints.html).
        follow: Whether symbolic links are followed. A processing job's outputs don't
            (https://docs.aws.amazon.com/sagemaker/latest/dg/byoc-input-and-output.html).
        continuous: Whether it is copied while the job runs, and not only at its end.
    """

    def __init__(
        self,
        storage: Storage,
        address: str,
        folders: Sequence[Path],
        *,
        deletes: bool = False,
        follow: bool = True,
        continuous: bool = True,
    ) -> None:
        self._storage, self._address, self._folders = storage, address.rstrip("/"), folders
        self._deletes, self._follow = deletes, follow
        self.continuous = continuous
        self._copied: dict[Path, _Mark] = {}
        self._names: set[str] = set()

    def note(self) -> None:
        """Take what is there now for copied: it has just come from S3."""
        for files in self._files():
            self._names.update(files)
            self._copied.update((path, mark) for path in files.values() if (mark := _mark(path)))

    def push(self) -> None:
        """Copy what has changed since the last time.

        Raises:
            RunFailed: S3 doesn't take it.
        """
        names: set[str] = set()
        marks: dict[Path, _Mark] = {}
        for files in self._files():
            for name, path in files.items():
                mark = self._copy(name, path)
                if mark is not None:
                    names.add(name)
                    marks[path] = mark
        if self._deletes:
            for name in self._names - names:
                self._storage.delete(f"{self._address}/{name}")
        self._names, self._copied = names, marks

    def _files(self) -> list[dict[str, Path]]:
        return [files_below(folder, follow=self._follow) for folder in self._folders]

    def _copy(self, name: str, path: Path) -> _Mark | None:
        """Copy a file unless it is as it was; None if it has gone since it was listed."""
        mark = _mark(path)
        if mark is None or self._copied.get(path) == mark:
            return mark
        with contextlib.suppress(FileNotFoundError):
            self._storage.put(f"{self._address}/{name}", path.read_bytes())
            return mark
        return None


def _mark(path: Path) -> _Mark | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size
