"""Service quotas for SageMaker, as far as they matter before a job: how many instances an account may have at once.

Service Quotas tells limits, not what is in use of them: a quota that is used up shows at the submission only.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.aws.failures import CALL_ERRORS, FailureKind, classify
from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import Clock

log = logging.getLogger(__name__)

_OPERATION = "ListServiceQuotas"

#: Rows of a page; AWS gives no more (https://docs.aws.amazon.com/servicequotas/2019-06-24/apireference/).
_PAGE = 100


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota of the account in its Region.

    Attributes:
        name: As Service Quotas writes it: ``ml.p5.48xlarge for training job usage``.
        code: Its code, which a request for more needs: ``L-1234ABCD``.
        value: The limit, in instances.
    """

    name: str
    code: str
    value: float


class QuotasApi:
    """Reads quotas, paced. Blocks; safe for threads."""

    def __init__(self, client: Any, pacing: Pacing, clock: Clock) -> None:
        """Take a boto3 ``service-quotas`` client and the buckets of its account and Region."""
        self._client = client
        self._pacing = pacing
        self._clock = clock

    def named(self, names: Collection[str]) -> dict[str, Quota]:
        """Return the quotas of some names; one that AWS doesn't list is left out.

        SageMaker has thousands of quotas, and a quota is asked for by a code that only its listing tells: so it is
        read a page at a time, no further than the last one that is wanted. Where AWS doesn't answer or the role may
        not ask, there is a warning in the log, and what is known until then is returned.
        """
        found: dict[str, Quota] = {}
        for row in self._rows():
            if row["QuotaName"] in names:
                found[row["QuotaName"]] = Quota(row["QuotaName"], row.get("QuotaCode", ""), row["Value"])
            if len(found) == len(names):
                break
        return found

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        token: str | None = None
        while True:
            self._clock.sleep(self._pacing.acquire(_OPERATION))
            more = {"NextToken": token} if token else {}
            try:
                page = self._client.list_service_quotas(ServiceCode="sagemaker", MaxResults=_PAGE, **more)
            except CALL_ERRORS as error:
                self._give_up(error)
                return
            yield from page.get("Quotas", ())
            token = page.get("NextToken")
            if not token:
                return

    def _give_up(self, error: Exception) -> None:
        failure = classify(error, _OPERATION)
        if failure.kind is FailureKind.THROTTLED:
            self._pacing.throttled(_OPERATION)
        log.warning("The quotas are not known, or not all of them, and the job is submitted without: %s", failure)
