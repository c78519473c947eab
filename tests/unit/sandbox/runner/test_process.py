"""One supervised process: what it sees, and that nothing of it outlives its container or the sandbox."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox.runner import Isolation, supervisor
from airflow_sm_prefer.sandbox.runner.isolation import best_isolation
from airflow_sm_prefer.sandbox.runner.logs import LogStream
from airflow_sm_prefer.sandbox.runner.process import Container, Launch
from tests.unit.sandbox.runner.builders import FakeLogs, alive, until

NAMESPACES = pytest.mark.skipif(best_isolation() is Isolation.REWRITTEN, reason="no mount namespaces here")


def python(body: str, *arguments: str, **more: object) -> Launch:
    command = [sys.executable, "-c", textwrap.dedent(body), *arguments]
    return Launch(command, {"PATH": os.defpath}, "/", **more)  # type: ignore[arg-type]


@pytest.fixture
def logs() -> FakeLogs:
    return FakeLogs()


def container(launch: Launch, logs: FakeLogs) -> Container:
    return Container(launch, LogStream(logs, "group", "stream", FakeClock()))


@pytest.mark.parametrize(("body", "code"), [("", 0), ("raise SystemExit(7)", 7), ("import os; os.abort()", 134)])
def test_a_container_ends_with_its_commands_code(logs: FakeLogs, body: str, code: int) -> None:
    assert container(python(body), logs).wait() == code


def test_it_has_the_environment_it_is_given_and_no_other(logs: FakeLogs) -> None:
    launch = Launch([sys.executable, "-c", "import os; print(sorted(os.environ))"], {"A": "1", "LC_ALL": "C"}, "/")
    container(launch, logs).wait()
    assert logs.lines() == ["['A', 'LC_ALL']"]


def test_it_has_no_input_and_a_session_of_its_own(logs: FakeLogs) -> None:
    container(python("import os, sys; print(repr(sys.stdin.read()), os.getsid(0) == os.getpid())"), logs).wait()
    assert logs.lines() == ["'' True"]


def test_a_progress_bars_returns_make_no_lines_and_broken_bytes_no_error(logs: FakeLogs) -> None:
    container(python(r"import os; os.write(1, b'1%\r2%\r\nbad \xff\n')"), logs).wait()
    assert logs.lines() == ["1%\r2%\r", "bad \ufffd"]


def test_it_begins_in_its_folder(logs: FakeLogs, tmp_path: Path) -> None:
    container(Launch([sys.executable, "-c", "import os; print(os.getcwd())"], {}, str(tmp_path)), logs).wait()
    assert logs.lines() == [str(tmp_path)]


def test_a_folder_that_is_not_there_is_said(logs: FakeLogs) -> None:
    assert container(Launch(["true"], {}, "/no/such/folder"), logs).wait() == supervisor.NOT_SET_UP
    assert "/no/such/folder" in logs.lines()[0]


def test_what_it_leaves_running_is_killed_with_it(logs: FakeLogs) -> None:
    marker = uuid.uuid4().hex
    body = """
        import os, subprocess, sys
        child = "import os, time; os.setsid(); print('up', flush=True); time.sleep(600)"
        subprocess.Popen([sys.executable, "-c", child, sys.argv[1]], stdout=subprocess.PIPE).stdout.readline()
    """
    assert container(python(body, marker), logs).wait() == 0
    assert alive(marker) == []


def test_a_stop_is_a_signal_that_the_command_may_heed(logs: FakeLogs) -> None:
    body = """
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
        print("ready", flush=True)
        time.sleep(600)
    """
    running = container(python(body), logs)
    until(lambda: logs.lines() == ["ready"])
    running.stop()
    assert running.wait() == 3


def test_one_that_is_killed_has_the_code_of_it(logs: FakeLogs) -> None:
    running = container(python("print('ready', flush=True); import time; time.sleep(600)"), logs)
    until(lambda: logs.lines() == ["ready"])
    running.kill()
    assert running.wait() == 128 + signal.SIGKILL


def test_one_that_is_ended_is_gone_and_may_be_ended_again(logs: FakeLogs) -> None:
    running = container(python("import time; time.sleep(600)"), logs)
    running.end()
    running.end()
    running.stop()


def test_it_dies_with_a_sandbox_that_is_killed() -> None:
    marker = uuid.uuid4().hex
    sandbox = f"""
        import sys, time
        from airflow_sm_prefer.sandbox.runner.process import Launch, supervised
        child = "import os, time; os.fork() or os.setsid(); time.sleep(600)"
        process = supervised(Launch([sys.executable, "-c", child, "{marker}"], {{}}, "/"))
        time.sleep(600)
    """
    killed = subprocess.Popen([sys.executable, "-c", textwrap.dedent(sandbox)])
    try:
        until(lambda: len([pid for pid in alive(marker) if pid != killed.pid]) == 2)
    finally:
        killed.kill()
        killed.wait()
    until(lambda: alive(marker) == [])


@NAMESPACES
def test_a_mount_hides_what_is_there_and_harms_nothing(logs: FakeLogs, tmp_path: Path) -> None:
    place, own, scratch = (tmp_path / name for name in ("place", "own", "scratch"))
    for folder in (place, own, scratch):
        folder.mkdir()
    (place / "theirs").write_text("theirs")
    body = """
        import os, sys
        print(os.listdir(sys.argv[1]))
        open(os.path.join(sys.argv[1], "written"), "w").close()
    """
    launch = python(body, str(place), namespace=True, mounts=[(str(own), str(place))], scratch=str(scratch))
    assert container(launch, logs).wait() == 0
    assert logs.lines() == ["[]"]
    assert (place / "theirs").read_text() == "theirs"
    assert [path.name for path in place.iterdir()] == ["theirs"]
    assert [path.name for path in own.iterdir()] == ["written"]


@NAMESPACES
def test_a_mount_point_that_can_not_be_made_is_there_for_the_container_alone(logs: FakeLogs, tmp_path: Path) -> None:
    """A folder that can't be written to: here a file system of the kernel's, as /opt may be for who isn't root."""
    own, scratch = tmp_path / "own", tmp_path / "scratch"
    own.mkdir()
    scratch.mkdir()
    (own / "mine").touch()
    body = "import os; print(os.listdir('/proc/fs/ml'), os.path.exists('/proc/fs/ext4') or not os.listdir('/proc/fs'))"
    launch = python(body, namespace=True, mounts=[(str(own), "/proc/fs/ml")], scratch=str(scratch))
    before = sorted(Path("/proc/fs").iterdir())
    assert container(launch, logs).wait() == 0, logs.lines()
    assert logs.lines()[0].startswith("['mine']")
    assert sorted(Path("/proc/fs").iterdir()) == before
    assert list(scratch.iterdir()) == []


@NAMESPACES
def test_a_mount_that_fails_is_said(logs: FakeLogs, tmp_path: Path) -> None:
    launch = python("", namespace=True, mounts=[("/no/such/source", str(tmp_path))], scratch=str(tmp_path))
    assert container(launch, logs).wait() == supervisor.NOT_SET_UP
    assert "sandbox: the container could not be set up" in logs.lines()[0]
