"""A file of JSON values that is only ever added to, and shows any damage.

Each line is ``<length> <checksum> <JSON>``: the length of the JSON in bytes, and its CRC-32, which goes on from that of
the line before. So a byte that has changed, and a line that was taken out, doubled or moved, are found at once.

A process that is killed leaves whole lines, and at most the beginning of one more. Such a beginning was never answered
to anybody, and is cut off. Lines are handed to the system, not forced onto the disk: they outlive the process, but not
a power failure.
"""

from __future__ import annotations

import gc
import json
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from airflow_sm_prefer.errors import StateUnreadable

VERSION = 1
"""Of everything that is kept in a state folder. A later one is never read."""

_PREFIX = re.compile(rb"(\d+) ([0-9a-f]{8}) ")
_BEGUN_PREFIX = re.compile(rb"\d*|\d+ [0-9a-f]{0,8}")

_WRITER = json.JSONEncoder(separators=(",", ":"))
_READER = json.JSONDecoder()

Header = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a journal, read.

    Attributes:
        number: Which, from 1.
        value: What it says.
        end: Where the next one begins, in bytes.
        checksum: Where the next one's checksum goes on from.
    """

    number: int
    value: Any
    end: int
    checksum: int


class Journal:
    """One such file, open to be added to. Its first line is a header; the values follow.

    Args:
        path: The file.
        header: What the first line says.
        end: Where the file ends, in bytes; whatever is behind that is cut off.
        checksum: Of the last line.

    Attributes:
        size: Its length in bytes.
    """

    def __init__(self, path: Path, header: Header, end: int, checksum: int) -> None:
        self.path, self.header, self.size = path, header, end
        self._checksum = checksum
        self._file = os.open(path, os.O_WRONLY)
        os.ftruncate(self._file, end)
        os.lseek(self._file, end, os.SEEK_SET)

    @classmethod
    def create(cls, path: Path, header: Header, values: Iterable[Any] = ()) -> Journal:
        """Write a new file, or replace one as a whole, at one instant."""
        new = path.with_name(f"{path.name}.new")
        with open(new, "wb", opener=_private) as file:
            checksum = 0
            for value in (header, *values):
                line, checksum = written(value, checksum)
                file.write(line)
            end = file.tell()
        new.replace(path)
        return cls(path, header, end, checksum)

    @classmethod
    def opened(cls, path: Path, lines: Sequence[Line]) -> Journal:
        """Return a file that has been read, to go on with it."""
        return cls(path, lines[0].value, lines[-1].end, lines[-1].checksum)

    def append(self, value: Any) -> None:
        """Add a value; when this returns, a kill of the process can't take it back.

        Raises:
            OSError: it can't be written; nothing was added.
        """
        line, checksum = written(value, self._checksum)
        try:
            _write_all(self._file, line)
        except OSError:
            if self._file >= 0:
                os.ftruncate(self._file, self.size)
                os.lseek(self._file, self.size, os.SEEK_SET)
            raise
        self._checksum = checksum
        self.size += len(line)

    def replaced(self, values: Iterable[Any]) -> Journal:
        """Return the file with these values instead of all that it has; this one is closed."""
        new = Journal.create(self.path, self.header, values)
        self.close()
        return new

    def close(self) -> None:
        """Close the file; nothing can be added any more."""
        os.close(self._file)
        self._file = -1


@contextmanager
def uncollected() -> Iterator[None]:
    """Hold the garbage collector off while a state is read: it would go through it again and again, and all stays."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def written(value: Any, before: int) -> tuple[bytes, int]:
    """Return the line that says a value, and its checksum.

    Args:
        value: Anything that JSON can hold.
        before: The checksum of the line before, 0 for the first.
    """
    body = _WRITER.encode(value).encode()
    checksum = zlib.crc32(body, before)
    return b"%d %08x %b\n" % (len(body), checksum, body), checksum


def read(path: Path) -> Iterator[Line]:
    """Yield the lines of a journal, its header first; the beginning of a line at the end is left out.

    Raises:
        StateUnreadable: the file isn't there or has damage, or a later version has written it.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StateUnreadable(f"{path} can't be read: {error.strerror}. {_ADVICE}") from None
    begin, checksum, number = 0, 0, 0
    while not _is_torn(data, begin):
        number += 1
        line = _line(path, data, begin, number, checksum)
        if number == 1:
            _check_header(path, line.value)
        yield line
        begin, checksum = line.end, line.checksum
    if number == 0:
        raise _damaged(path, 1, 0, "there is no whole line in the file")


def _is_torn(data: bytes, begin: int) -> bool:
    """Whether what is left of a file is at most the beginning of a line, as a killed process leaves it."""
    if data.find(b"\n", begin) >= 0:
        return False
    prefix = _PREFIX.match(data, begin)
    if prefix is None:
        return _BEGUN_PREFIX.fullmatch(data, begin) is not None
    return len(data) <= prefix.end() + int(prefix.group(1))


def _line(path: Path, data: bytes, begin: int, number: int, before: int) -> Line:
    prefix = _PREFIX.match(data, begin)
    if prefix is None:
        raise _damaged(path, number, begin, "the line doesn't begin with a length and a checksum")
    end = prefix.end() + int(prefix.group(1))
    body = data[prefix.end() : end]
    if data[end : end + 1] != b"\n":
        raise _damaged(path, number, begin, "the line has another length than it says")
    checksum = zlib.crc32(body, before)
    if checksum != int(prefix.group(2), 16):
        raise _damaged(path, number, begin, "the checksum is wrong: bytes have changed, or a line before is missing")
    return Line(number, _READER.decode(body.decode()), end + 1, checksum)


def _check_header(path: Path, header: Any) -> None:
    if not isinstance(header, dict) or header.get("file") != path.name or not {"state", "version"} <= header.keys():
        raise _damaged(path, 1, 0, f"the file doesn't say that it is the {path.name} of a sandbox's state")
    version = header["version"]
    if version != VERSION:
        raise StateUnreadable(
            f"{path} was written in version {version} of the format, and this sandbox reads version {VERSION}. "
            "Start the version of airflow-sm-prefer that wrote it, or give --state another folder."
        )


_ADVICE = (
    "Nothing was changed. Put the file back from a copy, or give --state another folder to begin with a new state."
)


def _damaged(path: Path, number: int, begin: int, what: str) -> StateUnreadable:
    return StateUnreadable(f"{path}, line {number} (byte {begin}): {what}. {_ADVICE}")


def _write_all(file: int, data: bytes) -> None:
    while data:
        data = data[os.write(file, data) :]


def _private(path: str, flags: int) -> int:
    """Open a file that nobody else may read: requests hold what people put into them."""
    return os.open(path, flags, 0o600)
