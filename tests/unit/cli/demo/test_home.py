from __future__ import annotations

from pathlib import Path

import pytest

from airflow_sm_prefer.cli.demo import home as homes
from airflow_sm_prefer.cli.demo.errors import DemoError
from airflow_sm_prefer.cli.demo.home import Home


def test_a_new_folder_is_made_and_is_then_known_as_a_demos(tmp_path: Path) -> None:
    home = Home(tmp_path / "a folder" / "demo")
    home.claim()
    (home.path / "anything").touch()
    home.claim()


def test_a_folder_with_something_else_in_it_is_refused_and_left_alone(tmp_path: Path) -> None:
    precious = tmp_path / "thesis.tex"
    precious.write_text("years of work")
    with pytest.raises(DemoError, match=r"not empty.*\n.*--home"):
        Home(tmp_path).claim()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DemoError, match="--home DIR"):
        Home(tmp_path / "file").claim()


def test_clearing_removes_what_an_earlier_demo_left(tmp_path: Path) -> None:
    home = Home(tmp_path / "demo")
    home.claim()
    home.clear()
    leftovers = [home.airflow / "airflow.db", home.logs / "scheduler.log", home.sandbox / "job", home.model]
    for leftover in leftovers:
        leftover.touch()
    home.clear()
    assert not any(leftover.exists() for leftover in leftovers)
    assert home.airflow.is_dir()


def test_an_installed_package_keeps_its_demo_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(homes, "PACKAGE", tmp_path / "site-packages" / "airflow_sm_prefer")
    monkeypatch.chdir(tmp_path)
    assert homes.default_home() == tmp_path / ".demo"


def test_the_dags_of_an_installed_package_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(homes, "PACKAGE", tmp_path / "airflow_sm_prefer")
    with pytest.raises(DemoError, match="example DAGs are missing"):
        homes.dags_folder()
    installed = tmp_path / "airflow_sm_prefer" / "example_dags"
    installed.mkdir(parents=True)
    (installed / "nightly_training.py").touch()
    assert homes.dags_folder() == installed


def test_a_checkout_uses_its_own_dags_and_folder() -> None:
    root = homes.PACKAGE.parent
    assert homes.dags_folder() == root / "dags"
    assert homes.default_home() == root / ".demo"
