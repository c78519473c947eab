"""The tags that a job is created with, and how they are read back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from airflow_sm_prefer.placement.naming import TAG_LIMIT, TaskIdentity, encode, encode_tag

PREFIX = "sm-prefer:"

#: The tag that says which try a job is of; a retry that takes the job up changes it.
TRY_TAG = f"{PREFIX}try"

#: Tags for a task instance that doesn't fit in one; a job has 50 at most, the user's among them.
_MOST_PIECES = 4
_PIECES = tuple(f"task-{number}" for number in range(1, _MOST_PIECES + 1))


@dataclass(frozen=True, slots=True)
class Ownership:
    """Whose a job is, and what its task instance had gone through when it was created.

    Attributes:
        task: The task instance, as a person reads it.
        deployment: The Airflow that it belongs to.
        ti_id: The id of the task instance's try, the last that had the job; every retry and every clear has its own.
        max_tries: Airflow's ``ti.max_tries``: a clear raises it, a retry leaves it.
        fingerprint: What the job does.
        submission: Its number in the task instance's life.
        first_submit: When the task instance first submitted since its last clear, in seconds since 1970.
        pending_spent: Seconds of the pending budget that were spent before this job.
        recoveries: How often the task instance had started again after a failure.
        waits: False for a job that was submitted without waiting: nothing of ours ever stops it.
        wave: Which wave of its list it was sent for.
        pieces: The task instance in full, in pieces, where ``task`` had to be cut.
    """

    task: str
    deployment: str
    ti_id: str
    max_tries: int
    fingerprint: str
    submission: int
    first_submit: float
    pending_spent: float = 0.0
    recoveries: int = 0
    waits: bool = True
    wave: int = 0
    pieces: tuple[str, ...] = ()

    @property
    def written_task(self) -> str:
        """The task instance, encoded, as whole as the tags have it."""
        return "".join(self.pieces) or self.task

    @classmethod
    def task_tag(cls, identity: TaskIdentity) -> str:
        """Return how the tag writes a task instance."""
        return encode_tag(str(identity))

    @classmethod
    def task_pieces(cls, identity: TaskIdentity) -> tuple[str, ...]:
        """Return what more tags hold of a task instance that one has to cut; nothing for one that fits, or never will.

        Whoever knows the task instance needs only its tag. Reconcile has nothing but the job, and reads these.
        """
        whole = encode(str(identity))
        pieces = tuple(whole[at : at + TAG_LIMIT] for at in range(0, len(whole), TAG_LIMIT))
        return pieces if 1 < len(pieces) <= _MOST_PIECES else ()

    def to_tags(self) -> list[dict[str, str]]:
        """Return the tags in AWS's form."""
        values = {
            "task": self.task,
            "deployment": encode_tag(self.deployment),
            "try": self.ti_id,
            "max-tries": str(self.max_tries),
            "fingerprint": self.fingerprint,
            "submission": str(self.submission),
            "first-submit": f"{self.first_submit:.3f}",
            "pending-spent": f"{self.pending_spent:.0f}",
            "recoveries": str(self.recoveries),
            "waits": "yes" if self.waits else "no",
            "wave": str(self.wave),
            **{f"task-{number}": piece for number, piece in enumerate(self.pieces, 1)},
        }
        return [{"Key": PREFIX + key, "Value": value} for key, value in values.items()]

    @classmethod
    def from_tags(cls, tags: Mapping[str, str]) -> Self | None:
        """Read a job's tags; None where they aren't ours or were tampered with, so that the job is nobody's of ours."""
        read = {key.removeprefix(PREFIX): value for key, value in tags.items() if key.startswith(PREFIX)}
        try:
            return cls(
                task=read["task"],
                deployment=read["deployment"],
                ti_id=read["try"],
                max_tries=int(read["max-tries"]),
                fingerprint=read["fingerprint"],
                submission=int(read["submission"]),
                first_submit=float(read["first-submit"]),
                pending_spent=float(read["pending-spent"]),
                recoveries=int(read["recoveries"]),
                waits=read["waits"] != "no",
                wave=int(read.get("wave", "0")),
                pieces=tuple(read[key] for key in _PIECES if key in read),
            )
        except (KeyError, ValueError):
            return None
