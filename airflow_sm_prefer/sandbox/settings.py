"""How the sandbox behaves where AWS doesn't say how AWS does; each default is the least favourable value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class PendingExpiry(StrEnum):
    """How a job ends when its pending limit is over; AWS's pages disagree."""

    STOPPED = "stopped"
    FAILED = "failed"
    FAILED_ICE = "failed_ice"


class PlanExpiry(StrEnum):
    """How a job ends with the last block of its training plan; AWS's pages are silent."""

    STOPPED = "stopped"
    FAILED = "failed"


class ProcessingShortage(StrEnum):
    """What a processing job does without capacity; AWS's pages are silent."""

    WAITS = "waits"
    FAILS = "fails"


class ModifiedFilter(StrEnum):
    """When a List applies LastModifiedTimeAfter, and NameContains beside MaxResults.

    Before paging, pages are full; after it they may be empty.
    """

    AFTER_PAGING = "after_paging"
    BEFORE_PAGING = "before_paging"


class TokenRepeat(StrEnum):
    """What SubmitServiceJob does with a clientToken that it has seen; AWS says "rejected" and no more."""

    REFUSED = "refused"
    FIRST_JOB = "first_job"


class BatchPreferences(StrEnum):
    """What becomes of a service job with a preference list; AWS's pages disagree whether there may be one."""

    REJECT = "reject"
    PASS = "pass"  # noqa: S105, RUF100 - no password
    MISCONFIG = "misconfig"


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of a scenario's ``settings`` section.

    Attributes:
        pending_expiry: How a job ends when its pending limit is over.
        pending_expiry_secondary: The secondary status of ``stopped``; AWS has never published its name.
        default_pending_seconds: The limit of an accelerated job that names none; documented for plans only.
        plan_expiry: How a job ends with the last block of its training plan.
        processing_shortage: Whether a processing job waits for capacity or fails.
        modified_filter: Whether LastModifiedTimeAfter, and NameContains beside MaxResults, are applied before a List
            cuts its pages or after.
        list_delay_seconds: How long a List goes on showing the state before a change.
        double_events_every: Every so many state-change events is sent twice; 0 sends none twice.
        lose_events_every: Every so many state-change events is never sent; 0 loses none.
        event_delay_seconds: How long after the change a late event is sent.
        late_events_every: Every so many state-change events is late; 1 makes all late, 0 none.
        launch_seconds: From the selection of a type to the start of the run.
        max_preferences: How long an instance preference list may be.
        allow_unknown_types: Accept instance types that the installed botocore doesn't know.
        batch_object_seconds: How long Batch's environments, queues and quota shares are CREATING, UPDATING, DELETING.
        batch_retry_seconds: How long Batch waits after a shortage before it makes another training job; 1 at least.
        batch_token_repeat: What SubmitServiceJob does with a clientToken that it has seen.
        batch_preferences: What becomes of a service job with a preference list.
    """

    pending_expiry: PendingExpiry = PendingExpiry.STOPPED
    pending_expiry_secondary: str = "MaxPendingTimeExceeded"
    default_pending_seconds: float = 172_800.0
    plan_expiry: PlanExpiry = PlanExpiry.STOPPED
    processing_shortage: ProcessingShortage = ProcessingShortage.WAITS
    modified_filter: ModifiedFilter = ModifiedFilter.AFTER_PAGING
    list_delay_seconds: float = 0.0
    double_events_every: int = 3
    lose_events_every: int = 0
    event_delay_seconds: float = 0.0
    late_events_every: int = 1
    launch_seconds: float = 0.0
    max_preferences: int = 5
    allow_unknown_types: bool = False
    batch_object_seconds: float = 0.0
    batch_retry_seconds: float = 60.0
    batch_token_repeat: TokenRepeat = TokenRepeat.REFUSED
    batch_preferences: BatchPreferences = BatchPreferences.REJECT
