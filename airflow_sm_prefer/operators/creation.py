"""How a job comes to be exactly once, though calls fail, answers get lost and processes freeze.

At SageMaker a name is taken once. A service job's name isn't unique: there the client token is taken once, and since
AWS doesn't say what it answers to the second that comes with it, every refusal is looked behind.
"""

from __future__ import annotations

import re
from typing import Any

from airflow_sm_prefer.aws.answers import create_failed
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.service_job import arn_of, is_service_job, observe
from airflow_sm_prefer.operators.handover import take_over
from airflow_sm_prefer.operators.lookback import find_job, places
from airflow_sm_prefer.operators.plan import Plan
from airflow_sm_prefer.operators.tries import Try
from airflow_sm_prefer.placement.events import Created, Event, NameTaken, NoAnswer
from airflow_sm_prefer.placement.naming import differing_parts
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.request import max_runtime, sent_pending_limit

#: What a refusal of a client token that was used before may say; its text isn't documented.
_TOKEN = re.compile(r"client ?token|idempoten|duplicate", re.IGNORECASE)

#: How many times a token's refusal is asked about again while no job shows: a listing may be behind.
_LOOKS = 4


class Killed(Exception):
    """The task ends without a job to wait for: it was told to end, or another try has taken its place."""


class Creation:
    """Creates the jobs of one try.

    Args:
        jobs: The calls.
        plan: What may be submitted.
        this: The try.
        log: The task's log.
    """

    def __init__(self, jobs: PatientJobs, plan: Plan, this: Try, log: Any) -> None:
        self._jobs, self._plan, self._this, self._log = jobs, plan, this, log

    def create(self, request: dict[str, Any], name: str, number: int, looks: int) -> Event:
        """Create a job, or find out what keeps it from being created.

        Args:
            request: The request.
            name: The job's name.
            number: Its number in the task instance's life.
            looks: How many times in a row no job was seen though its token had been used.

        Raises:
            Killed: another try has submitted it since this one began.
            CallFailed: AWS doesn't say whose a job is that has our name.
        """
        queue = request.get("jobQueue")
        try:
            arn = self._jobs.create(request)
        except CallFailed as failed:
            return self._not_created(failed, name, number, queue, looks)
        if queue is not None and self._is_anothers(arn, number):
            return self._anothers(self._jobs.describe(arn), name, number)
        self._settle_with_others(arn, name, number, queue)
        return Created(name, arn, sent_pending_limit(request), max_runtime(request))

    def _not_created(self, failed: CallFailed, name: str, number: int, queue: str | None, looks: int) -> Event:
        """Tell a refusal from a job that is there after all: its tags say whose it is."""
        failure = failed.failure
        is_behind = queue is not None and failure.kind is FailureKind.INVALID
        if failure.kind is not FailureKind.IN_USE and not failure.no_answer and not is_behind:
            return create_failed(failure)
        described = self._behind(number, queue)
        if described is not None:
            return self._anothers(described, name, number)
        if is_behind and _TOKEN.search(failure.message):
            return NoAnswer(str(failure), token_used=True) if looks < _LOOKS else NameTaken(name)
        return create_failed(failure) if failure.kind is not FailureKind.IN_USE else NameTaken(name)

    def _behind(self, number: int, queue: str | None) -> dict[str, Any] | None:
        """Return the job that may stand behind a refusal: in the place that it came from, or in another of the list."""
        others = [place for place in places(self._plan) if place != queue]
        return find_job(self._jobs, self._plan, self._plan.job_name(self._this, number), [queue, *others])

    def _anothers(self, described: dict[str, Any], name: str, number: int) -> Event:
        """Say whose the job is that has our name, or came with our token: our own after all, another try's, or else."""
        arn, seen = arn_of(self._plan.kind, described), observe(self._plan.kind, described)
        owner = Ownership.from_tags(self._jobs.tags(arn))
        if self._is_ours(owner, number):
            return Created(name, arn, sent_pending_limit(described), max_runtime(described))
        if owner is not None and self._this.is_beside(owner, seen.created):
            msg = (
                f"Another try of this task has submitted {name} since this one began: this one ends, and creates none."
            )
            raise Killed(msg)
        if owner is not None and self._was_left(owner, seen):
            if self._goes_on_with(owner, seen, number):
                take_over(self._jobs, arn, self._this, self._log)
                return Created(name, arn, sent_pending_limit(described), max_runtime(described))
            self._supersede(arn, seen.name)
        return NameTaken(name)

    def _was_left(self, owner: Ownership, seen: Observation) -> bool:
        """Whether a job that lives is an earlier try's, which a listing was too late to show when this one began."""
        is_of_this_task = owner.task == Ownership.task_tag(self._this.identity)
        return is_of_this_task and self._this.try_number > 1 and owner.waits and not seen.is_terminal

    def _goes_on_with(self, owner: Ownership, seen: Observation, number: int) -> bool:
        is_the_same = owner.submission == number and not differing_parts(self._plan.fingerprint, owner.fingerprint)
        return is_the_same and self._this.is_retry_of(owner, seen.created)

    def _is_anothers(self, arn: str, number: int) -> bool:
        """Whether Batch has answered a token that was used before with the job that it was used for."""
        try:
            owner = Ownership.from_tags(self._jobs.tags(arn))
        except CallFailed as failed:
            self._log.warning("Whose job %s is can't be read; it is taken for the one just submitted: %s", arn, failed)
            return False
        return not self._is_ours(owner, number)

    def _is_ours(self, owner: Ownership | None, number: int) -> bool:
        return owner is not None and owner.ti_id == self._this.ti_id and owner.submission == number

    def _settle_with_others(self, arn: str, name: str, number: int, queue: str | None) -> None:
        """Look for a job of another try in the other places of a list: there neither name nor token keeps it away.

        The later try stays. A process that was frozen in the middle may be the earlier one of the two.
        """
        for place in places(self._plan):
            if place == queue:
                continue
            try:
                described = self._jobs.find(self._plan.job_name(self._this, number), place)
                if described is not None:
                    self._settle(arn, name, described)
            except CallFailed as failed:
                self._log.warning("It can't be seen whether another try has submitted %s, too: %s", name, failed)

    def _settle(self, arn: str, name: str, described: dict[str, Any]) -> None:
        other, seen = arn_of(self._plan.kind, described), observe(self._plan.kind, described)
        owner = Ownership.from_tags(self._jobs.tags(other))
        if seen.is_terminal or owner is None or not self._this.is_beside(owner, seen.created):
            return
        # The ids of tries grow with time.
        if owner.ti_id < self._this.ti_id:
            self._supersede(other, seen.name)
            return
        self._supersede(arn, name)
        msg = f"A later try of this task has submitted {name} meanwhile: this one ends, and its job is stopped."
        raise Killed(msg)

    def _supersede(self, arn: str, name: str) -> None:
        self._jobs.stop(arn if is_service_job(arn) else name, "airflow_sm_prefer: superseded.")
