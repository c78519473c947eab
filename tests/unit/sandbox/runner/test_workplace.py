"""The folder of one runner, and what others have left."""

from __future__ import annotations

import errno
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner.workplace import Workplace


def test_nothing_is_made_before_it_is_needed_and_nothing_is_left(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "jobs")
    assert not (tmp_path / "jobs").exists()
    place.open()
    place.open()
    assert place.folder.is_dir()
    place.close()
    place.close()
    assert list((tmp_path / "jobs").iterdir()) == []


def test_two_share_a_working_directory_and_keep_out_of_each_others_way(tmp_path: Path) -> None:
    first, second = Workplace(tmp_path), Workplace(tmp_path)
    first.open()
    (first.folder / "job").mkdir()
    second.open()
    assert first.folder != second.folder
    Workplace(tmp_path)
    assert (first.folder / "job").is_dir()
    second.close()
    assert (first.folder / "job").is_dir()
    first.close()


def test_what_a_killed_one_has_left_is_removed_and_nothing_else(tmp_path: Path) -> None:
    left_by_a_killed_one(tmp_path)
    (tmp_path / "sandbox-of-mine").mkdir()
    (tmp_path / "notes").write_text("x")
    Workplace(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes", "sandbox-of-mine"]


def test_what_a_dying_job_still_writes_to_is_removed_when_the_next_one_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = left_by_a_killed_one(tmp_path)
    with monkeypatch.context() as still_written_to:
        still_written_to.setattr("os.rmdir", refuse)
        Workplace(tmp_path)
    assert (left / "job").is_dir()
    Workplace(tmp_path)
    assert list(tmp_path.iterdir()) == []


def left_by_a_killed_one(workdir: Path) -> Path:
    body = f"""
        import os, pathlib
        from airflow_sm_prefer.sandbox.runner.workplace import Workplace
        place = Workplace(pathlib.Path({str(workdir)!r}))
        place.open()
        (place.folder / "job").mkdir()
        os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(body)], check=False)
    (left,) = workdir.iterdir()
    assert (left / "job").is_dir()
    return left


def refuse(*_: object, **__: object) -> None:
    raise OSError(errno.ENOTEMPTY, "Directory not empty")
