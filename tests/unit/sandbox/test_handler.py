"""Which requests are plain enough to be answered at once."""

import pytest

from airflow_sm_prefer.sandbox.handler import Head, plain_head

PLAIN = b"POST / HTTP/1.1\r\nHost: 127.0.0.1:4580\r\nx-amz-target: SageMaker.Search\r\nContent-Length: 2\r\n\r\n{}"


def changed(old: bytes, new: bytes) -> bytes:
    assert old in PLAIN
    return PLAIN.replace(old, new)


def test_a_plain_request_has_headers_in_title_case_and_a_length():
    headers = {"Host": "127.0.0.1:4580", "X-Amz-Target": "SageMaker.Search", "Content-Length": "2"}
    assert plain_head(PLAIN) == Head("/", headers, len(PLAIN) - 2, len(PLAIN))


def test_an_operation_of_batchs_is_plain_too():
    head = plain_head(changed(b"POST / ", b"POST /v1/describeservicejob "))
    assert head is not None
    assert head.path == "/v1/describeservicejob"


def test_the_body_may_be_on_its_way_and_another_request_behind_it():
    for received in (PLAIN[:-1], PLAIN + PLAIN):
        assert plain_head(received) == plain_head(PLAIN)


def test_keeping_the_connection_may_be_asked_for():
    assert plain_head(changed(b"Host:", b"Connection: Keep-Alive\r\nHost:")) is not None


@pytest.mark.parametrize(
    "received",
    [
        b"",
        PLAIN[:40],
        changed(b"POST", b"PUT"),
        changed(b"POST / ", b"POST /bucket "),
        changed(b"POST / ", b"POST /v1/tags/arn%3Aaws "),
        changed(b"POST / ", b"POST /v1/list?a=b "),
        changed(b"HTTP/1.1", b"HTTP/1.0"),
        changed(b"Host:", b"Host: evil.example\r\nHost:"),
        changed(b"Host:", b"host: evil.example\r\nHost:"),
        changed(b"Host:", b"Host :"),
        changed(b"Host: 127.0.0.1", b"Host:\r\n 127.0.0.1"),
        changed(b"Host: 127.0.0.1", b"Host: 127.0.0.1\nOrigin: http://evil.example"),
        changed(b"Host: 127.0.0.1", b"Host: 127.0.0.1\rOrigin: http://evil.example"),
        changed(b"x-amz-target", b"x_amz_target"),
        changed(b"Content-Length: 2", b"Content-Length: -2"),
        changed(b"Content-Length: 2", b"Content-Length: 2, 2"),
        changed(b"Content-Length: 2", b"Content-Length: 99999999999"),
        changed(b"Content-Length: 2\r\n", b""),
        changed(b"Host:", b"Connection: close\r\nHost:"),
        changed(b"Host:", b"Expect: 100-continue\r\nHost:"),
        changed(b"Host:", b"Transfer-Encoding: chunked\r\nHost:"),
        changed(b"Host:", b"Upgrade: h2c\r\nHost:"),
    ],
)
def test_anything_unusual_is_left_alone(received):
    assert plain_head(received) is None
