"""Which try of which task instance this is, as Airflow says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from airflow_sm_prefer.placement.naming import TaskIdentity
from airflow_sm_prefer.placement.ownership import Ownership

#: How far AWS's clock and Airflow's may be apart, in seconds.
_SKEW = 300.0


@dataclass(frozen=True, slots=True)
class Try:
    """One try.

    Attributes:
        identity: The task instance.
        ti_id: The id of this try.
        try_number: Its number, from 1.
        max_tries: A retry keeps it, a clear raises it.
        run_began: When the DAG run began, in seconds since 1970; None if that can't be said, as after a clear, which
            makes a run begin anew.
        began: When this try began, in seconds since 1970; None if Airflow doesn't say.
    """

    identity: TaskIdentity
    ti_id: str
    try_number: int
    max_tries: int
    run_began: float | None = None
    began: float | None = None

    @classmethod
    def from_context(cls, context: Mapping[str, Any], deployment: str) -> Self:
        """Read a task's context."""
        ti, run = context["ti"], context.get("dag_run")
        began = None if getattr(run, "clear_number", 0) else getattr(run, "start_date", None)
        index = getattr(ti, "map_index", None)
        started = getattr(ti, "start_date", None)
        return cls(
            identity=TaskIdentity(deployment, ti.dag_id, ti.run_id, ti.task_id, -1 if index is None else index),
            ti_id=str(ti.id),
            try_number=ti.try_number,
            max_tries=ti.max_tries,
            run_began=began.timestamp() if began else None,
            began=started.timestamp() if started else None,
        )

    @property
    def name_prefix(self) -> str:
        """What a job's name begins with if the author gave none."""
        return f"{self.identity.dag_id}-{self.identity.task_id}"

    def is_retry_of(self, owner: Ownership, created: float | None) -> bool:
        """Whether this try goes on where the one left off that created a job.

        A clear in between makes it another's affair; so does a job from before this run, which a run that was deleted
        and made again under the same id would find.
        """
        if owner.ti_id == self.ti_id:
            return True
        if self.try_number == 1 or owner.max_tries != self.max_tries:
            return False
        return self.run_began is None or created is None or created >= self.run_began - _SKEW

    def is_beside(self, owner: Ownership, created: float | None) -> bool:
        """Whether another try of this task instance has created a job since this one began.

        This process was frozen then, or cut off, until Airflow gave its task to another. A job from before is that of
        a run which was deleted and made again under the same id, or of a database that was lost.
        """
        if owner.task != Ownership.task_tag(self.identity) or owner.ti_id == self.ti_id:
            return False
        return self.began is not None and created is not None and created >= self.began
