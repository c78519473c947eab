"""The moves of service jobs' lives, with everything that follows from each: events, alarms, what is kept."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.batch import events, retries
from airflow_sm_prefer.sandbox.batch.due import Due
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.service_job import (
    FAILED,
    RUNNABLE,
    RUNNING,
    SCHEDULED,
    SHORTAGE,
    SHORTAGE_REASON,
    STARTING,
    SUCCEEDED,
    Attempt,
    Cause,
    ServiceJob,
)
from airflow_sm_prefer.sandbox.batch.snapshots import carry_usage
from airflow_sm_prefer.sandbox.batch.training import TrainingMaker, attempt_name
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.job import Job, StopCause
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.pace import Moment

STARTED = frozenset({"Downloading", "Training", "Uploading"})
"""The secondary statuses of a training job that has its instances (service-job-status)."""

SHORTEST_RETRY_SECONDS = 1.0
"""After a shortage at least: a job that finds none at once can't be tried without end at one instant."""

LIMIT_TEXT = "Terminated by JobStateTimeLimit action due to reason: "


class Lives:
    """Moves service jobs on.

    Args:
        engine: Has the training jobs.
        due: Has the alarms.
        estate_of: Finds what a service job's account has.
        maker: Makes training jobs.
        new_id: Gives each training job's name its digits.
    """

    def __init__(
        self,
        engine: Engine,
        due: Due,
        estate_of: Callable[[Caller], Estate],
        maker: TrainingMaker,
        new_id: Callable[[], UUID],
    ) -> None:
        self._engine, self._due, self._estate_of, self._maker = engine, due, estate_of, maker
        self._new_id = new_id
        self._behind: dict[int, ServiceJob] = {}  # by the numbers of live training jobs

    # A job comes, and waits

    def admit(self, job: ServiceJob, now: Moment) -> None:
        """Let a new job into its queue."""
        job.wait(now)
        self._changed(job, now)

    def block(self, job: ServiceJob, reason: str, now: Moment) -> None:
        """Say why a job can't be placed as things are configured."""
        if job.reason == reason:
            return
        job.wait(now, reason)
        self._engine.keeper.service_job_changed(job)
        self._announce(job, events.blocked(job, now.instant), now)
        self.watch_time_limit(job, now)

    def unblock(self, job: ServiceJob, now: Moment) -> None:
        """Take back that a job can't be placed."""
        job.wait(now)
        self._engine.keeper.service_job_changed(job)

    def watch_time_limit(self, job: ServiceJob, now: Moment) -> None:
        """Terminate a job that is RUNNABLE for too long for its reason, or see to it later (jobStateTimeLimitActions).

        Of a shortage, what it was SCHEDULED for in vain counts too (sm_job_stuck_in_runnable_capacity).
        """
        queue = self._estate(job).queues.get(job.queue)
        if job.status != RUNNABLE or job.reason is None or queue is None:
            return
        reason = job.reason.partition(" - ")[0]
        limit = queue.time_limit(reason)
        if limit is None:
            return
        due = job.waits_since + limit - (job.shortage_spent if reason == SHORTAGE else 0.0)
        if due <= now.elapsed:
            self._end(job, FAILED, f"{LIMIT_TEXT}{reason}", now)
        else:
            self._due.add(due, job)

    # A job gets a training job

    def place(self, job: ServiceJob, now: Moment) -> None:
        """Make a training job for a RUNNABLE job."""
        self._carry_usage(job, now)
        attempt = Attempt(name=attempt_name(job.request, self._new_id().hex))
        try:
            attempt.arn = self._maker.make(job, attempt.name, now)
        except ApiError as refused:
            attempt.stopped = now.instant
            attempt.reason = retries.from_sagemaker(f"{refused.code}: {refused.message}")
            job.latest = attempt
            self._fail_attempt(job, attempt, now)
            return
        job.schedule(attempt, now)
        training = self._training(job, attempt.name)
        assert training is not None
        self._behind[training.number] = job
        self._changed(job, now)

    def follow(self, training: Job) -> None:
        """Take over how far a live training job has come that belongs to a service job."""
        job = self._behind[training.number]
        now = Moment(training.modified, training.changed)
        if job.status == SCHEDULED and training.secondary in STARTED:
            job.start(now)
            self._due.add(job.timeout_due(), job)
            self._changed(job, now)
        if job.status == STARTING and training.secondary in STARTED - {"Downloading"}:
            job.status = RUNNING
            self._changed(job, now)

    def is_behind(self, training: Job) -> bool:
        """Whether a training job belongs to a service job that waits for its end."""
        return training.number in self._behind

    def take_back(self, job: ServiceJob) -> Job | None:
        """Follow the training job of a service job that another process had; returns it."""
        attempt = job.live
        training = None if attempt is None else self._training(job, attempt.name)
        if training is not None:
            self._behind[training.number] = job
        self._due.add(job.timeout_due(), job)
        return training

    # A training job ends

    def conclude(self, training: Job, now: Moment) -> None:
        """Take over how a training job has ended."""
        job = self._behind[training.number]
        self._carry_usage(job, now)
        del self._behind[training.number]
        attempt = job.live
        assert attempt is not None
        attempt.stopped, attempt.reason = training.ended, retries.reason_of(training)
        if training.status == "Completed":
            job.attempts.append(attempt)
            self._end(job, SUCCEEDED, attempt.reason, now)
        elif job.is_terminated:
            job.attempts.append(attempt)
            self._end(job, FAILED, job.termination, now)
        elif attempt.cause is not None and attempt.cause.is_preemption:
            self._end_preemption(job, attempt, now)
        elif retries.found_no_capacity(training, self._engine.settings.pending_expiry_secondary):
            self._end_shortage(job, attempt, now)
        else:
            attempt.reason = attempt.reason if attempt.cause is None else attempt.cause.value
            self._fail_attempt(job, attempt, now)
        self._stir(job)

    def _fail_attempt(self, job: ServiceJob, attempt: Attempt, now: Moment) -> None:
        job.attempts.append(attempt)
        assert attempt.reason is not None
        if retries.is_tried_again(job.request, attempt.reason, len(job.attempts)):
            job.wait(now, attempt.reason)
            self._changed(job, now)
            self._stir(job)
        else:
            self._end(job, FAILED, attempt.reason, now)

    def _end_shortage(self, job: ServiceJob, attempt: Attempt, now: Moment) -> None:
        """Queue a job again that found no capacity; of its training jobs that did, the latest is kept."""
        forgotten = None if job.short_of is None else self._training(job, job.short_of)
        if forgotten is not None and not forgotten.is_live:
            self._engine.delete(forgotten)
        job.short_of = attempt.name
        is_first = not job.shortage_spent
        job.shortage_spent += max(now.elapsed - attempt.scheduled, 1e-6)
        job.not_before = now.elapsed + max(SHORTEST_RETRY_SECONDS, self._engine.settings.batch_retry_seconds)
        job.wait(now, SHORTAGE_REASON)
        self._changed(job, now)
        if is_first:
            self._announce(job, events.blocked(job, now.instant), now)
        self._due.add(job.not_before, job)
        self.watch_time_limit(job, now)

    def _end_preemption(self, job: ServiceJob, attempt: Attempt, now: Moment) -> None:
        assert attempt.cause is not None
        attempt.reason = attempt.cause.value
        if job.note_preemption(attempt):
            job.wait(now, attempt.reason)
            self._changed(job, now)
        else:
            self._end(job, FAILED, attempt.reason, now)
        self._announce(job, events.preemption_completed(job, now.instant), now)

    # Somebody stops a job

    def stop(self, job: ServiceJob, cause: Cause, now: Moment) -> None:
        """Stop the training job of a job that has one, with the grace of StopTrainingJob."""
        attempt = job.live
        if attempt is None or (attempt.cause is not None and cause is not Cause.TERMINATED):
            return
        attempt.cause = cause
        self._engine.keeper.service_job_changed(job)
        if cause.is_preemption:
            self._announce(job, events.preemption_started(job, attempt, now.instant), now)
        training = self._training(job, attempt.name)
        if training is not None and training.is_live and training.status != "Stopping":
            self._engine.stop(training, StopCause.USER, now)

    def terminate(self, job: ServiceJob, reason: str, now: Moment) -> None:
        """End a job for a reason: at once without a training job, else when that has stopped."""
        if not job.is_live or job.is_terminated:
            return
        job.is_terminated, job.termination = True, reason
        if job.live is None:
            self._end(job, FAILED, reason, now)
        else:
            self.stop(job, Cause.TERMINATED, now)
        self._engine.keeper.service_job_changed(job)

    def look_at(self, job: ServiceJob, now: Moment) -> None:
        """Do whatever of a job's has become due."""
        due = job.timeout_due()
        if due is not None and due <= now.elapsed:
            self.stop(job, Cause.TIMEOUT, now)
        self.watch_time_limit(job, now)
        if job.status == RUNNABLE:
            self._stir(job)

    # What follows from each

    def _end(self, job: ServiceJob, status: str, reason: str | None, now: Moment) -> None:
        job.end(status, reason, now)
        self._estate(job).note_end(job)
        self._changed(job, now)
        self._stir(job)

    def _changed(self, job: ServiceJob, now: Moment) -> None:
        """Make a change of a job's status known."""
        self._engine.keeper.service_job_changed(job)
        self._announce(job, events.state_change(job, now.instant), now)

    def _announce(self, job: ServiceJob, event: events.Event, now: Moment) -> None:
        self._engine.announce(job.account, job.region, now, event)

    def _stir(self, job: ServiceJob) -> None:
        estate = self._estate(job)
        queue = estate.queues.get(job.queue)
        if queue is not None:
            self._due.stir(estate, queue.environment)

    def _carry_usage(self, job: ServiceJob, now: Moment) -> None:
        """Add up what the shares of a fair-share queue have used, before who holds instances changes."""
        estate = self._estate(job)
        queue = estate.queues.get(job.queue)
        if queue is not None and carry_usage(estate, queue, now.elapsed):
            self._engine.keeper.world_changed()

    def _training(self, job: ServiceJob, name: str) -> Job | None:
        return self._engine.account(Caller(job.account, job.region)).jobs.get((JobKind.TRAINING, name))

    def _estate(self, job: ServiceJob) -> Estate:
        return self._estate_of(Caller(job.account, job.region))
