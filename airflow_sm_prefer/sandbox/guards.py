"""Who may talk to the sandbox: it runs what it is sent, so no web page may send it anything.

A page in a browser can't set an Authorization header or ours without asking first by CORS, which is never allowed
here; a Host that isn't loopback shows DNS rebinding. What a page can do is name an address, in an image or a link, and
an old browser says nothing of where that came from: an address alone, presigned or forged, reaches S3 and nothing else.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs

CONTROL_HEADER = "X-Sm-Prefer-Sandbox"
CONTROL_VALUE = "control"
CONTROL_PATH = "/_sandbox/"

PRESIGNED_METHODS = ("GET", "HEAD", "PUT", "DELETE")
"""What a presigned address may be asked with: no form can send the latter two."""

_SIGV4 = re.compile(r"AWS4-[A-Z0-9-]+\s+Credential=([^,\s]+)")


class Refused(Exception):
    """A request that the sandbox won't look at; the message says why."""


@dataclass(frozen=True, slots=True)
class Scope:
    """What a signature says: whose key, and for which Region and service.

    Attributes:
        access_key: The key's id.
        region: The Region.
        service: The service, by its name in signatures.
        in_query: Whether the address itself says so, as presigned ones do: anybody can make a browser ask for it.
    """

    access_key: str
    region: str
    service: str
    in_query: bool = False


def check_sender(headers: Mapping[str, str]) -> None:
    """Let a request through that no web page can have made.

    Raises:
        Refused: its Host isn't loopback, or a browser says that a page sent it.
    """
    if not is_loopback(headers.get("Host", "")):
        raise Refused("the Host header does not name this machine's loopback")
    if "Origin" in headers:
        raise Refused("the request comes from a web page: it has an Origin header")
    if headers.get("Sec-Fetch-Site", "none") != "none":
        raise Refused("the request comes from a web page: it has a Sec-Fetch-Site header")


def is_loopback(host: str) -> bool:
    """Whether a Host header names loopback: an address of it, ``localhost``, or a name under that."""
    name = host.rpartition(":")[0] if re.search(r":\d+$", host) else host
    name = name.strip("[]").lower().rstrip(".")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_control(headers: Mapping[str, str]) -> None:
    """Let a request to the control API through.

    Raises:
        Refused: it lacks the control header.
    """
    if headers.get(CONTROL_HEADER) != CONTROL_VALUE:
        raise Refused(f"the control API needs the header {CONTROL_HEADER}: {CONTROL_VALUE}")


def signed_scope(headers: Mapping[str, str], query: str) -> Scope:
    """Return what a request is signed for. Signatures aren't checked: there is no secret to check them with.

    Raises:
        Refused: it is neither signed nor a presigned S3 address.
    """
    found = _SIGV4.match(headers.get("Authorization", ""))
    if found:
        return _scope(found.group(1))
    arguments = parse_qs(query)
    if "X-Amz-Credential" in arguments and "X-Amz-Signature" in arguments:
        scope = _scope(arguments["X-Amz-Credential"][0])
        if scope.service == "s3":
            return replace(scope, in_query=True)
    if "AWSAccessKeyId" in arguments and "Signature" in arguments:
        return Scope(arguments["AWSAccessKeyId"][0], "us-east-1", "s3", in_query=True)
    raise Refused(
        "the request has no AWS Authorization header; ask with an AWS client, with this address as AWS_ENDPOINT_URL"
    )


def check_presigned(method: str) -> None:
    """Let a request through that only its address signs.

    Raises:
        Refused: a form could have posted it.
    """
    if method not in PRESIGNED_METHODS:
        raise Refused(f"a presigned address isn't asked with {method}, only with {', '.join(PRESIGNED_METHODS)}")


def _scope(credential: str) -> Scope:
    parts = credential.split("/")
    if len(parts) < 5:  # noqa: PLR2004, RUF100 - key, date, Region, service, aws4_request
        raise Refused("the AWS Authorization header has no credential scope")
    access_key, region, service = "/".join(parts[:-4]), parts[-3], parts[-2]
    return Scope(access_key, region, service)
