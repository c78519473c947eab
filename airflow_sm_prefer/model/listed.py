"""A job as a listing shows it, in one form for SageMaker's own and for service jobs of AWS Batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from airflow_sm_prefer.model.job import TERMINAL_STATUSES, JobKind
from airflow_sm_prefer.model.service_job import TERMINAL, is_service_job, seconds


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of a listing. Instants are in seconds since 1970, by AWS's clock.

    Attributes:
        name: The job's name.
        arn: Its ARN.
        status: As SageMaker writes it: ``InProgress``, ``Completed``, ``Failed``, ``Stopping`` or ``Stopped``.
        created: When it was created.
        ended: When it ended; None for one that has not.
        modified: When its status last changed, if the listing says.
        secondary: The secondary status of a training job, or the status of a service job; None for the others.
        reason: Why a service job waits, if AWS says.
    """

    name: str
    arn: str
    status: str
    created: float
    ended: float | None = None
    modified: float | None = None
    secondary: str | None = None
    reason: str = ""

    @property
    def handle(self) -> str:
        """What AWS calls the job by: SageMaker's by its name, a service job by its ARN."""
        return self.arn if is_service_job(self.arn) else self.name

    @property
    def is_over(self) -> bool:
        """Whether the job is over."""
        return self.status in TERMINAL_STATUSES

    @classmethod
    def from_summary(cls, kind: JobKind, row: Mapping[str, Any]) -> Self:
        """Read a row of ListTrainingJobs or ListProcessingJobs."""
        status = row[kind.status_key]
        modified: datetime | None = row.get("LastModifiedTime")
        ended = row.get(f"{kind.word}EndTime") or modified
        return cls(
            name=row[kind.name_key],
            arn=row[kind.arn_key],
            status=status,
            created=row["CreationTime"].timestamp(),
            ended=ended.timestamp() if ended and status in TERMINAL_STATUSES else None,
            modified=modified.timestamp() if modified else None,
            secondary=row.get("SecondaryStatus"),
        )

    @classmethod
    def from_service_job(cls, row: Mapping[str, Any]) -> Self:
        """Read a row of ListServiceJobs."""
        written = row.get("status", "")
        status = TERMINAL.get(written, "InProgress")
        is_over = status in TERMINAL_STATUSES
        return cls(
            name=row["jobName"],
            arn=row["jobArn"],
            status=status,
            created=seconds(row.get("createdAt")) or 0.0,
            ended=seconds(row.get("stoppedAt")) if is_over else None,
            secondary=None if is_over else written or None,
            reason="" if is_over else row.get("statusReason") or "",
        )
