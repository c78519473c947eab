"""Which running jobs nobody waits for any more: a pure decision, job by job.

A wrong stop is worse than a late one, so that whatever is in doubt is kept, and it is said. What makes the stops safe
at any time: a live job is adopted only by a retry, and a retry never goes through a state that ends a task; the try
after a clear stops what it finds. So a job whose task instance is over is nobody's, and stays so.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.service_job import is_service_job
from airflow_sm_prefer.placement.naming import TaskIdentity, read_identity
from airflow_sm_prefer.placement.ownership import PREFIX, Ownership
from airflow_sm_prefer.placement.task_states import NO_STATUS, TERMINAL

#: Says since when a job's task instance has not been there, in seconds since 1970; :data:`NOT_MISSING` takes it back.
MISSING_TAG: Final = f"{PREFIX}missing-since"
NOT_MISSING: Final = "no"

#: Seconds between the two looks that must both find no task instance. Ten minutes, less what two runs of a schedule
#: of ten minutes may begin apart.
MISSING_FOR: Final = 570.0


class TaskStates(Protocol):
    """Where the states of task instances come from."""

    def read(self, tasks: Collection[TaskIdentity]) -> Mapping[TaskIdentity, str | None]:
        """Return each one's state; ``no_status`` if it has none, None only if Airflow says that it isn't there.

        Raises:
            TaskStatesUnavailable: Airflow can't be asked. That says nothing about any of them.
        """


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job of this deployment that AWS has as InProgress.

    Attributes:
        kind: Training or processing.
        name: Its name.
        arn: Its ARN.
        created: When it was created, in seconds since 1970.
        owner: What its tags say; None if they can't be read.
        task: Its task instance; None if it can't be told.
        missing_since: When an earlier look first found no such task instance; None if none did.
    """

    kind: JobKind
    name: str
    arn: str
    created: float
    owner: Ownership | None
    task: TaskIdentity | None
    missing_since: float | None = None

    @property
    def handle(self) -> str:
        """What AWS calls it by."""
        return self.arn if is_service_job(self.arn) else self.name

    @classmethod
    def from_tags(
        cls, kind: JobKind, name: str, arn: str, created: float, *, tags: Mapping[str, str], deployment: str
    ) -> LiveJob:
        """Read whose job it is, as far as its tags say."""
        owner = Ownership.from_tags(tags)
        task = read_identity(deployment, owner.written_task, name) if owner else None
        return cls(kind, name, arn, created, owner, task, _instant(tags.get(MISSING_TAG)))


class Act(StrEnum):
    """What is to be done about a job.

    ``KEEP``: nothing. ``DOUBT``: nothing, and a person should look. ``NOTE``: remember that its task instance is
    missing. ``WAIT``: it is remembered, and the second look is still to come. ``TAKE_BACK``: its task instance is there
    again, so forget that. ``STOP``: stop it.
    """

    KEEP = "keep"
    DOUBT = "doubt"
    NOTE = "note"
    WAIT = "wait"
    TAKE_BACK = "take_back"
    STOP = "stop"


class Cause(StrEnum):
    """Why."""

    TASK_LIVES = "task_lives"
    NOT_WAITED_FOR = "not_waited_for"
    TASK_OVER = "task_over"
    TASK_MISSING = "task_missing"
    SUPERSEDED = "superseded"
    SAME_TRY_TWICE = "same_try_twice"
    OWNER_UNKNOWN = "owner_unknown"


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done about a job, why, and the same in words."""

    act: Act
    cause: Cause
    text: str


def decide(job: LiveJob, state: str | None, later: Ownership | None, now: float) -> Decision:
    """Decide about one job.

    Args:
        job: The job.
        state: What Airflow says of its task instance, read after the job was seen; None if it isn't there.
        later: Whose the newest live job is that the same task instance has submitted after this one, if there is one.
        now: The instant, in seconds since 1970.
    """
    if job.owner is None or job.task is None:
        return Decision(Act.DOUBT, Cause.OWNER_UNKNOWN, "its tags don't say which task instance it belongs to")
    if not job.owner.waits:
        return Decision(Act.KEEP, Cause.NOT_WAITED_FOR, "it was submitted without waiting")
    if state in TERMINAL:
        return Decision(Act.STOP, Cause.TASK_OVER, f"its task is over: {state}")
    if later is not None:
        return _superseded(job.owner, later)
    if state is None:
        return _missing(job, now)
    act = Act.KEEP if job.missing_since is None else Act.TAKE_BACK
    text = "its task is yet to be scheduled" if state == NO_STATUS else f"its task is {state}"
    return Decision(act, Cause.TASK_LIVES, text)


def later_owners(jobs: Iterable[LiveJob]) -> dict[str, Ownership]:
    """Return, by the ARN of a job, whose the newest job is that came after it for the same task instance."""
    newest: dict[tuple[JobKind, TaskIdentity], Ownership] = {}
    owned = [(job, job.owner, job.task) for job in jobs if job.owner is not None and job.task is not None]
    for job, owner, task in owned:
        best = newest.get((job.kind, task))
        if best is None or _order(owner) > _order(best):
            newest[job.kind, task] = owner
    return {
        job.arn: newest[job.kind, task] for job, owner, task in owned if _order(newest[job.kind, task]) > _order(owner)
    }


def _order(owner: Ownership) -> tuple[int, str]:
    """Return what jobs of a task instance are in order by: their number, and the try, whose ids grow with time.

    A try that didn't see where an earlier one had submitted to may have used its number again.
    """
    return owner.submission, owner.ti_id


def _superseded(owner: Ownership, later: Ownership) -> Decision:
    if owner.ti_id == later.ti_id:
        text = f"the same try has also submitted number {later.submission}, and waits for one of them"
        return Decision(Act.DOUBT, Cause.SAME_TRY_TWICE, text)
    text = f"a later try of its task has submitted number {later.submission}"
    return Decision(Act.STOP, Cause.SUPERSEDED, text)


def _missing(job: LiveJob, now: float) -> Decision:
    if job.missing_since is None or job.missing_since > now:
        text = "its task isn't in Airflow; a second look in ten minutes decides"
        return Decision(Act.NOTE, Cause.TASK_MISSING, text)
    text = f"its task has not been in Airflow for {(now - job.missing_since) / 60:.0f} min"
    if now - job.missing_since < MISSING_FOR:
        return Decision(Act.WAIT, Cause.TASK_MISSING, f"{text}; a look after ten decides")
    return Decision(Act.STOP, Cause.TASK_MISSING, text)


def _instant(written: str | None) -> float | None:
    try:
        instant = float(written or "")
    except ValueError:
        return None
    return instant if math.isfinite(instant) else None
