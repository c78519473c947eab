from __future__ import annotations

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from airflow_sm_prefer.cli.demo import command, processes, record
from airflow_sm_prefer.cli.demo.console import Teller
from airflow_sm_prefer.cli.demo.environment import Addresses
from airflow_sm_prefer.cli.demo.errors import DemoError, Interrupted
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.processes import Service
from airflow_sm_prefer.cli.demo.record import Record
from airflow_sm_prefer.cli.demo.report import Report
from airflow_sm_prefer.cli.demo.session import Session
from airflow_sm_prefer.cli.demo.signals import Signals
from airflow_sm_prefer.cli.demo.stack import Stack

REPORT = Report("success", "ml.g5.xlarge", 1, 1, 20.0, 5.0, 60.0, "s3://b/m", "http://127.0.0.1:8080")


class FakeStack(Stack):
    stops = 0

    def stop(self) -> None:
        type(self).stops += 1
        if self.stops == 1 and self.addresses.sandbox_port == 666:
            raise Interrupted(signal.SIGINT)


class FakeSession(Session):
    def run(self) -> Report:
        if self.stack.addresses.airflow_port == 666:
            raise Interrupted(signal.SIGTERM)
        return REPORT


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "the demo")
    home.claim()
    return home


@pytest.fixture
def signals() -> Signals:
    FakeStack.stops = 0
    return Signals(lambda: None)


def session(home: Home, airflow_port: int = 1, sandbox_port: int = 2) -> Session:
    return FakeSession(home, FakeStack(home, Addresses(airflow_port, sandbox_port)), Teller())


def test_a_run_leaves_nothing_running(home: Home, signals: Signals) -> None:
    assert command.run_and_clean_up(session(home), signals, keep=False) is REPORT
    assert FakeStack.stops == 1


def test_a_kept_run_is_left_running(home: Home, signals: Signals) -> None:
    command.run_and_clean_up(session(home), signals, keep=True)
    assert FakeStack.stops == 0


def test_an_interrupted_run_leaves_nothing_running_though_it_was_to_be_kept(home: Home, signals: Signals) -> None:
    with pytest.raises(Interrupted):
        command.run_and_clean_up(session(home, airflow_port=666), signals, keep=True)
    assert FakeStack.stops


def test_a_signal_as_cleaning_up_begins_does_not_break_it_off(home: Home, signals: Signals) -> None:
    with pytest.raises(Interrupted):
        command.run_and_clean_up(session(home, sandbox_port=666), signals, keep=False)
    assert FakeStack.stops == 2


def test_a_kept_demo_is_never_broken_by_a_second(home: Home) -> None:
    me = Service("me", os.getpid(), psutil.Process().create_time(), "log")
    Record("http://127.0.0.1:8081", kept=True, services=(me,)).save(home)
    with pytest.raises(DemoError, match=r"(?s)UI: http://127.0.0.1:8081.*demo --stop") as refused:
        command.refuse_second(home, Teller())
    words = shlex.split(str(refused.value).rpartition("  ")[2])
    assert words[-2:] == ["--home", str(home.path)]


def test_what_a_killed_command_left_running_is_ended(home: Home, tmp_path: Path) -> None:
    left = processes.start(
        "left", [sys.executable, "-c", "import time; time.sleep(60)"], {}, tmp_path, tmp_path / "log"
    )
    Record("u", kept=False, services=(left,)).save(home)
    command.refuse_second(home, Teller())
    assert not left.is_running()
    assert record.load(home) is None


def test_stop_ends_what_was_kept_and_says_when_there_is_nothing(
    home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = processes.start(
        "kept", [sys.executable, "-c", "import time; time.sleep(60)"], {}, tmp_path, tmp_path / "log"
    )
    Record("u", kept=True, services=(kept,)).save(home)
    assert command.stop_kept(home, Teller()) == 0
    assert not kept.is_running()
    assert command.stop_kept(home, Teller()) == 0
    assert "No demo is running" in capsys.readouterr().out


def test_an_error_shows_the_end_of_the_log_that_tells_more(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "scheduler.log"
    log.write_text("much before\nport already in use\n")
    command.tell_error(Teller(), DemoError("The scheduler has ended by itself.", log))
    said = capsys.readouterr().out
    assert "port already in use" in said
    assert str(log) in said.replace("\n", "")
    assert said.strip().endswith("The scheduler has ended by itself.")


def test_a_reader_that_has_gone_does_not_break_the_demo() -> None:
    class Closed:
        def write(self, text: str) -> Any:
            raise BrokenPipeError

        def flush(self) -> Any:
            raise BrokenPipeError

    teller = Teller()
    teller._console.file = Closed()  # type: ignore[assignment]
    teller.say("nobody hears this")
