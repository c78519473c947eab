from __future__ import annotations

import os
from pathlib import Path

import psutil
import pytest

from airflow_sm_prefer.cli.demo import record
from airflow_sm_prefer.cli.demo.errors import DemoError
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.processes import Service
from airflow_sm_prefer.cli.demo.record import Record

ME = Service("me", os.getpid(), psutil.Process().create_time(), "log")
GONE = Service("gone", os.getpid(), 1.0, "log")


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    saved = Record("http://127.0.0.1:8080", kept=True, services=(ME, GONE))
    saved.save(Home(tmp_path))
    assert record.load(Home(tmp_path)) == saved
    record.forget(Home(tmp_path))
    assert record.load(Home(tmp_path)) is None


def test_a_demo_runs_while_any_of_its_services_does() -> None:
    assert Record("u", kept=True, services=(GONE, ME)).is_running()
    assert not Record("u", kept=True, services=(GONE,)).is_running()


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", '{"ui": 1, "kept": true, "services": [{"pid": 1}]}'])
def test_a_damaged_record_names_nothing(tmp_path: Path, content: str) -> None:
    Home(tmp_path).record.write_text(content)
    assert record.load(Home(tmp_path)) is None


def test_one_command_at_a_time_works_in_a_folder(tmp_path: Path) -> None:
    with record.held(tmp_path / "lock"), pytest.raises(DemoError, match="Another demo"), record.held(tmp_path / "lock"):
        pytest.fail("both hold it")
    with record.held(tmp_path / "lock"):
        pass
