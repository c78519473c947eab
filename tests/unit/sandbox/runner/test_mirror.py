"""Folders that are copied to S3 while a job runs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner.mirror import Mirror
from airflow_sm_prefer.sandbox.runner.storage import Storage
from tests.unit.sandbox.runner.builders import FakeS3


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


def mirror(s3: FakeS3, *folders: Path, **more: Any) -> Mirror:
    return Mirror(Storage(s3), "s3://data/out/", folders, **more)


def test_what_is_new_or_changed_goes_up_and_nothing_else(s3: FakeS3, tmp_path: Path) -> None:
    copied = mirror(s3, tmp_path)
    (tmp_path / "a").write_text("1")
    copied.push()
    assert s3.data == {"out/a": b"1"}
    s3.data["out/a"] = b"marked"
    (tmp_path / "b").write_text("2")
    copied.push()
    assert s3.data == {"out/a": b"marked", "out/b": b"2"}
    (tmp_path / "a").write_text("longer")
    copied.push()
    assert s3.data["out/a"] == b"longer"


def test_what_has_come_from_s3_does_not_go_back(s3: FakeS3, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    copied = mirror(s3, tmp_path)
    copied.note()
    copied.push()
    assert s3.data == {}


def test_a_deleted_file_goes_from_s3_only_if_that_is_wanted(s3: FakeS3, tmp_path: Path) -> None:
    for deletes, left in ((False, ["out/a"]), (True, [])):
        (tmp_path / "a").write_text("1")
        copied = mirror(s3, tmp_path, deletes=deletes)
        copied.push()
        (tmp_path / "a").unlink()
        copied.push()
        assert sorted(s3.data) == left


def test_a_file_that_comes_back_as_it_was_goes_up_again(s3: FakeS3, tmp_path: Path) -> None:
    path = tmp_path / "a"
    copied = mirror(s3, tmp_path, deletes=True)
    for _ in range(2):
        path.write_text("1")
        os.utime(path, (1, 1))
        copied.push()
        assert s3.data == {"out/a": b"1"}
        path.unlink()
        copied.push()


def test_an_object_stays_while_any_host_has_its_file(s3: FakeS3, tmp_path: Path) -> None:
    folders = [tmp_path / "algo-1", tmp_path / "algo-2"]
    for folder in folders:
        folder.mkdir()
        (folder / "a").write_text("1")
    copied = mirror(s3, *folders, deletes=True)
    copied.note()
    s3.data["out/a"] = b"1"
    (folders[0] / "a").unlink()
    copied.push()
    assert s3.data == {"out/a": b"1"}
    (folders[1] / "a").unlink()
    copied.push()
    assert s3.data == {}


def test_links_are_followed_unless_told_otherwise(s3: FakeS3, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / "link").symlink_to("a")
    mirror(s3, tmp_path, follow=False).push()
    assert sorted(s3.data) == ["out/a"]
    mirror(s3, tmp_path).push()
    assert sorted(s3.data) == ["out/a", "out/link"]


def test_a_folder_that_is_not_there_is_empty(s3: FakeS3, tmp_path: Path) -> None:
    copied = mirror(s3, tmp_path / "none", deletes=True)
    copied.note()
    copied.push()
    assert s3.data == {}


@pytest.mark.parametrize("method", ["stat", "read_bytes"])
def test_a_file_that_goes_while_it_is_copied_harms_nothing(
    s3: FakeS3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    (tmp_path / "gone").write_text("1")
    (tmp_path / "kept").write_text("2")
    copied = mirror(s3, tmp_path)
    listed = copied._files()
    original = getattr(Path, method)

    def vanishing(path: Path, *arguments: Any, **more: Any) -> Any:
        if path.name == "gone":
            raise FileNotFoundError
        return original(path, *arguments, **more)

    monkeypatch.setattr(copied, "_files", lambda: listed)
    monkeypatch.setattr(Path, method, vanishing)
    copied.note()
    copied._copied.clear()
    copied.push()
    assert s3.data == {"out/kept": b"2"}
