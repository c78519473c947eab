"""S3's objects as files: an index that is a journal, and contents by their SHA-256."""

from __future__ import annotations

import hashlib
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.sandbox.state.folder import StateFolder, usable

Place = tuple[str, str]
"""A bucket and a key."""

Meta = dict[str, Any]
"""What S3 knows of an object besides its content; JSON-clean."""

SLACK = 1000
"""How many lines more than objects the index may have, at least, before it is written anew."""


class ObjectStore:
    """The objects that S3 has, kept in a state folder.

    Args:
        folder: The folder; its ``objects`` lines say what there is, the last of a place wins.

    Raises:
        InvalidSetting: the folder can't be written to.
        StateUnreadable: a content is missing.
    """

    def __init__(self, folder: StateFolder) -> None:
        self._folder = folder
        self._blobs = folder.subfolder("blobs")
        self._index: dict[Place, tuple[str, Meta]] = {}
        self._uses: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._lines = 0
        for value in folder.values.pop("objects"):
            self._apply(value)
        with usable(self._blobs):
            self._sweep()

    def meta(self, place: Place) -> Meta | None:
        """Return what is kept of an object besides its content, None if there is none at that place."""
        with self._lock:
            return self._index[place][1] if place in self._index else None

    def places(self) -> list[Place]:
        """Return where there are objects."""
        with self._lock:
            return list(self._index)

    def put(self, place: Place, content: bytes, meta: Meta) -> None:
        """Keep an object; one that was at its place is forgotten."""
        digest = hashlib.sha256(content).hexdigest()
        with self._lock:
            if not self._uses[digest]:
                _write(self._blobs / digest, content)
            self._add(_line(place, digest, meta))

    def drop(self, place: Place) -> None:
        """Forget the object at a place, if there is one."""
        with self._lock:
            if place in self._index:
                self._add({"place": list(place)})

    def objects(self) -> Iterator[tuple[Place, bytes, Meta]]:
        """Yield every object.

        Raises:
            StateUnreadable: a content is damaged, or can't be read.
        """
        for place, (digest, meta) in list(self._index.items()):
            try:
                content = (self._blobs / digest).read_bytes()
            except OSError as error:
                raise _lost(self._blobs / digest, place, f"can't be read ({error.strerror})") from None
            if hashlib.sha256(content).hexdigest() != digest:
                raise _lost(self._blobs / digest, place, "has changed")
            yield place, content, meta

    def _add(self, value: dict[str, Any]) -> None:
        self._folder["objects"].append(value)
        self._release(self._apply(value))
        if self._lines > 2 * len(self._index) + SLACK:
            self._folder.replace("objects", [_line(place, *kept) for place, kept in self._index.items()])
            self._lines = len(self._index)

    def _apply(self, value: dict[str, Any]) -> str | None:
        """Take over a line; returns the content that it makes superfluous."""
        self._lines += 1
        bucket, key = value["place"]
        before = self._index.pop((bucket, key), None)
        if "content" in value:
            self._index[bucket, key] = (value["content"], value["meta"])
            self._uses[value["content"]] += 1
        if before is not None:
            self._uses[before[0]] -= 1
        return None if before is None else before[0]

    def _release(self, digest: str | None) -> None:
        if digest is not None and self._uses[digest] <= 0:
            del self._uses[digest]
            (self._blobs / digest).unlink(missing_ok=True)

    def _sweep(self) -> None:
        """See that every content is there, and remove what no object has: a kill may have come in between."""
        there = {path.name for path in self._blobs.iterdir()}
        for place, (digest, _) in self._index.items():
            if digest not in there:
                raise _lost(self._blobs / digest, place, "is missing")
        for name in there - {digest for digest, _ in self._index.values()}:
            (self._blobs / name).unlink()


def _line(place: Place, digest: str, meta: Meta) -> dict[str, Any]:
    return {"place": list(place), "content": digest, "meta": meta}


def _write(path: Path, content: bytes) -> None:
    """Write a file at one instant."""
    new = path.with_name(f"{path.name}.new")
    try:
        new.write_bytes(content)
        new.replace(path)
    except OSError:
        # On a full disk every bit of room counts.
        new.unlink(missing_ok=True)
        raise


def _lost(path: Path, place: Place, what: str) -> StateUnreadable:
    return StateUnreadable(
        f"{path} {what}: it is the content of s3://{'/'.join(place)}. "
        "Put the file back from a copy, or give --state another folder to begin with a new state."
    )
