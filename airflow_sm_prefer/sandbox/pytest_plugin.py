"""Fixtures for tests of pipelines: a sandbox on a fake clock in the test's process, and one as a server.

Both read the marker ``sandbox``, whose arguments are a scenario's sections::

    @pytest.mark.sandbox(capacity={"ml.g5.xlarge": 0})
    def test_it_waits(sm_prefer_sandbox): ...

Pytest imports this module wherever the package is installed, so it imports the sandbox only in a test that asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

import pytest

from airflow_sm_prefer.errors import InvalidScenario

if TYPE_CHECKING:
    from airflow_sm_prefer.sandbox.sandbox import Sandbox
    from airflow_sm_prefer.sandbox.server import SandboxServer


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "sandbox(**sections): the scenario of the sandbox fixtures")


@pytest.fixture
def sm_prefer_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox without a wire, on a fake clock: ``call`` operations, ``advance`` the time."""
    from airflow_sm_prefer.clock import FakeClock  # noqa: PLC0415 - it brings asyncio

    with _made("sandbox", "Sandbox", request, clock=FakeClock()) as sandbox:
        yield sandbox


@pytest.fixture
def sm_prefer_sandbox_server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SandboxServer]:
    """A sandbox that serves; AWS clients made in the test go to it, whatever the environment says of AWS."""
    with _made("server", "SandboxServer", request) as server:
        _point_clients_at(server.endpoint_url, monkeypatch)
        yield server


def _made(module: str, name: str, request: pytest.FixtureRequest, **more: Any) -> Any:
    """Make a sandbox, or fail the test with what is missing from the installation or wrong with its marker."""
    try:
        made = getattr(import_module(f"airflow_sm_prefer.sandbox.{module}"), name)
        return made(_scenario(request), **more)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        why = f"the sandbox needs {missing}; install it with: pip install 'airflow-sm-prefer[sandbox]'"
    except InvalidScenario as error:
        why = f"@pytest.mark.sandbox: {error}"
    pytest.fail(why, pytrace=False)


def _point_clients_at(endpoint_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let AWS clients find nothing but the sandbox: no profile, other endpoint, proxy or session of before."""
    for name in list(os.environ):
        if name.startswith(("AWS_", "BOTO_")):
            monkeypatch.delenv(name)
    given = {
        "AWS_ENDPOINT_URL": endpoint_url,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "sandbox",
        "AWS_SECRET_ACCESS_KEY": "sandbox",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
    }
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    # boto3.client() makes its session once for the process, with what the environment said then.
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)


def _scenario(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("sandbox")
    if marker is None:
        return {}
    if marker.args:
        raise InvalidScenario(f"sections go by their names, as capacity={{'ml.g5.xlarge': 0}}; it has {marker.args}")
    return dict(marker.kwargs)
