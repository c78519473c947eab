"""AWS Batch's scheduler: asks the policies of `scheduling` what to do, does it, and follows the training jobs.

It has no thread and no clock of its own: the engine tells it of moments and of training jobs, under its lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.batch.due import Due
from airflow_sm_prefer.sandbox.batch.estate import Estate
from airflow_sm_prefer.sandbox.batch.lives import Lives
from airflow_sm_prefer.sandbox.batch.making import make_environment
from airflow_sm_prefer.sandbox.batch.objects import Queue
from airflow_sm_prefer.sandbox.batch.rules import read_limits
from airflow_sm_prefer.sandbox.batch.service_job import RUNNABLE, SUBMITTED, Cause, ServiceJob
from airflow_sm_prefer.sandbox.batch.snapshots import is_open, policy_of, queues_of, snapshot_of
from airflow_sm_prefer.sandbox.batch.spec import BatchSpec
from airflow_sm_prefer.sandbox.batch.training import TrainingMaker
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.scheduling.environment import decide_all
from airflow_sm_prefer.scheduling.snapshot import BlockedReason, Decision, PreemptionReason

REASONS = {
    BlockedReason.ENVIRONMENT_TOO_SMALL: (
        f"{BlockedReason.ENVIRONMENT_TOO_SMALL} - Service environment(s) associated with the job queue cannot meet the "
        "capacity requirement of the job."
    ),
    BlockedReason.ABOVE_QUOTA: (
        f"{BlockedReason.ABOVE_QUOTA} - Quota share associated with the job cannot meet the capacity requirement of "
        "the job."
    ),
}
"""The statusReason of a job that is blocked; AWS's words are known for the first one only."""

CAUSES = {PreemptionReason.CROSS_SHARE: Cause.CROSS_SHARE, PreemptionReason.IN_SHARE: Cause.IN_SHARE}


class Dispatcher:
    """Schedules all accounts' service jobs.

    Args:
        engine: Has the training jobs, the time and the lock; its callers hold it.
        maker: Makes training jobs.
        spec: What every account begins with.
        new_id: Makes the ids of service jobs, and the digits in names of training jobs.

    Attributes:
        engine: The engine.
        new_id: Makes ids.
        estates: What each account has in each Region.
        lives: The moves of service jobs.
        numbers: How many service jobs there have been.
    """

    def __init__(
        self, engine: Engine, maker: TrainingMaker, spec: BatchSpec, new_id: Callable[[], UUID] = uuid4
    ) -> None:
        self.engine = engine
        self._spec = spec
        self.new_id = new_id
        self._due = Due()
        self.estates: dict[Caller, Estate] = {}
        self.lives = Lives(engine, self._due, self.estate, maker, new_id)
        self.numbers = 0
        self._new: list[ServiceJob] = []
        self._ended: dict[int, Job] = {}
        self._positions: dict[str, dict[str, tuple[int, float]]] = {}

    # What callers of the API do

    def estate(self, caller: Caller) -> Estate:
        """Return what a caller has; it begins with the scenario's."""
        if caller not in self.estates:
            self.estates[caller] = Estate(caller)
            self._spec.furnish(self.estates[caller], self.engine.time.now().elapsed)
            self.engine.keeper.world_changed()
        return self.estates[caller]

    def next_number(self) -> int:
        """Return the number of the next service job."""
        self.numbers += 1
        return self.numbers

    def accept(self, estate: Estate, job: ServiceJob) -> None:
        """Take in a new job; it is RUNNABLE at the next tick at the earliest."""
        estate.add_job(job)
        self._new.append(job)
        self.engine.keeper.service_job_changed(job)
        self.engine.wake.set()

    def stir(self, estate: Estate, environment: str) -> None:
        """Have the queues on an environment looked at again: something about them is another than before."""
        self._due.stir(estate, environment)
        self.engine.wake.set()

    def set_limits(self, spec: BatchSpec) -> None:
        """Give every account's environments other limits, and begin those that aren't there."""
        environments = {request["serviceEnvironmentName"]: request for request in spec.environments}
        others = tuple(
            request for request in self._spec.environments if request["serviceEnvironmentName"] not in environments
        )
        self._spec = replace(self._spec, environments=(*others, *environments.values()))
        for estate in self.estates.values():
            for name, request in environments.items():
                arn = estate.arn("service-environment", name)
                if arn in estate.environments:
                    estate.environments[arn].limits = read_limits(request["capacityLimits"])
                else:
                    make_environment(estate, request)
                self.stir(estate, arn)

    def order(self, estate: Estate, queue: Queue, now: Moment) -> dict[str, float]:
        """Return the RUNNABLE jobs of a queue in order of dispatch: since which instant each has its place, by id.

        Places are noted when jobs ahead are dispatched; others shift them unseen until this is asked for.
        """
        before = self._positions.get(queue.arn, {})
        found: dict[str, tuple[int, float]] = {}
        for place, job in enumerate(policy_of(estate, queue).order(snapshot_of(estate, queue, now.elapsed))):
            known = before.get(job.id)
            if known is None:
                since = self.engine.time.pace.instant_of(estate.jobs[job.id].waits_since)
            else:
                since = known[1] if known[0] == place else now.instant
            found[job.id] = (place, min(since, now.instant))
        self._positions[queue.arn] = found
        return {job_id: since for job_id, (_, since) in found.items()}

    # What the engine asks of whoever follows its jobs

    @property
    def is_unsettled(self) -> bool:
        """Whether there is something to do now."""
        return bool(self._new or self._ended or self._due.has_environments)

    def next_due(self) -> float:
        """Return the elapsed seconds at which :meth:`meet` has something to do."""
        return self._due.next()

    def follow(self, training: Job) -> None:
        """Hear of a change of a training job."""
        if not self.lives.is_behind(training):
            return
        if training.is_live:
            self.lives.follow(training)
        else:
            self._ended[training.number] = training

    def meet(self, moment: Moment) -> None:
        """Do what is due at a moment."""
        for job in self._due.pop(moment.elapsed):
            self.lives.look_at(job, moment)

    def settle(self, now: Moment) -> None:
        """Take over what has ended, let in what is new, and place what can be placed."""
        ended, self._ended = self._ended, {}
        for training in ended.values():
            self.lives.conclude(training, training.not_before(now))
        new, self._new = self._new, []
        for job in new:
            if job.status == SUBMITTED:
                self.lives.admit(job, now)
                self._stir_for(job)
        for arn, estate in self._due.pop_environments().items():
            self._decide(estate, arn, now)
        for estate in self.estates.values():
            if estate.let_go(now.elapsed):
                self.engine.keeper.world_changed()

    def document(self) -> dict[str, Any]:
        """Return all but the jobs, as JSON can hold it."""
        estates = [estate.document() for estate in self.estates.values()]
        return {"numbers": self.numbers, "spec": encode(self._spec), "estates": estates}

    def restore(self, document: Mapping[str, Any]) -> None:
        """Have what a document says."""
        self.numbers, self._spec = document["numbers"], decode(BatchSpec, document["spec"])
        estates = [Estate.read(one) for one in document["estates"]]
        self.estates = {estate.caller: estate for estate in estates}

    def take_back(self, jobs: Iterable[ServiceJob], now: Moment) -> None:
        """Go on with the service jobs that another process had, in order of arrival."""
        for job in jobs:
            estate = self.estate(Caller(job.account, job.region))
            estate.add_job(job)
            if job.request.get("clientToken"):
                estate.tokens[job.request["clientToken"]] = job.job_id
            if not job.is_live:
                continue
            self._new.append(job)
            training = self.lives.take_back(job)
            if training is not None and not training.is_live:
                self._ended[training.number] = training
            elif training is not None:
                self.lives.follow(training)
            self._due.add(job.not_before, job)
            self.lives.watch_time_limit(job, now)
            self._stir_for(job)

    # Deciding

    def _decide(self, estate: Estate, arn: str, now: Moment) -> None:
        environment = estate.environments.get(arn)
        if environment is None or not is_open(environment):
            return
        queues = queues_of(estate, environment)
        for name, decision in decide_all(queues, limits=environment.limits, now=now.elapsed).items():
            queue = estate.queues[name]
            self._note_blocked(estate, queue, decision, now)
            self._preempt(estate, decision, now)
            self._place(estate, queue, decision, now)
            if decision.place:
                self.order(estate, queue, now)

    def _note_blocked(self, estate: Estate, queue: Queue, decision: Decision, now: Moment) -> None:
        blocked = {one.job.id: REASONS[one.reason] for one in decision.blocked}
        for job in estate.live_in(queue):
            if job.job_id in blocked:
                self.lives.block(job, blocked[job.job_id], now)
            elif job.status == RUNNABLE and job.reason in REASONS.values():
                self.lives.unblock(job, now)

    def _preempt(self, estate: Estate, decision: Decision, now: Moment) -> None:
        for one in decision.preempt:
            self.lives.stop(estate.jobs[one.victim.id], CAUSES[one.reason], now)

    def _place(self, estate: Estate, queue: Queue, decision: Decision, now: Moment) -> None:
        """Place jobs; one that waits after a shortage holds up those behind it, of its share at least."""
        policy = estate.policy_of(queue)
        is_managed = policy is not None and policy.quota_share is not None
        held_up: set[str | None] = set()
        for seen in decision.place:
            job = estate.jobs[seen.id]
            line = seen.share if is_managed else None
            if line in held_up:
                continue
            if job.not_before > now.elapsed:
                held_up.add(line)
            else:
                self.lives.place(job, now)

    def _stir_for(self, job: ServiceJob) -> None:
        estate = self.estate(Caller(job.account, job.region))
        queue = estate.queues.get(job.queue)
        if queue is not None:
            self._due.stir(estate, queue.environment)
