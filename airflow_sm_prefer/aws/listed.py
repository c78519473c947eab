"""A job as a listing shows it, in one form for SageMaker's own and for service jobs of AWS Batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from airflow_sm_prefer.model.job import TERMINAL_STATUSES, JobKind
from airflow_sm_prefer.model.service_job import TERMINAL, seconds


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of a listing.

    Attributes:
        name: The job's name.
        arn: Its ARN.
        status: As SageMaker writes it: ``InProgress``, ``Completed``, ``Failed``, ``Stopping`` or ``Stopped``.
        created: When it was created, in seconds since 1970.
        ended: When it ended; None for one that has not.
    """

    name: str
    arn: str
    status: str
    created: float
    ended: float | None = None

    @classmethod
    def from_summary(cls, kind: JobKind, row: Mapping[str, Any]) -> Self:
        """Read a row of ListTrainingJobs or ListProcessingJobs."""
        status = row[kind.status_key]
        ended: datetime | None = row.get(f"{kind.word}EndTime") or row.get("LastModifiedTime")
        return cls(
            name=row[kind.name_key],
            arn=row[kind.arn_key],
            status=status,
            created=row["CreationTime"].timestamp(),
            ended=ended.timestamp() if ended and status in TERMINAL_STATUSES else None,
        )

    @classmethod
    def from_service_job(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of ListServiceJobs."""
        status = TERMINAL.get(row.get("status", ""), "InProgress")
        return cls(
            name=row["jobName"],
            arn=row["jobArn"],
            status=status,
            created=seconds(row.get("createdAt")) or 0.0,
            ended=seconds(row.get("stoppedAt")) if status in TERMINAL_STATUSES else None,
        )
