"""A refusal is written as the client that gets it reads errors."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from werkzeug.test import EnvironBuilder
from werkzeug.wrappers import Request, Response

from airflow_sm_prefer.sandbox.refusals import refusal


def refused(path: str, headers: dict[str, str]) -> Response:
    request = Request(EnvironBuilder(path=path, method="POST", headers=headers).get_environ())
    return refusal(request, "AccessDeniedException", "no <pages>", 403)


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/", {"X-Amz-Target": "SageMaker.ListTrainingJobs"}),
        ("/", {"Content-Type": "application/x-amz-json-1.1"}),
        ("/_sandbox/jobs", {}),
    ],
)
def test_a_json_client_reads_json(path: str, headers: dict[str, str]) -> None:
    answer = refused(path, headers)
    assert answer.status_code == 403
    assert answer.headers["x-amzn-ErrorType"] == "AccessDeniedException"
    assert json.loads(answer.get_data())["message"] == "no <pages>"


@pytest.mark.parametrize(
    ("path", "headers"),
    [("/bucket/key", {}), ("/", {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"})],
)
def test_s3_and_the_query_protocols_read_xml(path: str, headers: dict[str, str]) -> None:
    answer = refused(path, headers)
    assert answer.status_code == 403
    error = ET.fromstring(answer.get_data()).find("Error")
    assert error is not None
    assert error.findtext("Code") == "AccessDeniedException"
    assert error.findtext("Message") == "no <pages>"
