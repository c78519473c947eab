"""What holds for every test: an Airflow of its own, no AWS but the sandbox, and no network but this machine."""

from __future__ import annotations

import atexit
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from ipaddress import ip_address
from typing import Any

import pytest
from botocore.loaders import JSONFileLoader
from xdist.scheduler import LoadFileScheduling


def _isolate() -> None:
    """Set the environment before anything imports Airflow, which reads it once."""
    for name in list(os.environ):
        if name.startswith(("AIRFLOW_", "AWS_", "BOTO_", "SM_PREFER_")):
            del os.environ[name]
    home = tempfile.mkdtemp(prefix="sm-prefer-tests-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    os.environ |= {
        "AIRFLOW_HOME": home,
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }


_isolate()


class _OneAirflow(LoadFileScheduling):
    """Keeps a file's tests together, and all that start an Airflow: two at a time are too many for two cores."""

    def _split_scope(self, nodeid: str) -> str:
        return "tests/e2e" if nodeid.startswith("tests/e2e/") else super()._split_scope(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> LoadFileScheduling:
    """Say how tests are shared out where there are several processes."""
    return _OneAirflow(config, log)


def _is_local(address: Any) -> bool:
    if not isinstance(address, tuple):
        return True  # a Unix socket's path
    host = str(address[0])
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host in {"localhost", ""}


@pytest.fixture(autouse=True, scope="session")
def _only_this_machine() -> Iterator[None]:
    """Refuse every connection to another machine."""
    with pytest.MonkeyPatch.context() as patch:
        for method in ("connect", "connect_ex"):
            patch.setattr(socket.socket, method, _guarded(getattr(socket.socket, method)))
        yield


@pytest.fixture(autouse=True, scope="session")
def _models_read_once() -> Iterator[None]:
    """Read each of botocore's models once: every new session would read megabytes of JSON again."""
    with pytest.MonkeyPatch.context() as patch:
        read = cache(JSONFileLoader.load_file)
        patch.setattr(JSONFileLoader, "load_file", lambda self, path: read(_LOADER, path))
        yield


_LOADER = JSONFileLoader()


def _guarded(connect: Any) -> Any:
    def guarded(self: socket.socket, address: Any) -> Any:
        if not _is_local(address):
            msg = f"tests reach nothing but this machine, and this one wanted {address}"
            raise RuntimeError(msg)
        return connect(self, address)

    return guarded
