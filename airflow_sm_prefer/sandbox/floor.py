"""The floor that jobs run on: who has instances, who queues for them, and who must give them back."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial

from airflow_sm_prefer.sandbox.capacity import Capacity, Pool, pool
from airflow_sm_prefer.sandbox.demand import Candidate, CapacityKind
from airflow_sm_prefer.sandbox.job import Job, StopCause
from airflow_sm_prefer.sandbox.plans import Plan
from airflow_sm_prefer.sandbox.selection import select

PlanOf = Callable[[Job, str], Plan | None]
"""Finds a plan of a job's account by its ARN."""


class Floor:
    """Jobs with instances and jobs without.

    Args:
        capacity: What there is.
        plan_of: Finds plans.
    """

    def __init__(self, capacity: Capacity, plan_of: PlanOf) -> None:
        self.capacity = capacity
        self._plan_of = plan_of
        self._waiting: dict[int, Job] = {}
        # The waiting ones again, by where their instances may come from.
        self._queues: defaultdict[Pool, dict[int, Job]] = defaultdict(dict)
        self._holding: dict[int, Job] = {}
        self._fresh: list[Job] = []
        self._freed: set[Pool] = set()
        self._is_stirred = False

    @property
    def is_unsettled(self) -> bool:
        """Whether somebody may get instances now."""
        return self.came_free or bool(self._fresh)

    @property
    def came_free(self) -> bool:
        """Whether capacity may have come free or gone since the last sweep."""
        return self._is_stirred or bool(self._freed)

    def holder(self, number: int) -> Job | None:
        """Return the job of that number if it holds instances."""
        return self._holding.get(number)

    def enter(self, job: Job) -> None:
        """Queue a new job."""
        self._waiting[job.number] = job
        for wanted in _pools(job):
            self._queues[wanted][job.number] = job
        self._fresh.append(job)

    def take_back(self, job: Job) -> None:
        """Give a live job the place that it had before the sandbox was started again."""
        if job.selected is None:
            self.enter(job)
        else:
            self.capacity.take(job.region, job.selected)
            self._holding[job.number] = job

    def requeue(self, job: Job) -> None:
        """Queue a job that has lost its instances; it keeps its place by arrival."""
        self.enter(job)

    def leave(self, job: Job) -> None:
        """Forget a job that has ended."""
        self._dequeue(job)
        self.vacate(job)

    def assign(self, job: Job, candidate: Candidate) -> None:
        """Give a queueing job the instances of a candidate."""
        self.capacity.take(job.region, candidate)
        self._holding[job.number] = job
        self._dequeue(job)

    def vacate(self, job: Job) -> None:
        """Take a job's instances back, if it has any."""
        if self._holding.pop(job.number, None) is not None and job.selected is not None:
            self.capacity.release(job.region, job.selected)
            self._freed.add(pool(job.region, job.selected))

    def reserved_until(self, job: Job, elapsed: float) -> float | None:
        """Return when the plan's block ends that a job has its instances from, None if they are from no plan."""
        arn = None if job.selected is None else job.selected.plan_arn
        plan = None if arn is None else self._plan_of(job, arn)
        return None if plan is None else plan.block_end(elapsed)

    def stir(self) -> None:
        """Have everybody looked at again: capacity has changed."""
        self._is_stirred = True

    def sweep(self, elapsed: float) -> Iterator[tuple[Job, Candidate | None]]:
        """Give each job that may get instances its choice, in order of arrival.

        A job that doesn't fit holds up nobody behind it. The caller assigns before it asks for the next.
        """
        jobs = {job.number: job for job in self._fresh}
        if self._is_stirred:
            jobs |= self._waiting
        for freed in self._freed:
            jobs |= self._queues[freed]
        self._fresh, self._freed, self._is_stirred = [], set(), False
        for _, job in sorted(jobs.items()):
            if job.is_waiting:
                yield job, select(job.demand.candidates, partial(self._free, job, elapsed))

    def displaced(self, elapsed: float) -> list[tuple[Job, StopCause]]:
        """Return the jobs that must give their instances back now, and why.

        Spot jobs are interrupted, the latest first, until the rest fit; jobs on a plan end half an hour before their
        block does. On-Demand instances are never taken from a job. Nobody must while capacity only comes free.
        """
        if not self._is_stirred:
            return []
        return [*self._interrupted(elapsed), *self._dispossessed(elapsed)]

    def _free(self, job: Job, elapsed: float, candidate: Candidate) -> int:
        if candidate.plan_arn is None:
            return self.capacity.free(job.region, candidate, elapsed)
        plan = self._plan_of(job, candidate.plan_arn)
        if plan is None or not plan.is_usable(elapsed):
            return 0
        return plan.spec.count - self.capacity.taken(job.region, candidate)

    def _dequeue(self, job: Job) -> None:
        if self._waiting.pop(job.number, None) is not None:
            for wanted in _pools(job):
                self._queues[wanted].pop(job.number, None)

    def _interrupted(self, elapsed: float) -> Iterator[tuple[Job, StopCause]]:
        kept: defaultdict[tuple[str, str], int] = defaultdict(int)
        for job in self._settled(CapacityKind.SPOT):
            assert job.selected is not None
            key = (job.region, job.selected.instance_type)
            kept[key] += job.selected.count
            if kept[key] > self.capacity.total(CapacityKind.SPOT, key[1], elapsed):
                kept[key] -= job.selected.count
                yield job, StopCause.INTERRUPTED

    def _dispossessed(self, elapsed: float) -> Iterator[tuple[Job, StopCause]]:
        for job in self._settled(CapacityKind.TRAINING_PLAN):
            assert job.selected is not None
            assert job.selected.plan_arn is not None
            plan = self._plan_of(job, job.selected.plan_arn)
            if plan is None or not plan.is_usable(elapsed):
                yield job, StopCause.RESERVATION_ENDED

    def _settled(self, kind: CapacityKind) -> list[Job]:
        """Return the jobs that hold such instances, their warm pools too, and aren't giving them back already."""
        held = [j for j in self._holding.values() if j.selected is not None and j.selected.kind is kind]
        return [job for job in held if job.stopping is None or not job.is_live]


def _pools(job: Job) -> set[Pool]:
    return {pool(job.region, candidate) for candidate in job.demand.candidates}
