"""Programs as a user starts them, each in a folder of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

BIN = Path(sys.executable).parent
SM_PREFER = str(BIN / "sm-prefer")
AIRFLOW = str(BIN / "airflow")

# Minutes of clicking at a real Airflow: `make test-reruns`.
collect_ignore = [] if os.environ.get("RERUNS") else ["reruns"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.e2e)


def until(done: Callable[[], Any], seconds: float = 120) -> Any:
    """Return what ``done`` returns as soon as that is true."""
    deadline = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < deadline, "it took too long"
        time.sleep(0.2)
    return found


def processes_in(folder: Path) -> list[str]:
    """Return the command lines of all processes that work in a folder or speak of it."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [process.cwd(), *process.cmdline()]
            if process.status() != psutil.STATUS_ZOMBIE and any(str(folder) in word for word in words):
                found.append(" ".join(words))
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A sandbox with everything ample, as its address."""
    log = tmp_path_factory.mktemp("sandbox") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [SM_PREFER, "sandbox", "--port", "0", "--speed", "60"], stdout=output, stderr=subprocess.STDOUT
        )
    try:
        until(lambda: "ready" in log.read_text() or process.poll() is not None, 60)
        assert process.poll() is None, log.read_text()
        yield log.read_text().split("ready at ")[1].split()[0]
    finally:
        process.terminate()
        process.wait(30)


@pytest.fixture(scope="session")
def airflow_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of an Airflow with a database of its own and the checkout's DAGs."""
    home = tmp_path_factory.mktemp("airflow")
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(Path(__file__).parents[2] / "dags"),
        "AIRFLOW__SM_PREFER__CLOCK_SPEED": "60",
        "AIRFLOW__SM_PREFER__DEPLOYMENT": "tests",
    }
    subprocess.run([AIRFLOW, "db", "migrate"], env=env, check=True, capture_output=True)
    return env
