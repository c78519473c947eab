"""A web page that tries to make the sandbox do something, in every way it has, with the headers that Chromium sends."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws
from tests.unit.sandbox.builders import G5, single, training

PAGE = "http://127.0.0.1:8000"
JOB = json.dumps(training("evil", single(G5)))
SIGNED = "AWS4-HMAC-SHA256 Credential=test/20261130/us-east-1/sagemaker/aws4_request, SignedHeaders=host, Signature=0"
PRESIGNED = (
    "AWSAccessKeyId=test&Signature=0&Expires=9999999999",
    "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=test%2F20261130%2Fus-east-1%2Fs3%2Faws4_request&X-Amz-Signature=0",
)
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    with SandboxServer() as served:
        yield served


def s3(server: SandboxServer) -> Any:
    return aws.client(server.endpoint_url, "s3")


@pytest.fixture(autouse=True)
def unharmed(server: SandboxServer) -> Iterator[None]:
    """Whatever a page tries, the sandbox's record, its capacity and the bucket are what they were."""
    control = SandboxControl(server.endpoint_url)
    s3(server).create_bucket(Bucket="keep")
    s3(server).put_object(Bucket="keep", Key="mine", Body=b"1")
    before = len(control.record()), control.state()["capacity"]
    yield
    assert (len(control.record()), control.state()["capacity"]) == before
    assert control.jobs() == []
    assert [found["Key"] for found in s3(server).list_objects_v2(Bucket="keep")["Contents"]] == ["mine"]


def sent(mode: str, destination: str, site: str, **more: str) -> dict[str, str]:
    """What Chromium says of where a request comes from."""
    fetch = {"Sec-Fetch-Mode": mode, "Sec-Fetch-Dest": destination, "Sec-Fetch-Site": site}
    return {"User-Agent": "Mozilla/5.0", "Referer": f"{PAGE}/", **fetch, **more}


def refused(server: SandboxServer, method: str, path: str, headers: dict[str, str], body: str | None = None) -> None:
    address = server.endpoint_url.partition("//")[2]
    connection = http.client.HTTPConnection(address, timeout=30)
    try:
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        assert response.status == 403, (method, path, response.read())
        assert not [name for name, _ in response.getheaders() if name.lower().startswith("access-control-")]
        assert b"web page" in response.read()
    finally:
        connection.close()


@pytest.fixture(params=["same-site", "cross-site"])
def site(request: pytest.FixtureRequest) -> str:
    """Where the page is: another port of this machine, or anywhere else."""
    return str(request.param)


def test_a_fetch_with_headers_of_its_own_is_refused_when_it_asks_first(server: SandboxServer, site: str) -> None:
    asked = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization,content-type,x-amz-target,x-sm-prefer-sandbox",
    }
    for path in ("/", "/_sandbox/scenario", f"/keep/evil?{PRESIGNED[0]}"):
        refused(server, "OPTIONS", path, sent("cors", "empty", site, **asked))


def test_a_page_that_could_sign_is_refused_for_its_origin(server: SandboxServer, site: str) -> None:
    signed = {"Authorization": SIGNED, "X-Amz-Target": "SageMaker.CreateTrainingJob", "Origin": PAGE}
    refused(server, "POST", "/", sent("cors", "empty", site, **signed), JOB)
    control = {"X-Sm-Prefer-Sandbox": "control", "Origin": PAGE}
    refused(
        server, "PUT", "/_sandbox/scenario", sent("cors", "empty", site, **control), f'{{"capacity": {{"{G5}": 0}}}}'
    )
    refused(server, "PUT", f"/keep/evil?{PRESIGNED[0]}", sent("cors", "empty", site, Origin=PAGE), "x")


def test_a_fetch_that_needs_not_ask_is_refused(server: SandboxServer, site: str) -> None:
    """No-cors and text/plain: what fetch and sendBeacon send without a preflight."""
    plain = sent("no-cors", "empty", site, Origin=PAGE, **{"Content-Type": "text/plain;charset=UTF-8"})
    for path in (
        "/",
        f"/?X-Amz-Target=SageMaker.CreateTrainingJob&{PRESIGNED[0]}",
        "/_sandbox/scenario",
        "/moto-api/reset",
        *(f"/keep/evil?{query}" for query in PRESIGNED),
    ):
        refused(server, "POST", path, plain, JOB)


@pytest.mark.parametrize("content_type", FORMS)
@pytest.mark.parametrize("origin", [PAGE, "null"])
def test_a_form_is_refused(server: SandboxServer, site: str, content_type: str, origin: str) -> None:
    headers = sent("navigate", "iframe", site, Origin=origin, **{"Content-Type": content_type})
    for path in (f"/keep?{PRESIGNED[0]}", "/?Action=CreateQueue&QueueName=evil", "/_sandbox/scenario"):
        refused(server, "POST", path, headers, f"key=evil&{JOB}")


@pytest.mark.parametrize(
    ("mode", "destination"),
    [
        ("no-cors", "image"),
        ("no-cors", "script"),
        ("no-cors", "style"),
        ("no-cors", "empty"),
        ("navigate", "iframe"),
        ("navigate", "document"),
    ],
)
def test_what_a_page_embeds_or_leads_to_is_refused(
    server: SandboxServer, site: str, mode: str, destination: str
) -> None:
    headers = sent(mode, destination, site)
    for path in (*(f"/keep/mine?{query}" for query in PRESIGNED), "/_sandbox/jobs", f"/moto-api/?{PRESIGNED[0]}"):
        refused(server, "GET", path, headers)


def test_a_page_without_a_referrer_is_refused(server: SandboxServer, site: str) -> None:
    headers = sent("navigate", "iframe", site)
    del headers["Referer"]
    refused(server, "GET", f"/keep/mine?{PRESIGNED[1]}", headers)


def test_a_web_socket_is_refused(server: SandboxServer) -> None:
    """The only request of a page's that says nothing by Sec-Fetch-Site."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Origin": PAGE,
    }
    refused(server, "GET", f"/keep/mine?{PRESIGNED[0]}", headers)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4580", "127.0.0.1.evil.example"])
def test_a_name_that_was_bound_to_this_machine_is_refused(server: SandboxServer, host: str) -> None:
    """DNS rebinding: the page and the sandbox are of one origin then, and a GET says so."""
    connection = http.client.HTTPConnection(server.endpoint_url.partition("//")[2], timeout=30)
    control = {"Host": host, "X-Sm-Prefer-Sandbox": "control", "Sec-Fetch-Site": "same-origin"}
    connection.request("GET", "/_sandbox/jobs", headers=control)
    response = connection.getresponse()
    assert response.status == 403
    assert "loopback" in json.loads(response.read())["message"]
    connection.close()


def test_a_body_that_reads_as_another_request_is_not_one(server: SandboxServer) -> None:
    """A form's text/plain body may be anything: a connection that a page was refused on takes no second request."""
    host = server.endpoint_url.partition("//")[2]
    signed = f"Host: {host}\r\nAuthorization: {SIGNED}\r\nX-Amz-Target: SageMaker."
    hidden = f"POST / HTTP/1.1\r\n{signed}CreateTrainingJob\r\nContent-Length: {len(JOB)}\r\n\r\n{JOB}"
    form = f"POST / HTTP/1.1\r\nHost: {host}\r\nOrigin: {PAGE}\r\nConnection: keep-alive\r\n"
    with socket.create_connection(tuple(host.split(":")), timeout=30) as connection:
        connection.sendall(f"{form}Content-Length: {len(hidden)}\r\n\r\n{hidden}".encode())
        answered = b""
        with contextlib.suppress(ConnectionResetError):
            while received := connection.recv(65536):
                answered += received
    assert answered.startswith(b"HTTP/1.1 403 ")
    assert answered.count(b"HTTP/1.1 ") == 1
