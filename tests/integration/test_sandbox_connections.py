"""Connections to the sandbox's server: which are kept, and how they end."""

import http.client
import socket

import pytest

from airflow_sm_prefer.sandbox import SandboxControl
from tests.integration.test_sandbox_wire import client, serve
from tests.unit.sandbox.builders import training

HEADERS = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=k/20261130/us-east-1/sagemaker/aws4_request, SignedHeaders=host",
    "X-Amz-Target": "SageMaker.ListTrainingJobs",
}


def connect(server) -> http.client.HTTPConnection:
    host, _, port = server.endpoint_url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    connection.connect()
    return connection


def ask(connection: http.client.HTTPConnection, body: bytes = b"{}", **headers: str) -> tuple[int, bytes]:
    connection.request("POST", "/", body, {**HEADERS, **{k.replace("_", "-"): v for k, v in headers.items()}})
    response = connection.getresponse()
    return response.status, response.read()


def test_a_connection_is_kept_from_call_to_call():
    with serve() as server:
        connection = connect(server)
        port = connection.sock.getsockname()[1]
        for _ in range(3):
            assert ask(connection) == (200, b'{"TrainingJobSummaries": []}')
            assert connection.sock.getsockname()[1] == port
        assert ask(connection, b"[1")[0] == 400
        assert ask(connection)[0] == 200


def test_a_request_in_pieces_is_answered_too():
    with serve() as server:
        connection = connect(server)
        lines = [*(f"{name}: {value}" for name, value in HEADERS.items()), "Host: localhost", "Content-Length: 2"]
        connection.sock.sendall("\r\n".join(["POST / HTTP/1.1", *lines, "", "{"]).encode())
        SandboxControl(server.endpoint_url).state()  # meanwhile the first piece is looked at
        connection.sock.sendall(b"}")
        answer = http.client.HTTPResponse(connection.sock)
        answer.begin()
        assert (answer.status, answer.read()) == (200, b'{"TrainingJobSummaries": []}')


def test_a_request_that_ends_before_its_length_is_not_answered(capfd):
    with serve() as server:
        connection = connect(server)
        lines = [*(f"{name}: {value}" for name, value in HEADERS.items()), "Host: localhost", "Content-Length: 20"]
        connection.sock.sendall("\r\n".join(["POST / HTTP/1.1", *lines, "", "{"]).encode())
        connection.sock.shutdown(socket.SHUT_WR)
        assert connection.sock.recv(1) == b""
    assert capfd.readouterr().err == ""


def test_what_is_not_ours_goes_its_usual_way_on_the_same_connection():
    with serve() as server:
        connection = connect(server)
        assert ask(connection)[0] == 200
        assert ask(connection, X_Amz_Target="SageMaker.ListModels") == (200, b'{"Models": []}')
        assert ask(connection)[0] == 200
        assert ask(connection, Origin="http://evil.example")[0] == 403


def test_a_large_request_is_taken_whole():
    with serve() as server:
        sagemaker = client(server)
        many = {f"key-{number:03d}": "x" * 2_500 for number in range(99)}
        sagemaker.create_training_job(**training(HyperParameters=many))
        assert sagemaker.describe_training_job(TrainingJobName="job")["HyperParameters"] == many


def test_a_dropped_call_ends_a_kept_connection_without_an_answer():
    fault = {"operation": "ListTrainingJobs", "error": "drop", "after": 1}
    with serve({"call_faults": [fault]}) as server:
        connection = connect(server)
        assert ask(connection)[0] == 200
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            ask(connection)
        assert ask(connect(server))[0] == 200


def test_a_server_that_stops_ends_the_connections_that_it_kept():
    with serve() as server:
        connection = connect(server)
        ask(connection)
    assert connection.sock.recv(1) == b""


def test_uploads_that_wait_for_a_hundred_continue_reach_s3():
    with serve() as server:
        s3 = client(server, "s3")
        s3.create_bucket(Bucket="bucket")
        body = b"0123456789abcdef" * 20_000
        s3.put_object(Bucket="bucket", Key="a", Body=body)
        assert s3.get_object(Bucket="bucket", Key="a")["Body"].read() == body
