from __future__ import annotations

import logging
from typing import Any

import boto3
import pytest
from botocore.exceptions import EndpointConnectionError
from botocore.stub import Stubber

from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.aws.quotas import Quota, QuotasApi
from airflow_sm_prefer.clock import FakeClock

P5 = "ml.p5.48xlarge for training job usage"
TOTAL = "Number of instances across all training jobs"
ASKED = {"ServiceCode": "sagemaker", "MaxResults": 100}


def row(name: str, value: float) -> dict[str, Any]:
    return {"QuotaName": name, "QuotaCode": "L-1234ABCD", "Value": value, "ServiceCode": "sagemaker"}


@pytest.fixture
def client() -> Any:
    return boto3.client(
        "service-quotas", region_name="us-west-2", aws_access_key_id="test", aws_secret_access_key="test"
    )


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def quotas(client: Any, clock: FakeClock) -> QuotasApi:
    return QuotasApi(client, Pacing(clock), clock)


def test_quotas_are_found_by_name_page_by_page(client: Any, quotas: QuotasApi) -> None:
    with Stubber(client) as stub:
        stub.add_response("list_service_quotas", {"Quotas": [row("other", 1.0)], "NextToken": "next"}, ASKED)
        stub.add_response("list_service_quotas", {"Quotas": [row(P5, 2.0)]}, {**ASKED, "NextToken": "next"})
        assert quotas.named({P5, TOTAL}) == {P5: Quota(P5, "L-1234ABCD", 2.0)}
        stub.assert_no_pending_responses()


def test_no_page_is_read_after_the_last_quota_that_is_wanted(client: Any, quotas: QuotasApi) -> None:
    with Stubber(client) as stub:
        stub.add_response("list_service_quotas", {"Quotas": [row(P5, 2.0), row(TOTAL, 20.0)], "NextToken": "next"})
        assert set(quotas.named([P5, TOTAL])) == {P5, TOTAL}


@pytest.mark.parametrize("code", ["AccessDeniedException", "TooManyRequestsException", "ServiceException"])
def test_quotas_that_may_not_be_read_are_a_warning(
    code: str, client: Any, quotas: QuotasApi, caplog: pytest.LogCaptureFixture
) -> None:
    with Stubber(client) as stub, caplog.at_level(logging.WARNING):
        stub.add_response("list_service_quotas", {"Quotas": [row(P5, 2.0)], "NextToken": "next"})
        stub.add_client_error("list_service_quotas", code, "not now")
        assert set(quotas.named([P5, TOTAL])) == {P5}
    assert f"ListServiceQuotas: {code}: not now" in caplog.text


def test_no_way_to_service_quotas_is_a_warning(
    client: Any, quotas: QuotasApi, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://servicequotas.us-west-2.amazonaws.com")

    monkeypatch.setattr(client, "list_service_quotas", refuse)
    assert quotas.named([P5]) == {}
    assert "EndpointConnectionError" in caplog.text


def test_pages_are_read_no_faster_than_five_a_second(client: Any, quotas: QuotasApi, clock: FakeClock) -> None:
    began = clock.time()
    with Stubber(client) as stub:
        for n in range(15):
            stub.add_response("list_service_quotas", {"Quotas": [], **({"NextToken": "next"} if n < 14 else {})})
        quotas.named([P5])
    assert clock.time() - began == pytest.approx(2.0)
