"""How a sandbox goes on with the jobs of a process that was killed.

Whoever waited goes on waiting, in order. Whatever ran is lost, as with a host that fails: SageMaker replaces the host,
and the run starts once more on what was selected, from its inputs and checkpoints. A run that was told to stop has
stopped. Time has gone on meanwhile: what was due is met at the next tick, each at its instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.agenda import Agenda
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.runs import Ending, RunResult


def resume(engine: Engine, jobs: Iterable[Job], since: float) -> None:
    """Give an engine the jobs that another one had.

    Args:
        engine: It has been given capacity, plans and the pace already, and has no jobs yet.
        jobs: All of them, in order of arrival.
        since: The elapsed seconds that the other one had dealt with.
    """
    engine.time.pace = engine.time.pace.not_behind(since, engine.time.now())
    engine.agenda = Agenda()
    # Whoever came last may not have been looked at yet.
    engine.agenda.add(since)
    for edge in _edges(engine):
        if edge > since:
            engine.agenda.add(edge)
    for job in jobs:
        _take_back(engine, job)


def _edges(engine: Engine) -> Iterator[float]:
    """Yield the elapsed seconds at which something happens that no job brings about."""
    yield from engine.capacity.changes()
    yield from engine.announcer.due()
    for account in engine.accounts.values():
        for plan in account.plans.values():
            yield from plan.edges()


def _take_back(engine: Engine, job: Job) -> None:
    account = engine.account(Caller(job.account, job.region))
    account.jobs[job.kind, job.name] = job
    for use in job.counted:
        account.usage[use.quota] += use.count
    if not job.is_live:
        if job.pool_deadline() is not None:
            engine.floor.take_back(job)
            engine.agenda.add(job.pool_deadline(), job)
        return
    engine.floor.take_back(job)
    if job.selected is not None and job.run_due is None:
        _lose_run(engine, job)
    for due in (job.run_due, job.pending_deadline()):
        engine.agenda.add(due, job)


def _lose_run(engine: Engine, job: Job) -> None:
    now = job.not_before(engine.time.now())
    if job.stopping is not None:
        engine.end_run(job, RunResult(Ending.STOPPED), now)
        return
    job.relaunch(now, engine.settings.launch_seconds)
    engine.note(job, always=True)
