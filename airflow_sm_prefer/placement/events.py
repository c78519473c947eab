"""What the machine hears (events) and what it asks for (commands)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.verdict import Judgement
from airflow_sm_prefer.placement.plans import PlanStatus


@dataclass(frozen=True, slots=True)
class Begun:
    """A try begins, and there is no earlier job to think of."""


@dataclass(frozen=True, slots=True)
class Found:
    """A try begins, and an earlier job of this task instance was found.

    Attributes:
        seen: The job as AWS shows it.
        arn: Its ARN.
        submission: Its number.
        is_retry: Whether this try is a retry of the one that submitted it; false after a clear.
        differs: The parts of the request that have changed since; empty if it does the same.
        first_submit: When that task instance first submitted since its last clear.
        pending_spent: What of the budget was spent before that job.
        max_pending: The MaxPendingTimeInSeconds that it was sent with.
        max_runtime: How long it may take once it has begun, in seconds, if that is known.
        recoveries: How often that task instance had started again after a failure.
        wave: Which wave of the list it was sent for.
        waits: False if it was submitted without waiting: then nothing of ours stops it.
    """

    seen: Observation
    arn: str
    submission: int
    is_retry: bool
    differs: tuple[str, ...] = ()
    first_submit: float | None = None
    pending_spent: float = 0.0
    max_pending: float | None = None
    max_runtime: float | None = None
    recoveries: int = 0
    wave: int = 0
    waits: bool = True

    @property
    def goes_on(self) -> bool:
        """Whether this try goes on where the one left off that submitted the job, and with the same request."""
        return self.is_retry and not self.differs


@dataclass(frozen=True, slots=True)
class Created:
    """AWS has created the job, now or in a call whose answer was lost.

    Attributes:
        name: Its name.
        arn: Its ARN.
        max_pending: The MaxPendingTimeInSeconds that AWS holds it to, if any.
        max_runtime: How long it may take once it has begun, in seconds; None if that is as the state has it.
    """

    name: str
    arn: str
    max_pending: float | None = None
    max_runtime: float | None = None


@dataclass(frozen=True, slots=True)
class NameTaken:
    """The name was used before, by a job that isn't this try's."""

    name: str


@dataclass(frozen=True, slots=True)
class Refused:
    """AWS didn't take the request."""

    judgement: Judgement


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The request may have reached AWS or not.

    Attributes:
        text: What came instead of an answer.
        token_used: Whether AWS Batch says that its client token was used, and no job shows that it was used for.
    """

    text: str
    token_used: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """The job, as AWS shows it now."""

    observation: Observation


@dataclass(frozen=True, slots=True)
class Unseen:
    """AWS could not be asked about the job, or doesn't know it."""

    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Glimpsed:
    """A listing shows that the job is still there, and nothing new about it."""


@dataclass(frozen=True, slots=True)
class Woken:
    """The instant that was slept for has come."""


@dataclass(frozen=True, slots=True)
class PlansSeen:
    """How the training plans of some entries stand, by their indices; None where AWS doesn't say."""

    plans: Mapping[int, PlanStatus | None]


Event = Begun | Found | Created | NameTaken | Refused | NoAnswer | Seen | Unseen | Glimpsed | Woken | PlansSeen


@dataclass(frozen=True, slots=True)
class AskPlans:
    """Ask AWS how the training plans of these entries stand."""

    entries: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Submit:
    """Create a job: of this wave, under the name with this number, without these entries."""

    submission: int
    wave: int
    without: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Stop:
    """Ask AWS to stop the job; a job that is over already is no error.

    Attributes:
        handle: What AWS calls it by.
        why: What AWS Batch is to show as the reason; a stop is the same with another.
    """

    handle: str
    why: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class Watch:
    """Look at the job until something changes, and again when this instant has come."""

    until: float | None = None


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait for an instant; there is no job."""

    until: float


@dataclass(frozen=True, slots=True)
class Finish:
    """The job completed: hand out its result."""


@dataclass(frozen=True, slots=True)
class Fail:
    """It did not come to a good end."""

    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Tell:
    """Say something in the task's log."""

    text: str
    warning: bool = False


Command = AskPlans | Submit | Stop | Watch | Sleep | Finish | Fail | Tell
