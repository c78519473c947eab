"""Clients for the sandbox's own endpoint, in a shell that is set up for AWS."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from airflow_sm_prefer.sandbox.runner.clients import sandbox_client


class OneObject(BaseHTTPRequestHandler):
    """Answers every request with one object."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.path.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), OneObject) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_PROFILE", "not-here"),
        ("AWS_DEFAULT_PROFILE", "not-here"),
        ("AWS_USE_FIPS_ENDPOINT", "true"),
        ("AWS_USE_DUALSTACK_ENDPOINT", "true"),
        ("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:9"),
        ("AWS_RETRY_MODE", "nonsense"),
        ("HTTP_PROXY", "http://127.0.0.1:9"),
        ("http_proxy", "http://127.0.0.1:9"),
    ],
)
def test_the_shells_own_settings_have_no_say(
    endpoint: str, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    for unset in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(unset, raising=False)
    monkeypatch.setenv(name, value)
    body = (
        sandbox_client("s3", endpoint, "eu-west-1", "123456789012").get_object(Bucket="data", Key="a/b")["Body"].read()
    )
    assert body == b"/data/a/b"


def test_a_configuration_file_has_no_say(endpoint: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nuse_fips_endpoint = true\ns3 =\n  addressing_style = virtual\n")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    body = sandbox_client("s3", endpoint, "us-east-1", "123456789012").get_object(Bucket="data", Key="a")["Body"].read()
    assert body == b"/data/a"
