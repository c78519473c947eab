"""What a web page could send to the sandbox, byte for byte, and what it gets."""

from __future__ import annotations

import socket
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from airflow_sm_prefer.sandbox import SandboxServer
from tests.integration import aws

KEY = "k%2F20261130%2Fus-east-1%2F{}%2Faws4_request"
PRESIGNED = f"X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={KEY.format('s3')}&X-Amz-Signature=0&X-Amz-Expires=9"
OLD_PRESIGNED = "AWSAccessKeyId=k&Signature=0&Expires=4000000000"
KIND = {"Content-Type": "application/octet-stream"}
SIGNED = "AWS4-HMAC-SHA256 Credential=k/20261130/us-east-1/sagemaker/aws4_request, SignedHeaders=host, Signature=0"
CREATE = '{"TrainingJobName": "evil"}'


@pytest.fixture(scope="module")
def server() -> Iterator[SandboxServer]:
    with SandboxServer({"rates": False}) as server:
        yield server


def client(server: SandboxServer, service: str) -> Any:
    return aws.client(server.endpoint_url, service)


def send(server: SandboxServer, start: str, *headers: str, body: str = "", host: str = "127.0.0.1") -> int:
    """Send a request as it stands and return the status of the answer."""
    lines = [f"{start} HTTP/1.1", f"Host: {host}", "Connection: close", f"Content-Length: {len(body)}", *headers]
    address, _, port = server.endpoint_url.removeprefix("http://").partition(":")
    with socket.create_connection((address, int(port)), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", body]).encode())
        return int(connection.makefile("rb").readline().split()[1])


class TestAddresses:
    """An image, a link or a redirect: a page can have any address asked for, and nothing else."""

    @pytest.mark.parametrize("signature", [PRESIGNED, OLD_PRESIGNED])
    @pytest.mark.parametrize(
        "path",
        [
            "/sqs_us-east-1/?Action=CreateQueue&QueueName=evil",
            "/iam_us-east-1/?Action=ListRoles",
            "/moto-api/data.json?",
            "/latest/meta-data/?",
            "/us-east-1_pool/.well-known/jwks.json?",
        ],
    )
    def test_a_forged_presigned_address_reaches_s3_only(self, server, path, signature):
        # For S3 it is a bucket's name, and there is no such bucket.
        assert send(server, f"GET {path}&{signature}") == 404

    def test_other_services_and_the_control_api_take_no_presigned_address(self, server):
        query = PRESIGNED.replace(KEY.format("s3"), KEY.format("sagemaker"))
        assert send(server, f"GET /?{query}") == 403
        assert send(server, f"GET /_sandbox/jobs?{PRESIGNED}") == 403

    def test_an_address_in_another_host_is_refused(self, server):
        assert send(server, f"GET http://evil.example/bucket?{PRESIGNED}") == 403
        assert send(server, f"GET /bucket?{PRESIGNED}", "Host: evil.example") == 403


class TestForms:
    @pytest.mark.parametrize(
        "kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=b"]
    )
    @pytest.mark.parametrize(
        ("path", "body"),
        [
            ("/", CREATE),
            ("/_sandbox/scenario", '{"capacity": {"ml.g5.xlarge": 0}}'),
            (f"/?{PRESIGNED}", "Action=CreateQueue&QueueName=evil"),
            (f"/?{PRESIGNED}", "Action=AssumeRoleWithSAML&Version=2011-06-15"),
            (f"/moto-api/reset?{PRESIGNED}", ""),
            (f"/bucket?{PRESIGNED}", "--b--"),
        ],
    )
    def test_a_form_is_refused_even_from_a_browser_that_does_not_say_where_it_comes_from(
        self, server, path, body, kind
    ):
        assert send(server, f"POST {path}", f"Content-Type: {kind}", body=body) == 403


class TestScripts:
    """A script may set headers once it has asked, and it is never allowed to."""

    HEADERS = (f"Authorization: {SIGNED}", "X-Amz-Target: SageMaker.ListTrainingJobs")

    def test_what_a_script_would_send_passes_without_the_marks_of_a_page(self, server):
        assert send(server, "POST /", *self.HEADERS, body="{}") == 200

    @pytest.mark.parametrize(
        "mark",
        [
            "Origin: http://evil.example",
            "Origin: null",
            "Origin:",
            "Sec-Fetch-Site: cross-site",
            "Sec-Fetch-Site: same-site",
            "Sec-Fetch-Site: same-origin",
            "Host: evil.example",
        ],
    )
    def test_a_script_is_refused(self, server, mark):
        assert send(server, "POST /", *self.HEADERS, mark, body="{}") == 403

    @pytest.mark.parametrize("path", ["/", "/_sandbox/scenario", f"/bucket?{PRESIGNED}"])
    def test_a_preflight_is_refused_for_private_networks_too(self, server, path):
        asked = ("Origin: http://evil.example", "Access-Control-Request-Method: PUT")
        more = ("Access-Control-Request-Headers: authorization", "Access-Control-Request-Private-Network: true")
        assert send(server, f"OPTIONS {path}", *asked, *more) == 403

    @pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "127.0.0.1:1@evil.example", ""])
    def test_a_rebound_name_is_refused(self, server, host):
        assert send(server, "POST /", *self.HEADERS, body="{}", host=host) == 403

    def test_a_header_with_underscores_is_not_taken_for_ours(self, server):
        assert send(server, "GET /_sandbox/jobs", "X_Sm_Prefer_Sandbox: control") == 403


def test_nothing_has_come_of_any_of_it(server):
    assert not client(server, "sqs").list_queues().get("QueueUrls")
    assert not client(server, "sagemaker").list_training_jobs()["TrainingJobSummaries"]
    assert not server.sandbox.engine.capacity.snapshot(0)["on_demand"]


def test_presigned_addresses_still_do_what_they_are_for(server):
    s3 = client(server, "s3")
    s3.create_bucket(Bucket="bucket")
    put = s3.generate_presigned_url("put_object", Params={"Bucket": "bucket", "Key": "a/b"})
    with urllib.request.urlopen(urllib.request.Request(put, b"content", KIND, method="PUT")) as answer:
        assert answer.status == 200
    got = s3.generate_presigned_url("get_object", Params={"Bucket": "bucket", "Key": "a/b"})
    with urllib.request.urlopen(got) as answer:
        assert answer.read() == b"content"
