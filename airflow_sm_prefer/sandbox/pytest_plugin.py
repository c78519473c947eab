"""Fixtures for tests of pipelines: a sandbox on a fake clock in the test's process, and one as a server.

Both read the marker ``sandbox``, whose arguments are a scenario's sections::

    @pytest.mark.sandbox(capacity={"ml.g5.xlarge": 0})
    def test_it_waits(sm_prefer_sandbox): ...
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.sandbox.sandbox import Sandbox
from airflow_sm_prefer.sandbox.server import SandboxServer


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", "sandbox(**sections): the scenario of the sandbox fixtures")


@pytest.fixture
def sm_prefer_sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """A sandbox without a wire, on a fake clock: ``call`` operations, ``advance`` the time."""
    with Sandbox(_scenario(request), clock=FakeClock()) as sandbox:
        yield sandbox


@pytest.fixture
def sm_prefer_sandbox_server(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SandboxServer]:
    """A sandbox that serves; AWS clients made in the test go to it."""
    with SandboxServer(_scenario(request)) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.endpoint_url)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "sandbox")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "sandbox")
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        yield server


def _scenario(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("sandbox")
    return dict(marker.kwargs) if marker else {}
