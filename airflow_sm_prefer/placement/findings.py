"""What reconcile has found and done: values, as JSON and in words."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from airflow_sm_prefer.clock import utc
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.reconcile import Act, Decision, LiveJob


class Done(StrEnum):
    """What has come of a finding.

    ``KEPT``: the job goes on, as it should. ``LOOK``: it goes on, and a person should look. ``STOPPED``: AWS has
    taken the stop. ``OVER``: it was over, or being stopped, already. ``NOTED``: it goes on, and a look in ten minutes
    decides. ``WOULD_STOP``, ``WOULD_NOTE``: what would be done if stops were allowed. ``FAILED``: it was to be
    stopped, or noted, and that failed.
    """

    KEPT = "kept"
    LOOK = "look"
    STOPPED = "stopped"
    OVER = "over"
    NOTED = "noted"
    WOULD_STOP = "would_stop"
    WOULD_NOTE = "would_note"
    FAILED = "failed"

    @property
    def words(self) -> str:
        """The same for people."""
        return _WORDS.get(self, self.value)


_WORDS = {
    Done.LOOK: "kept, in doubt",
    Done.OVER: "over already",
    Done.NOTED: "kept for now",
    Done.WOULD_STOP: "to be stopped",
    Done.WOULD_NOTE: "kept for now",
    Done.FAILED: "not done",
}

#: What leaves nothing to be done.
_SETTLED = frozenset({Done.KEPT, Done.STOPPED, Done.OVER})

#: What has come of a decision that asks for nothing to be done at AWS.
UNTOUCHED = {Act.KEEP: Done.KEPT, Act.DOUBT: Done.LOOK, Act.WAIT: Done.NOTED, Act.TAKE_BACK: Done.KEPT}


@dataclass(frozen=True, slots=True)
class Finding:
    """One live job: what was decided, and what has come of it."""

    job: LiveJob
    decision: Decision
    done: Done
    problem: str = ""

    def __str__(self) -> str:
        return f"{self.done.words}: {self.job.name} ({self.task or 'whose?'}): {self.text}"

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to be done about it."""
        return self.done in _SETTLED

    @property
    def task(self) -> str:
        """The task instance in words, as far as it is known."""
        if self.job.task is not None:
            return str(self.job.task)
        return self.job.owner.task if self.job.owner else ""

    @property
    def text(self) -> str:
        """Why, and what went wrong, in words."""
        return f"{self.decision.text}; {self.problem}" if self.problem else self.decision.text

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {
            "kind": self.job.kind.value,
            "job": self.job.name,
            "arn": self.job.arn,
            "created": _written(self.job.created),
            "task": self.task,
            "done": self.done.value,
            "cause": self.decision.cause.value,
            "why": self.text,
        }


@dataclass(frozen=True, slots=True)
class Sleeper:
    """A task instance that sleeps although its last job is over.

    Attributes:
        kind: The kind of job.
        name: The job.
        status: How it ended.
        ended: When, in seconds since 1970.
        task: The task instance.
    """

    kind: JobKind
    name: str
    status: str
    ended: float
    task: str

    def __str__(self) -> str:
        end = f"{self.task} is deferred, and its last job {self.name} ended as {self.status} at {_written(self.ended)}"
        if self.is_overdue:
            return f"{end}: is a triggerer running? Clear the task if it doesn't wake."
        return f"{end}: it may be waiting to submit again, as its log says."

    @property
    def is_overdue(self) -> bool:
        """Whether it should have woken; after another end than a good one it may be waiting to submit again."""
        return self.status == "Completed"

    def to_json(self) -> dict[str, Any]:
        """Return it as plain JSON."""
        return {**dataclasses.asdict(self), "kind": self.kind.value, "ended": _written(self.ended)}


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    Attributes:
        deployment: Whose jobs were looked at.
        region: Where.
        at: When it began, in seconds since 1970.
        stops: Whether it was allowed to stop anything.
        findings: Every live job of the deployment.
        sleepers: Task instances that sleep although their last job is over.
        foreign: How many jobs had this deployment's marker in their name and another's in their tags.
    """

    deployment: str
    region: str
    at: float
    stops: bool
    findings: tuple[Finding, ...]
    sleepers: tuple[Sleeper, ...]
    foreign: int = 0

    def __str__(self) -> str:
        counted = ", ".join(f"{count} {Done(done).words}" for done, count in self.counts().items())
        jobs = f"{len(self.findings)} running jobs of {self.deployment} in {self.region}"
        return f"{jobs}: {counted}" if counted else jobs

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left that somebody should look at."""
        return all(finding.is_settled for finding in self.findings) and not any(s.is_overdue for s in self.sleepers)

    @property
    def remarkable(self) -> list[Finding]:
        """Every finding but the jobs that go on as they should."""
        return [finding for finding in self.findings if finding.done is not Done.KEPT]

    def counts(self) -> dict[str, int]:
        """Return how many jobs there are of each outcome, those of none left out."""
        present = [finding.done for finding in self.findings]
        return {done.value: present.count(done) for done in Done if done in present}

    def to_json(self, *, kept: bool = True) -> dict[str, Any]:
        """Return it as plain JSON; without ``kept`` the jobs that go on as they should are only counted."""
        return {
            "deployment": self.deployment,
            "region": self.region,
            "at": _written(self.at),
            "stop": self.stops,
            "settled": self.is_settled,
            "counts": self.counts(),
            "foreign": self.foreign,
            "jobs": [finding.to_json() for finding in (self.findings if kept else self.remarkable)],
            "sleepers": [sleeper.to_json() for sleeper in self.sleepers],
        }


def _written(instant: float) -> str:
    return utc(instant).isoformat(timespec="seconds")
