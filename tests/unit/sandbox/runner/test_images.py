"""Which Python stands for an image, and what a container runs with it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from airflow_sm_prefer.errors import InvalidSetting
from airflow_sm_prefer.sandbox.runner.failures import NO_IMAGE, RunFailed
from airflow_sm_prefer.sandbox.runner.images import ImageTable

ONE, ANY = "/bin/sh", "/usr/bin/env"
TABLE = ImageTable({"*sklearn:1*": ONE, "*sklearn*": ANY, "missing:*": ""})


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("1.dkr.ecr.us-east-1.amazonaws.com/sklearn:1.2", ONE),
        ("sklearn:2", ANY),
        ("other", sys.executable),
    ],
)
def test_the_first_pattern_that_fits_is_taken(image: str, python: str) -> None:
    assert TABLE.python_for(image) == python


def test_without_a_table_every_image_is_our_own_python() -> None:
    assert ImageTable().python_for("any") == sys.executable


def test_an_image_without_a_python_can_not_be_pulled() -> None:
    with pytest.raises(RunFailed) as failed:
        TABLE.python_for("missing:1")
    assert str(failed.value) == NO_IMAGE


@pytest.mark.parametrize(
    ("entrypoint", "command"),
    [
        (["python3", "a.py", "-x"], [ANY, "a.py", "-x", "y"]),
        (["python", "a.py"], [ANY, "a.py", "y"]),
        (["/opt/ml/a.py", "-x"], [ANY, "/opt/ml/a.py", "-x", "y"]),
        (["bash", "run.sh"], ["bash", "run.sh", "y"]),
    ],
)
def test_a_python_in_the_entrypoint_is_the_images(entrypoint: list[str], command: list[str]) -> None:
    assert TABLE.command("sklearn", entrypoint, ["y"]) == command


def test_what_an_image_runs_by_itself_is_not_known() -> None:
    with pytest.raises(RunFailed, match="ContainerEntrypoint"):
        TABLE.command("sklearn", [], ["y"])


def test_a_python_is_found_by_its_name_from_the_home_and_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name alone, a job would find its own Python instead, which is to be this one."""
    python = tmp_path / "bin" / "python3"
    python.parent.mkdir()
    python.symlink_to(sys.executable)
    monkeypatch.setenv("PATH", str(python.parent))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    table = ImageTable({"name": "python3", "home": "~/bin/python3", "here": "bin/python3"})
    assert {table.python_for(image) for image in ("name", "home", "here")} == {str(python)}


@pytest.mark.parametrize("path", ["/not/there", "no-such-python", "/usr"])
def test_a_python_that_is_not_there_is_told(path: str) -> None:
    with pytest.raises(InvalidSetting, match=f"images: .*sklearn.* is to run on '{path}', which is no program here"):
        ImageTable({"*sklearn*": path})
