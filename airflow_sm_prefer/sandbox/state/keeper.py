"""Writes what changes in a sandbox to its state folder, and reads it again.

A line of the journal is one change, whole: the jobs that it concerns, the sections of the world that are another than
before, how far time had been dealt with, and how many lines the record had then.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.batch.service_job import ServiceJob
from airflow_sm_prefer.sandbox.documents import decode, encode
from airflow_sm_prefer.sandbox.engine import Engine
from airflow_sm_prefer.sandbox.job import Job
from airflow_sm_prefer.sandbox.pace import Moment
from airflow_sm_prefer.sandbox.resumption import resume
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.journal import uncollected
from airflow_sm_prefer.sandbox.state.world import Document, World

COMPACT_BYTES = 16_000_000
"""How long the journal may be, at least, before it is written anew with only what holds now."""

JOBS_A_LINE = 200
"""How many jobs a line has in a journal that is written anew."""


class FolderKeeper:
    """Keeps the changes of an engine in a state folder.

    Args:
        folder: The folder; its state has begun.
        engine: Whose changes.
        world: What it has besides jobs.
    """

    def __init__(self, folder: StateFolder, engine: Engine, world: World) -> None:
        self._folder, self._engine, self._world = folder, engine, world
        self._changed: dict[int, Job] = {}
        self._deleted: list[Job] = []
        self._changed_service_jobs: dict[int, ServiceJob] = {}
        self._is_other_world = False
        self._written: Document = {}
        self._recorded = self._record_lines = 0
        self._counted = engine.faults.counted
        self._compact_at = COMPACT_BYTES
        self._has_ended = False

    def job_changed(self, job: Job) -> None:
        """Note that something about a job is another than before."""
        self._changed[job.number] = job

    def job_deleted(self, job: Job) -> None:
        """Note that a job was deleted."""
        self._deleted.append(job)

    def service_job_changed(self, job: ServiceJob) -> None:
        """Note that something about a service job is another than before."""
        self._changed_service_jobs[job.number] = job

    def world_changed(self) -> None:
        """Note that something else is another than before."""
        self._is_other_world = True

    def commit(self, now: Moment) -> None:
        """Write all that was noted as one line, unless nothing was.

        Raises:
            ApiError: it can't be written, or the sandbox is ending; what was noted stays noted.
        """
        has_counted = self._engine.faults.counted != self._counted
        changed = self._changed or self._deleted or self._changed_service_jobs
        if not (changed or self._is_other_world or has_counted):
            return
        if self._has_ended:
            raise ApiError("ServiceUnavailable", "The sandbox is ending.", 503)
        try:
            self._write(now)
        except OSError as error:
            why = f"The sandbox can't write its state to {self._folder.path}: {error.strerror}."
            raise ApiError("InternalFailure", why, 500) from None

    @property
    def is_behind(self) -> bool:
        """Whether the record has lines that no commit has written: calls that changed nothing."""
        return len(self._engine.record) > self._recorded

    def end(self) -> None:
        """Keep nothing from now on: what happens while the sandbox ends is no part of its state."""
        self._has_ended = True

    @uncollected()
    def restore(self) -> None:
        """Give the engine what the folder holds.

        Raises:
            StateUnreadable: it holds something that this version doesn't know.
        """
        found = Found()
        try:
            for value in self._folder.values.pop("journal"):
                found.apply(value)
            lines = self._folder.values.pop("record")
            for line in itertools.chain.from_iterable(lines):
                self._engine.record.add_kept(*line)
            self._recorded, self._record_lines = len(self._engine.record), len(lines)
            if found.world:
                self._restore(found)
        except (KeyError, TypeError, ValueError) as error:
            raise StateUnreadable(
                f"{self._folder.path / 'journal'} holds what this version of airflow-sm-prefer doesn't know: {error}. "
                "Start the version that wrote it, or give --state another folder."
            ) from error

    def _restore(self, found: Found) -> None:
        self._world.restore(found.world)
        resume(self._engine, [_read(found.jobs[number]) for number in sorted(found.jobs)], found.elapsed)
        service_jobs = [decode(ServiceJob, found.service_jobs[number]) for number in sorted(found.service_jobs)]
        self._world.dispatcher.take_back(service_jobs, self._engine.time.now())
        self._written = found.world

    def _write(self, now: Moment) -> None:
        self._write_record()
        line = self._about(now) | {
            "jobs": [_written(job) for job in self._changed.values()],
            "gone": [job.number for job in self._deleted],
            "service_jobs": [encode(job) for job in self._changed_service_jobs.values()],
        }
        world = self._world.document()
        line["world"] = {name: part for name, part in world.items() if part != self._written.get(name)}
        if self._folder["journal"].size < self._compact_at:
            self._folder["journal"].append(line)
        else:
            self._folder.replace("journal", list(self._everything(now, world)))
            self._compact_at = max(COMPACT_BYTES, 2 * self._folder["journal"].size)
        self._written = world
        self._counted = self._engine.faults.counted
        self._changed.clear()
        self._deleted.clear()
        self._changed_service_jobs.clear()
        self._is_other_world = False

    def _write_record(self) -> None:
        """Write the record's new entries, all on one line: a start reads few long lines faster than many short ones."""
        entries = self._engine.record.kept_form(self._recorded)
        if entries:
            self._folder["record"].append(entries)
            self._recorded += len(entries)
            self._record_lines += 1

    def _about(self, now: Moment) -> Document:
        return {"elapsed": now.elapsed, "record": self._record_lines}

    def _everything(self, now: Moment, world: Document) -> Iterator[Document]:
        accounts = self._engine.accounts.values()
        yield self._about(now) | {"world": world}
        jobs = [job for account in accounts for job in account.jobs.values()]
        for begin in range(0, len(jobs), JOBS_A_LINE):
            yield self._about(now) | {"jobs": [_written(job) for job in jobs[begin : begin + JOBS_A_LINE]]}
        estates = self._world.dispatcher.estates.values()
        service_jobs = [job for estate in estates for job in estate.jobs.values()]
        for begin in range(0, len(service_jobs), JOBS_A_LINE):
            yield self._about(now) | {"service_jobs": encode(service_jobs[begin : begin + JOBS_A_LINE])}


class Found:
    """What the lines of a journal come to."""

    def __init__(self) -> None:
        self.jobs: dict[int, Document] = {}
        self.service_jobs: dict[int, Document] = {}
        self.world: Document = {}
        self.elapsed = 0.0

    def apply(self, value: Document) -> None:
        """Take over one line."""
        self.elapsed = value["elapsed"]
        self.world |= value.get("world", {})
        self.jobs |= {job["number"]: job for job in value.get("jobs", ())}
        self.service_jobs |= {job["number"]: job for job in value.get("service_jobs", ())}
        for number in value.get("gone", ()):
            del self.jobs[number]


def _written(job: Job) -> Document:
    """Return the document of a job; its earlier states have none of their own."""
    document: Document = encode(_alone(job))
    document["past"] = encode([_alone(state) for state in job.past])
    return document


def _alone(job: Job) -> Job:
    alone = copy.copy(job)
    alone.past = []
    return alone


def _read(document: Document) -> Job:
    job = decode(Job, document)
    for state in job.past:
        state.past = job.past
    return job
