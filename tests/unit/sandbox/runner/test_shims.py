"""What a container finds on its PATH."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner.shims import module_folder, path_folder, write_shims


def run(folder: Path, *command: str) -> str:
    path = f"{path_folder(folder)}{os.pathsep}{os.defpath}"
    environment = {"PATH": path, "PYTHONPATH": str(module_folder(folder))}
    # A name is looked for on the child's own PATH by a shell.
    script = ["/bin/sh", "-c", '"$@"', "sh", *command]
    return subprocess.run(script, env=environment, capture_output=True, text=True, check=True).stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "a folder"
    write_shims(made, sys.executable)
    return made


@pytest.mark.parametrize("name", ["python", "python3"])
def test_every_python_is_the_images(folder: Path, name: str) -> None:
    assert run(folder, name, "-c", "import sys; print(sys.executable, *sys.argv[1:])", "a b").split()[1:] == ["a", "b"]
    assert Path(run(folder, name, "-c", "import sys; print(sys.executable)").strip()) == Path(sys.executable)


@pytest.mark.parametrize("command", [["pip"], ["pip3"], ["python", "-m", "pip"]])
def test_every_pip_installs_nothing_and_says_so(folder: Path, command: list[str]) -> None:
    said = run(folder, *command, "install", "-r", "requirements.txt").splitlines()
    assert said[0] == "sandbox: pip install -r requirements.txt"
    assert said[1].startswith("sandbox: nothing is installed")
