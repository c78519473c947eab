"""A file that survives being cut off anywhere, and hides no damage."""

import gc
import os
import stat
from pathlib import Path

import pytest

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.sandbox.state.journal import VERSION, Journal, read, uncollected, written

HEADER = {"file": "journal", "state": "s", "version": VERSION}
VALUES = [{"job": "a"}, {"job": "ü", "n": [1, 2.5, None]}, {"job": "c", "text": "two\nlines"}]


def journal(folder: Path, values=VALUES) -> Path:
    file = Journal.create(folder / "journal", HEADER)
    for value in values:
        file.append(value)
    file.close()
    return folder / "journal"


def values(path: Path) -> list:
    return [line.value for line in read(path)][1:]


def test_what_was_appended_is_read_in_order(tmp_path):
    path = journal(tmp_path)
    assert values(path) == VALUES
    assert [line.number for line in read(path)] == [1, 2, 3, 4]


def test_nobody_else_may_read_it(tmp_path):
    assert stat.S_IMODE(journal(tmp_path).stat().st_mode) == 0o600


def test_a_file_cut_off_anywhere_has_the_whole_lines_before_the_cut(tmp_path):
    data = journal(tmp_path).read_bytes()
    ends = [line.end for line in read(tmp_path / "journal")]
    for cut in range(ends[0], len(data) + 1):
        (tmp_path / "journal").write_bytes(data[:cut])
        assert values(tmp_path / "journal") == VALUES[: sum(end <= cut for end in ends[1:])]


def test_a_torn_line_is_replaced_by_what_follows(tmp_path):
    path = journal(tmp_path)
    path.write_bytes(path.read_bytes()[:-3])
    file = Journal.opened(path, list(read(path)))
    file.append({"job": "d"})
    assert file.size == path.stat().st_size
    file.close()
    assert values(path) == [*VALUES[:2], {"job": "d"}]


def test_every_changed_byte_is_found_and_its_line_is_named(tmp_path):
    data = journal(tmp_path).read_bytes()
    lines = list(read(tmp_path / "journal"))
    begins = [0, *(line.end for line in lines)]
    for place in range(len(data)):
        for flip in (0x01, 0x20, 0xFF):
            (tmp_path / "journal").write_bytes(data[:place] + bytes([data[place] ^ flip]) + data[place + 1 :])
            with pytest.raises(StateUnreadable) as caught:
                values(tmp_path / "journal")
            number = sum(begin <= place for begin in begins)
            # A line end that is gone shows in its line; one that has come up, in the line it is in.
            assert f"{tmp_path}/journal, line {number} (byte " in str(caught.value)
            assert "Nothing was changed" in str(caught.value)


@pytest.mark.parametrize("order", [(0, 2, 3), (0, 1, 3), (0, 1, 1, 2, 3), (0, 2, 1, 3), (1, 2, 3)])
def test_lines_that_are_missing_doubled_or_moved_are_found(tmp_path, order):
    path = journal(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[number] for number in order))
    with pytest.raises(StateUnreadable, match="journal, line "):
        values(path)


@pytest.mark.parametrize("content", [b"", b"12", b"12 0a0b0c0d {"])
def test_a_file_without_a_whole_line_is_damaged(tmp_path, content):
    (tmp_path / "journal").write_bytes(content)
    with pytest.raises(StateUnreadable, match=r"line 1 \(byte 0\): there is no whole line"):
        values(tmp_path / "journal")


@pytest.mark.parametrize("header", [{**HEADER, "file": "record"}, {"file": "journal"}, ["journal"]])
def test_a_file_of_another_sort_is_refused(tmp_path, header):
    (tmp_path / "journal").write_bytes(written(header, 0)[0])
    with pytest.raises(StateUnreadable, match="doesn't say that it is the journal"):
        values(tmp_path / "journal")


def test_a_later_version_is_named(tmp_path):
    Journal.create(tmp_path / "journal", {**HEADER, "version": VERSION + 1}).close()
    with pytest.raises(StateUnreadable, match=f"in version {VERSION + 1} of the format.* reads version {VERSION}"):
        values(tmp_path / "journal")


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(StateUnreadable, match="journal can't be read: No such file"):
        values(tmp_path / "journal")


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    path = journal(tmp_path)
    file = Journal.opened(path, list(read(path)))
    really_write = os.write
    calls = []

    def full(number: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 1:
            return really_write(number, data[:5])
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        with pytest.raises(OSError, match="No space left"):
            file.append({"job": "lost"})
    file.append({"job": "d"})
    assert values(path) == [*VALUES, {"job": "d"}]


def test_a_file_is_replaced_as_a_whole_and_goes_on(tmp_path):
    path = journal(tmp_path)
    file = Journal.opened(path, list(read(path))).replaced([{"jobs": 3}])
    file.append({"job": "d"})
    assert values(path) == [{"jobs": 3}, {"job": "d"}]
    assert [child.name for child in tmp_path.iterdir()] == ["journal"]


def test_nothing_can_be_added_to_a_closed_file(tmp_path):
    path = journal(tmp_path)
    file = Journal.opened(path, list(read(path)))
    file.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        file.append({"job": "d"})
    assert values(path) == VALUES


def test_the_collector_is_as_it_was_after_a_state_is_read():
    with uncollected():
        assert not gc.isenabled()
        with uncollected():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
