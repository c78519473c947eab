"""Who may talk to the sandbox."""

import pytest

from airflow_sm_prefer.sandbox.guards import (
    Refused,
    Scope,
    check_control,
    check_presigned,
    check_sender,
    is_loopback,
    signed_scope,
)

SIGNED = "AWS4-HMAC-SHA256 Credential=KEY/20261130/eu-west-1/sagemaker/aws4_request, SignedHeaders=host, Signature=0"


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:4580",
        "localhost:4580",
        "LOCALHOST",
        "bucket.localhost:1",
        "[::1]:80",
        "[::1]",
        "localhost.",
    ],
)
def test_loopback_by_any_name(host):
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "evil.example",
        "evil.example:4580",
        "10.0.0.1",
        "0.0.0.0",
        "localhost.evil.example",
        "localhost@evil.example",
        "127.0.0.1:4580@evil.example",
        "127.0.0.1:4580:evil",
        "[::1]evil.example",
        "127.0.0.1,evil.example",
        "127.0.0.1.evil.example.",
        "notlocalhost",
        "[fe80::1]",
    ],
)
def test_any_other_host_is_refused(host):
    assert not is_loopback(host)
    with pytest.raises(Refused, match="loopback"):
        check_sender({"Host": host})


@pytest.mark.parametrize("header", [{"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}])
def test_a_web_page_is_refused(header):
    with pytest.raises(Refused, match="web page"):
        check_sender({"Host": "localhost", **header})


def test_a_signature_says_whose_and_what():
    assert signed_scope({"Authorization": SIGNED}, "") == Scope("KEY", "eu-west-1", "sagemaker")


def test_presigned_addresses_of_s3_are_signed():
    query = "X-Amz-Credential=KEY%2F20261130%2Feu-west-1%2Fs3%2Faws4_request&X-Amz-Signature=0"
    assert signed_scope({}, query) == Scope("KEY", "eu-west-1", "s3", in_query=True)
    assert signed_scope({}, "AWSAccessKeyId=KEY&Signature=0&Expires=1").service == "s3"


@pytest.mark.parametrize(
    ("headers", "query"),
    [
        ({}, ""),
        ({"Authorization": "Bearer token"}, ""),
        ({"Authorization": "AWS4-HMAC-SHA256 Credential=KEY"}, ""),
        ({}, "X-Amz-Credential=KEY%2F20261130%2Feu-west-1%2Fsagemaker%2Faws4_request&X-Amz-Signature=0"),
    ],
)
def test_what_is_not_signed_is_refused(headers, query):
    with pytest.raises(Refused, match="AWS Authorization header"):
        signed_scope(headers, query)


def test_a_presigned_address_is_not_posted_to():
    for method in ("GET", "HEAD", "PUT", "DELETE"):
        check_presigned(method)
    for method in ("POST", "OPTIONS", "PATCH"):
        with pytest.raises(Refused, match="isn't asked with"):
            check_presigned(method)


def test_the_control_api_needs_its_header():
    check_control({"X-Sm-Prefer-Sandbox": "control"})
    with pytest.raises(Refused, match="X-Sm-Prefer-Sandbox: control"):
        check_control({})
