"""Service Quotas for SageMaker: what the sandbox enforces, readable as in an account."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from airflow_sm_prefer import catalog
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.listing import paged
from airflow_sm_prefer.sandbox.operations.base import Operations, Request, Response
from airflow_sm_prefer.sandbox.quotas import JOB_LIMITS, UNLIMITED, total_quota, usage_quota, warm_pool_quota

PAGE = 100


class ServiceQuotas(Operations):
    """The quotas of the service code ``sagemaker``."""

    SERVICE = "service-quotas"
    NAMES = (
        "ListServiceQuotas",
        "GetServiceQuota",
        "ListAWSDefaultServiceQuotas",
        "GetAWSDefaultServiceQuota",
    )

    def list_service_quotas(self, caller: Caller, request: Request) -> Response:
        """List what the account has, by name; none of it is of a single resource.

        Raises:
            ApiError: the token isn't one of ours.
        """
        if request.get("QuotaAppliedAtLevel") == "RESOURCE":
            return {"Quotas": []}
        return self._list(caller, request, self.engine.quotas)

    def get_service_quota(self, caller: Caller, request: Request) -> Response:
        """Show what the account has of one quota, by its code.

        Raises:
            ApiError: there is none.
        """
        return {"Quota": self._shown(caller, self._name(request), self.engine.quotas)}

    def list_aws_default_service_quotas(self, caller: Caller, request: Request) -> Response:
        """List what an account has that was never raised.

        Raises:
            ApiError: the token isn't one of ours.
        """
        return self._list(caller, request, {})

    def get_aws_default_service_quota(self, caller: Caller, request: Request) -> Response:
        """Show what an account that was never raised has of one quota.

        Raises:
            ApiError: there is none.
        """
        return {"Quota": self._shown(caller, self._name(request), {})}

    def _list(self, caller: Caller, request: Request, raised: Mapping[str, int]) -> Response:
        rows = [self._shown(caller, name, raised) for name in sorted(self._names())]
        wanted = request.get("QuotaCode")
        rows = [row for row in rows if wanted in (None, row["QuotaCode"])]
        if wanted is not None and not rows:
            raise _no_such_quota()
        request = {"MaxResults": PAGE, "SortOrder": "Ascending", **request}
        try:
            page, token = paged(rows, request, lambda row: (row["QuotaName"],))
        except ApiError:
            raise ApiError("InvalidPaginationTokenException", "Invalid token was provided.") from None
        return {"Quotas": page} if token is None else {"Quotas": page, "NextToken": token}

    def _names(self) -> set[str]:
        return set(_names()) | self.engine.quotas.keys()

    def _name(self, request: Request) -> str:
        for name in self._names():
            if quota_code(name) == request["QuotaCode"]:
                return name
        raise _no_such_quota()

    def _shown(self, caller: Caller, name: str, raised: Mapping[str, int]) -> Response:
        code = quota_code(name)
        default, _ = JOB_LIMITS.get(name, (UNLIMITED, ""))
        return {
            "ServiceCode": "sagemaker",
            "ServiceName": "Amazon SageMaker",
            "QuotaArn": f"arn:aws:servicequotas:{caller.region}:{caller.account}:sagemaker/{code}",
            "QuotaCode": code,
            "QuotaName": name,
            "Value": raised.get(name, default),
            "Unit": "None",
            "Adjustable": True,
            "GlobalQuota": False,
            "QuotaAppliedAtLevel": "ACCOUNT",
        }


def _no_such_quota() -> ApiError:
    return ApiError("NoSuchResourceException", "The request failed because the specified quota does not exist.")


def quota_code(name: str) -> str:
    """Return a code of AWS's form for a quota; AWS's own codes can't be derived from names."""
    return f"L-{hashlib.sha256(name.encode()).hexdigest()[:8].upper()}"


def _names() -> Iterator[str]:
    yield from JOB_LIMITS
    yield total_quota(JobKind.TRAINING, spot=True)
    for kind, types in (
        (JobKind.TRAINING, catalog.TRAINING_TYPES),
        (JobKind.PROCESSING, catalog.PROCESSING_TYPES),
    ):
        yield total_quota(kind)
        for name in types:
            yield usage_quota(kind, name)
            if kind is JobKind.TRAINING:
                yield usage_quota(kind, name, spot=True)
                yield warm_pool_quota(name)
