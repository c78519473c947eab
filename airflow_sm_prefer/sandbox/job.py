"""One job: what was asked for, and its life in SageMaker's statuses.

The methods of :class:`Job` are the moves of that life; each is given the moment and keeps the transitions in order.
What clients are shown is kept as instants of the clock, and every duration in the scenario's elapsed seconds.
Who makes them, and when, is :mod:`~airflow_sm_prefer.sandbox.engine`'s business.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from airflow_sm_prefer.sandbox.demand import Candidate, CapacityKind, Demand
from airflow_sm_prefer.sandbox.faults import JobFault
from airflow_sm_prefer.sandbox.kinds import JobKind
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.sandbox.quotas import Use
from airflow_sm_prefer.sandbox.runs import Ending, Phase, RunResult, RunSpec
from airflow_sm_prefer.sandbox.warm_pools import WarmPool, is_harmless

FAILURE_REASON_LENGTH = 1024

MESSAGES: Mapping[str, str] = {
    "Starting": "Starting the training job.",
    "Pending": "Insufficient capacity error from EC2 while launching instances, retrying!",
    "Downloading": "Downloading input data",
    "Training": "Training image download completed. Training in progress.",
    "Uploading": "Uploading generated training model",
    "Stopping": "Stopping the training job",
    "Stopped": "Training job stopped",
    "Completed": "Training job completed",
    "Failed": "Training job failed",
    "Interrupted": "Training job interrupted",
}
"""The status messages that are documented or seen; AWS says that they may change."""


class StopCause(StrEnum):
    """Why a run was told to stop; the values are the secondary statuses that follow."""

    USER = "Stopped"
    MAX_RUNTIME = "MaxRuntimeExceeded"
    MAX_WAIT = "MaxWaitTimeExceeded"
    INTERRUPTED = "Interrupted"
    RESERVATION_ENDED = "Pending"
    FAULT = "Failed"


ENDING_CAUSES = frozenset({StopCause.USER, StopCause.MAX_RUNTIME, StopCause.MAX_WAIT})
"""The causes after which a job is Stopping, and will be Stopped (managed spot training lifecycle)."""


@dataclass(slots=True)
class Transition:
    """One secondary status that a training job has had."""

    status: str
    start: float
    message: str
    end: float | None = None


@dataclass(slots=True)
class Job:
    """A training or processing job.

    Attributes:
        kind: Which of the two.
        account: Whose it is.
        region: Where it is.
        name: Unique for the account, Region and kind for ever.
        arn: Its ARN.
        request: The Create request, as accepted.
        demand: What it asks for.
        created: When, in epoch seconds, as all instants here.
        arrived: The scenario's elapsed seconds at that instant.
        number: Which job of this sandbox it is; gives the order of arrival.
        tags: By key.
        status: The primary status.
        secondary: The secondary status; processing jobs have one too, unseen.
        transitions: Every secondary status so far.
        modified: When anything last changed.
        changed: The elapsed seconds at that instant.
        selected: The candidate that has been chosen for the present or last run.
        pending_since: Elapsed seconds at which the wait that counts against the pending limit began, or None while it
            doesn't count.
        pending_spent: Seconds of earlier waits that counted.
        launches: How many runs were started.
        run_due: Elapsed seconds at which the selected instances will be up.
        counted: What it counts against quotas now.
        noted: The statuses that were last made known.
        past: Earlier states, for Lists that lag behind; empty if they don't.
        run_started: Elapsed seconds at which the present run's instances were up.
        run_spent: Seconds of earlier runs.
        doom: The fault that will hit the present run.
        grace_ends: Elapsed seconds at which a run that was told to stop will be killed.
        started: TrainingStartTime or ProcessingStartTime.
        ended: TrainingEndTime or ProcessingEndTime.
        stopping: Why the run was told to stop.
        failure_reason: Set when it has failed.
        exit_message: What a processing container left.
        model_artifacts: Where the model is.
        retries: How often RetryStrategy has started it again.
        pool: The warm pool that it has left, if it asked for one.
    """

    kind: JobKind
    account: str
    region: str
    name: str
    arn: str
    request: dict[str, Any]
    demand: Demand
    created: float
    arrived: float
    number: int
    tags: dict[str, str]
    status: str = "InProgress"
    secondary: str = ""
    transitions: list[Transition] = field(default_factory=list)
    modified: float = 0.0
    changed: float = 0.0
    selected: Candidate | None = None
    pending_since: float | None = None
    pending_spent: float = 0.0
    launches: int = 0
    run_due: float | None = None
    counted: tuple[Use, ...] = ()
    noted: tuple[str, str] = ("", "")
    past: list[Job] = field(default_factory=list, repr=False)
    run_started: float | None = None
    run_spent: float = 0.0
    doom: JobFault | None = None
    grace_ends: float | None = None
    started: float | None = None
    ended: float | None = None
    stopping: StopCause | None = None
    failure_reason: str | None = None
    exit_message: str | None = None
    model_artifacts: str | None = None
    retries: int = 0
    pool: WarmPool | None = None

    def __post_init__(self) -> None:
        self.move("Starting", Moment(self.created, self.arrived))

    @property
    def is_live(self) -> bool:
        """Whether it has not ended yet."""
        return self.ended is None

    @property
    def is_waiting(self) -> bool:
        """Whether it has no instances now."""
        return self.is_live and self.selected is None

    @property
    def plan_arn(self) -> str | None:
        """The plan that the whole request names."""
        arn: str | None = self.request.get("ResourceConfig", {}).get("TrainingPlanArn")
        return arn

    @property
    def keep_alive(self) -> int:
        """Seconds for which its instances are to be kept in a warm pool; 0 is not at all."""
        return int(self.request.get("ResourceConfig", {}).get("KeepAlivePeriodInSeconds", 0))

    @property
    def leaves_pool(self) -> bool:
        """Whether a warm pool follows its end (train-warm-pools).

        One does if it completed, if it was stopped after its instances were up, or if it failed by its own fault.
        """
        if not self.keep_alive or self.selected is None or self.run_due is not None:
            return False
        on_spot = self.selected.kind is CapacityKind.SPOT
        return not on_spot and (self.status != "Failed" or is_harmless(self.failure_reason))

    def pool_deadline(self) -> float | None:
        """Return the elapsed seconds until which its warm pool is kept, or None if none is."""
        if self.pool is None or not self.pool.is_kept:
            return None
        return self.pool.opened + self.keep_alive

    def open_pool(self, *, is_kept: bool) -> None:
        """Leave a warm pool at its end; one that can't be kept is terminated at once."""
        self.pool = WarmPool(self.modified, self.changed, None if is_kept else self.modified)

    def close_pool(self, now: Moment) -> None:
        """End its warm pool."""
        assert self.pool is not None
        self.pool.ended = now.instant
        self.touch(now)

    def remember(self) -> None:
        """Keep the present state for Lists that lag behind."""
        self.past.append(copy.copy(self))

    def as_of(self, elapsed: float) -> Job | None:
        """Return the state that it had when so many seconds had elapsed, None before it was there."""
        return next((state for state in reversed(self.past) if state.changed <= elapsed), None)

    def touch(self, now: Moment) -> None:
        """Note that something has changed."""
        self.modified, self.changed = now.instant, now.elapsed

    def not_before(self, now: Moment) -> Moment:
        """Return a moment, or that of the last change if it was later: nothing goes back in time."""
        return now.not_before(Moment(self.modified, self.changed))

    def move(self, secondary: str, now: Moment, message: str | None = None) -> None:
        """Enter a secondary status; entering the present one again changes nothing but its message."""
        text = MESSAGES.get(secondary, secondary) if message is None else message
        self.touch(now)
        if self.transitions and self.transitions[-1].status == secondary:
            self.transitions[-1].message = text
            return
        if self.transitions:
            self.transitions[-1].end = now.instant
        self.transitions.append(Transition(secondary, now.instant, text))
        self.secondary = secondary

    def wait(self, now: Moment) -> None:
        """Find no capacity and queue; to find none again changes nothing, and who was interrupted stays so."""
        if self.secondary not in {"Pending", "Interrupted"}:
            self.move("Pending", now)

    def charge(self, now: Moment, *, counts: bool) -> bool:
        """Begin or end the time that counts against the pending limit; tell whether it begins now."""
        begins = counts and self.pending_since is None
        if begins:
            self.pending_since = now.elapsed
        elif not counts and self.pending_since is not None:
            self.pending_spent += now.elapsed - self.pending_since
            self.pending_since = None
        return begins

    def pending_deadline(self) -> float | None:
        """Return the elapsed seconds at which the pending limit will be over, or None while nothing counts.

        MaxWaitTimeInSeconds of a spot job counts from its creation, its running time included.
        """
        if self.demand.pending_limit is None or self.stopping is not None:
            return None
        if self.demand.is_spot:
            return self.arrived + self.demand.pending_limit
        if self.pending_since is None:
            return None
        return self.pending_since + self.demand.pending_limit - self.pending_spent

    def runtime_deadline(self) -> float | None:
        """Return the elapsed seconds at which MaxRuntimeInSeconds will be over, or None before the job runs.

        It bounds all runs in total (StoppingCondition says so of retries).
        """
        if self.run_started is None or self.stopping is not None:
            return None
        return self.run_started + self.max_runtime - self.run_spent

    def fault_deadline(self) -> float | None:
        """Return the elapsed seconds at which the run's fault will hit it, or None if none will."""
        if self.doom is None or self.run_started is None or self.stopping is not None:
            return None
        return self.run_started + self.doom.after

    @property
    def max_runtime(self) -> float:
        """Seconds of MaxRuntimeInSeconds; a day unless the request says."""
        seconds = self.request.get("StoppingCondition", {}).get("MaxRuntimeInSeconds", 86_400)
        return float(seconds)

    def launch(self, candidate: Candidate, now: Moment, takes: float) -> None:
        """Get instances; the run starts when they are up, after so many seconds."""
        self.charge(now, counts=False)
        self.selected = candidate
        self.run_due = now.elapsed + takes
        self.launches += 1
        self.move("Starting", now, "Launching requested ML instances.")

    def relaunch(self, now: Moment, takes: float) -> None:
        """Lose the host and get another of the same sort; the run starts once more, after so many seconds.

        How long the lost run had taken is lost with it.
        """
        self.run_started = None
        self.run_due = now.elapsed + takes
        self.launches += 1
        self.move("Starting", now, "Launched instance was unhealthy, replacing it!")

    def reach(self, phase: Phase, now: Moment) -> None:
        """Follow the run to its next phase."""
        if self.run_started is None:
            self.run_started = now.elapsed
        if self.started is None:
            self.started = now.instant
        if self.stopping is None:
            self.move(phase.value, now)

    def ask_to_stop(self, cause: StopCause, now: Moment) -> None:
        """Begin to stop, for that reason; a person's wish overrides every other."""
        self.stopping = cause
        if cause in ENDING_CAUSES:
            self.status = "Stopping"
            self.move("Stopping", now)
        elif cause is StopCause.INTERRUPTED:
            self.move("Interrupted", now)

    def requeue(self, now: Moment, secondary: str) -> None:
        """Lose the instances and go back to waiting, with everything that was waited and run before still counted."""
        if self.run_started is not None:
            self.run_spent += now.elapsed - self.run_started
        self.selected = self.run_due = self.run_started = self.stopping = self.grace_ends = None
        self.move(secondary, now)

    def may_retry(self, result: RunResult) -> bool:
        """Whether RetryStrategy starts it again: after an InternalServerError, and only then (RetryStrategy)."""
        allowed = self.request.get("RetryStrategy", {}).get("MaximumRetryAttempts", 0)
        failed = result.ending is Ending.FAILED and self.stopping is None
        internal = (result.failure_reason or "").startswith("InternalServerError")
        return bool(failed and internal and self.retries < allowed)

    def run_spec(self, endpoint_url: str, block_ends: float | None) -> RunSpec:
        """Return what a runner has to know to start it on the instances that it has, until a plan's block ends."""
        assert self.selected is not None
        return RunSpec(
            kind=self.kind.value,
            name=self.name,
            arn=self.arn,
            account=self.account,
            region=self.region,
            request=self.request,
            instance_type=self.selected.instance_type,
            instance_count=self.selected.count,
            endpoint_url=endpoint_url,
            environment_id=f"{self.number:06d}-{self.launches}",
            block_ends=block_ends,
        )

    def end_run(self, result: RunResult, now: Moment) -> None:
        """Take over how the run ended."""
        self.exit_message = result.exit_message
        self.model_artifacts = result.model_artifacts
        if self.stopping is not None:
            # However the container left after SIGTERM, SageMaker says that it was stopped.
            self.stop(self.stopping.value, now)
        elif result.ending is Ending.STOPPED:
            self.stop("Stopped", now)
        elif result.ending is Ending.COMPLETED:
            self._end("Completed", "Completed", now)
        else:
            self.fail(result.failure_reason or "AlgorithmError: , exit code: 1", now)

    def stop(self, secondary: str, now: Moment) -> None:
        """End as Stopped, with that secondary status."""
        self._end("Stopped", secondary, now)

    def fail(self, reason: str, now: Moment) -> None:
        """End as Failed; longer reasons are cut as AWS cuts them."""
        self.failure_reason = reason[:FAILURE_REASON_LENGTH]
        self._end("Failed", "Failed", now)

    def _end(self, status: str, secondary: str, now: Moment) -> None:
        self.charge(now, counts=False)
        self.status = status
        self.grace_ends = None
        self.ended = now.instant
        self.move(secondary, now)
        # AWS closes the last transition too: an ended job is in no status any longer.
        self.transitions[-1].end = now.instant
