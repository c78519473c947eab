"""The runner: its runs, their folders and its end."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner import Isolation, LocalRunner, local
from airflow_sm_prefer.sandbox.runs import Ending, RunResult
from tests.unit.sandbox.runner.builders import FakeLogs, FakeS3, training, until


@pytest.fixture
def services(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    made: dict[str, Any] = {"s3": FakeS3(), "logs": FakeLogs(), "asked": []}

    def client(service: str, endpoint_url: str, region: str, account: str) -> Any:
        made["asked"].append((service, endpoint_url, region, account))
        return made[service]

    monkeypatch.setattr(local, "sandbox_client", client)
    return made


def runner(folder: Path) -> LocalRunner:
    return LocalRunner(folder, isolation=Isolation.REWRITTEN)


def test_a_run_is_reported_once_and_leaves_nothing(services: dict[str, Any], tmp_path: Path) -> None:
    services["s3"].data["code/main.py"] = b"print('hello')"
    results: list[RunResult] = []
    started = runner(tmp_path)
    for _ in range(2):
        started.start(training(), lambda _: None, results.append).join()
    started.close()
    assert [result.ending for result in results] == [Ending.COMPLETED] * 2
    assert list(tmp_path.iterdir()) == []
    # A client is built once: that takes longer than a job.
    assert sorted(service for service, *_ in services["asked"]) == ["logs", "s3"]


def test_closing_ends_what_runs_and_waits_for_it(services: dict[str, Any], tmp_path: Path) -> None:
    services["s3"].data["code/main.py"] = b"import time; print('ready'); time.sleep(600)"
    results: list[RunResult] = []
    started = runner(tmp_path)
    started.start(training(), lambda _: None, results.append)
    until(lambda: services["logs"].lines() == ["ready"])
    started.close()
    assert [result.ending for result in results] == [Ending.STOPPED]
    assert list(tmp_path.iterdir()) == []


def test_nothing_runs_after_it_is_closed(services: dict[str, Any], tmp_path: Path) -> None:
    services["s3"].data["code/main.py"] = b"print('hello')"
    closed = runner(tmp_path)
    closed.close()
    ended = threading.Event()
    results: list[RunResult] = []

    def on_end(result: RunResult) -> None:
        results.append(result)
        ended.set()

    closed.start(training(), lambda _: None, on_end)
    assert ended.wait(30)
    assert [result.ending for result in results] == [Ending.STOPPED]
    assert services["asked"] == []
    assert list(tmp_path.iterdir()) == []


def test_two_runners_with_one_folder_and_jobs_of_one_name_do_not_meet(services: dict[str, Any], tmp_path: Path) -> None:
    services["s3"].data["code/main.py"] = b"import time; print('ready'); time.sleep(600)"
    first, second = runner(tmp_path), runner(tmp_path)
    results: dict[str, list[RunResult]] = {"first": [], "second": []}
    first.start(training(), lambda _: None, results["first"].append)
    second.start(training(), lambda _: None, results["second"].append)
    until(lambda: services["logs"].lines() == ["ready", "ready"])
    first.close()
    assert results["second"] == []
    second.close()
    assert [result.ending for result in results["second"]] == [Ending.STOPPED]
