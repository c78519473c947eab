"""Finds the jobs that nobody waits for, and stops them if it may. Safe at any time, and twice at once.

The order makes it so. Jobs are listed first and their tasks' states are read after, so that a state is never older
than the job it decides about; it is read once more right before a stop. A stop that another run has sent already is
no harm, and neither is a note that two runs write.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from airflow_sm_prefer import chance
from airflow_sm_prefer.aws.failures import CallFailed, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.patience import PatientJobs
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.clock import Clock, utc
from airflow_sm_prefer.errors import TaskStatesUnavailable
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.listed import Listed
from airflow_sm_prefer.placement.budget import LONGEST_LIFE
from airflow_sm_prefer.placement.findings import UNTOUCHED, Done, Finding, Report, Sleeper
from airflow_sm_prefer.placement.naming import TaskIdentity, deployment_marker, encode_tag
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.reconcile import (
    MISSING_TAG,
    NOT_MISSING,
    Act,
    Decision,
    LiveJob,
    TaskStates,
    decide,
    later_owners,
)
from airflow_sm_prefer.placement.task_states import DEFERRED

#: How long ago a job may have been created to be looked at for a task that still sleeps.
_RECENT: Final = 3 * 86400.0

#: A task may sleep that long after its job's end: the longest pause between two rounds, and some for a busy worker.
_MAY_SLEEP: Final = 1200.0

#: How far back ends are looked at, in seconds, unless told otherwise.
ENDED_WITHIN: Final = 2 * 3600.0


class Reconciler:
    """One run over all jobs of a deployment that one connection reaches."""

    def __init__(
        self,
        *,
        jobs: Iterable[JobsApi | RoutedJobs],
        states: TaskStates,
        deployment: str,
        region: str,
        clock: Clock,
        stop: bool = False,
        ended_within: float = ENDED_WITHIN,
        draw: Callable[[], float] = chance.draw,
    ) -> None:
        """Take what a run stands on.

        Args:
            jobs: The calls, one for each kind of job.
            states: Where the states of task instances come from.
            deployment: Whose jobs are looked at.
            region: The Region, for the report.
            clock: The time, real even where a sandbox's durations are not.
            stop: Whether jobs may be stopped, and tagged; otherwise it only reports.
            ended_within: How far back ended jobs are looked at for tasks that still sleep, in seconds.
            draw: Draws evenly from 0 to 1.
        """
        self._jobs = {api.kind: PatientJobs(api, clock, draw) for api in jobs}
        self._states, self._deployment, self._region = states, deployment, region
        self._clock, self._stop, self._ended_within = clock, stop, ended_within
        self._marker = deployment_marker(deployment)
        self._foreign = 0

    def run(self) -> Report:
        """Find, decide, and do what may be done.

        Raises:
            TaskStatesUnavailable: Airflow can't be asked; nothing was stopped.
            CallFailed: AWS can't be asked; nothing was stopped.
        """
        began = self._clock.time()
        self._foreign = 0
        live = [job for kind in self._jobs for job in self._live(kind)]
        asleep = [one for kind in self._jobs for one in self._ended(kind, {_series(job.name) for job in live})]
        tasks = {job.task for job in live if job.task is not None}
        states = self._states.read(tasks | {task for task, _ in asleep})
        later = later_owners(live)
        findings = [self._handle(job, states, later.get(job.arn)) for job in live]
        sleepers = [sleeper for task, sleeper in asleep if states[task] == DEFERRED]
        return Report(
            self._deployment, self._region, began, self._stop, tuple(findings), tuple(sleepers), self._foreign
        )

    # -- finding -----------------------------------------------------------------------------------------

    def _live(self, kind: JobKind) -> Iterator[LiveJob]:
        for row in self._listed(kind, LONGEST_LIFE, "InProgress"):
            tags = self._tags(kind, row.arn)
            if tags is None:
                continue
            job = LiveJob.from_tags(kind, row.name, row.arn, row.created, tags=tags, deployment=self._deployment)
            if job.owner is not None and job.owner.deployment != encode_tag(self._deployment):
                self._foreign += 1
            else:
                yield job

    def _ended(self, kind: JobKind, going_on: set[str]) -> Iterator[tuple[TaskIdentity, Sleeper]]:
        """Give the task instances that may still sleep, of which the last job ended a while ago."""
        now, seen = self._clock.time(), set(going_on)
        for row in self._listed(kind, _RECENT):
            series = _series(row.name)
            if series in seen:
                continue  # newest first: what came after it says more
            seen.add(series)
            if row.ended is None or not _MAY_SLEEP <= now - row.ended <= self._ended_within:
                continue
            tags = self._tags(kind, row.arn) or {}
            job = LiveJob.from_tags(kind, row.name, "", 0.0, tags=tags, deployment=self._deployment)
            if job.owner is not None and job.owner.waits and job.task is not None:
                yield job.task, Sleeper(kind, row.name, row.status, row.ended, str(job.task))

    def _listed(self, kind: JobKind, back: float, status: str | None = None) -> list[Listed]:
        after = utc(self._clock.time() - back)
        rows = self._jobs[kind].listed(created_after=after, name_contains=self._marker, status=status)
        ours = re.compile(rf"(^|-){self._marker}-[a-z2-7]{{12}}-\d+$")
        return [row for row in rows if ours.search(row.name)]

    def _tags(self, kind: JobKind, arn: str) -> dict[str, str] | None:
        """Return a job's tags; None if it is gone."""
        try:
            return self._jobs[kind].tags(arn)
        except CallFailed as failed:
            if failed.failure.kind is FailureKind.NOT_FOUND:
                return None
            raise

    # -- doing -------------------------------------------------------------------------------------------

    def _handle(self, job: LiveJob, states: Mapping[TaskIdentity, str | None], later: Ownership | None) -> Finding:
        state = states[job.task] if job.task is not None else None
        decision = decide(job, state, later, self._clock.time())
        if decision.act is Act.STOP:
            return self._stopped(job, decision, later) if self._stop else Finding(job, decision, Done.WOULD_STOP)
        if decision.act is Act.NOTE:
            return self._noted(job, decision) if self._stop else Finding(job, decision, Done.WOULD_NOTE)
        if decision.act is Act.TAKE_BACK and self._stop:
            return self._tagged(job, decision, NOT_MISSING, Done.KEPT)
        return Finding(job, decision, UNTOUCHED[decision.act])

    def _noted(self, job: LiveJob, decision: Decision) -> Finding:
        return self._tagged(job, decision, f"{self._clock.time():.0f}", Done.NOTED)

    def _stopped(self, job: LiveJob, decision: Decision, later: Ownership | None) -> Finding:
        """Stop a job if its task's state, asked once more, still says so."""
        assert job.task is not None  # or it would not be stopped
        try:
            state = self._states.read([job.task])[job.task]
        except TaskStatesUnavailable as error:
            return Finding(job, decision, Done.FAILED, f"not stopped, since it could not be asked again: {error}")
        again = decide(job, state, later, self._clock.time())
        if again.act is not Act.STOP:
            return Finding(job, again, UNTOUCHED.get(again.act, Done.LOOK))
        try:
            taken = self._jobs[job.kind].stop(job.handle, f"airflow_sm_prefer reconcile: {again.text}.")
        except CallFailed as failed:
            return Finding(job, again, Done.FAILED, f"not stopped: {failed.failure}")
        return Finding(job, again, Done.STOPPED if taken else Done.OVER)

    def _tagged(self, job: LiveJob, decision: Decision, value: str, done: Done) -> Finding:
        try:
            self._jobs[job.kind].add_tags(job.arn, {MISSING_TAG: value})
        except CallFailed as failed:
            return Finding(job, decision, Done.FAILED, f"that could not be noted: {failed.failure}")
        return Finding(job, decision, done)


def _series(name: str) -> str:
    """Return what the names of all jobs of a task instance end with, but for the number."""
    return "-".join(name.rsplit("-", 3)[-3:-1])
