"""Service Quotas for SageMaker: what the sandbox enforces, readable as in an account."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.listing import paged
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.quotas import (
    DEFAULT_VOLUME_GB,
    UNLIMITED,
    total_quota,
    usage_quota,
    volume_quota,
    warm_pool_quota,
)

PAGE = 100


class ServiceQuotas(Operations):
    """The quotas of the service code ``sagemaker``."""

    SERVICE = "service-quotas"
    NAMES = ("ListServiceQuotas", "GetServiceQuota")

    def list_service_quotas(self, caller: Caller, request: Request) -> Response:
        """List quotas by name."""
        rows = [self._shown(caller, name) for name in sorted(set(_names()) | self.engine.quotas.keys())]
        wanted = request.get("QuotaCode")
        rows = [row for row in rows if wanted in (None, row["QuotaCode"])]
        request = {"MaxResults": PAGE, "SortOrder": "Ascending", **request}
        page, token = paged(rows, request, lambda row: (row["QuotaName"],))
        return {"Quotas": page} if token is None else {"Quotas": page, "NextToken": token}

    def get_service_quota(self, caller: Caller, request: Request) -> Response:
        """Show one quota by its code.

        Raises:
            ApiError: there is none.
        """
        for name in set(_names()) | self.engine.quotas.keys():
            if quota_code(name) == request["QuotaCode"]:
                return {"Quota": self._shown(caller, name)}
        raise ApiError("NoSuchResourceException", "The request failed because the specified quota does not exist.")

    def _shown(self, caller: Caller, name: str) -> Response:
        code = quota_code(name)
        default = DEFAULT_VOLUME_GB if name.startswith("Size of EBS volume") else UNLIMITED
        return {
            "ServiceCode": "sagemaker",
            "ServiceName": "Amazon SageMaker",
            "QuotaArn": f"arn:aws:servicequotas:{caller.region}:{caller.account}:sagemaker/{code}",
            "QuotaCode": code,
            "QuotaName": name,
            "Value": self.engine.quotas.get(name, default),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
            "QuotaAppliedAtLevel": "ACCOUNT",
        }


def quota_code(name: str) -> str:
    """Return a code of AWS's form for a quota; AWS's own codes can't be derived from names."""
    return f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"


def _names() -> Iterator[str]:
    yield total_quota(JobKind.TRAINING, spot=True)
    for kind, types in (
        (JobKind.TRAINING, catalog.TRAINING_TYPES),
        (JobKind.PROCESSING, catalog.PROCESSING_TYPES),
    ):
        yield total_quota(kind)
        yield volume_quota(kind)
        for name in types:
            yield usage_quota(kind, name)
            if kind is JobKind.TRAINING:
                yield usage_quota(kind, name, spot=True)
                yield warm_pool_quota(name)
