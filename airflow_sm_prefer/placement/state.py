"""The machine's state: a value, and a wire format.

It travels in the trigger's kwargs, comes back in the trigger's event and is kept in Airflow's task state store, in
plain text: so it holds names, ARNs, types and instants, and never a request. A later version reads an earlier one's
state; what it doesn't know it leaves alone.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self

from airflow_sm_prefer.errors import StateUnreadable
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.service_job import is_service_job
from airflow_sm_prefer.model.verdict import Verdict
from airflow_sm_prefer.model.words import shortened
from airflow_sm_prefer.placement.handed import NOTHING, Handed, with_account

#: Goes up when a reader of the old form would go wrong with the new one.
VERSION = 1

#: The most that a state may take as JSON: it is a row in Airflow's database, once a wait.
SIZE_LIMIT = 8192

#: How much of AWS's words is kept of each attempt, and how much where there are too many of them.
_REASON_LENGTH = 300
_REASON_LENGTHS = (_REASON_LENGTH, 120, 40, 1)


class Phase(StrEnum):
    """What the machine is in the middle of."""

    NEW = "new"
    SUBMITTING = "submitting"
    WATCHING = "watching"
    STOPPING = "stopping"
    SLEEPING = "sleeping"
    OVER = "over"


class StopReason(StrEnum):
    """Why we stop a job, which decides what follows when it has ended."""

    BUDGET = "budget"
    PATIENCE = "patience"
    SUPERSEDED = "superseded"
    TOO_LONG = "too_long"
    INTERRUPTED = "interrupted"
    QUEUE_UNFIT = "queue_unfit"


@dataclass(frozen=True, slots=True)
class Entry:
    """One preference, as the log and the decision record name it.

    Attributes:
        instance_type: The type.
        count: How many of it; 0 is the request's own affair.
        kind: Where they come from.
        plan: The ARN of the training plan that it may run on, if any.
        wait_for_plan: Whether that plan is waited for.
        ends: When the plan's last block ends, once AWS has said so.
        queue: The job queue that it waits in; None for SageMaker itself.
        share: Whose share of the queue it takes, if it has shares.
    """

    instance_type: str
    count: int
    kind: CapacityKind = CapacityKind.ON_DEMAND
    plan: str | None = None
    wait_for_plan: bool = False
    ends: float | None = None
    queue: str | None = None
    share: str | None = None

    def __str__(self) -> str:
        if not self.count:
            return self.instance_type
        if self.queue:
            share = f", share {self.share}" if self.share else ""
            return f"{self.count} x {self.instance_type} (queue {self.queue.rpartition('/')[2]}{share})"
        source = {"training_plan": "training plan", "on_demand": "On-Demand", "spot": "spot"}[self.kind]
        return f"{self.count} x {self.instance_type} ({source})"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long things may take. Spans are in AWS's seconds; a sandbox with a speed passes them faster.

    Attributes:
        budget: How long the whole list may wait for capacity.
        patience: How long one wave of several may wait before the next is tried.
        start_by: The instant by which a job must have started, if the author set one.
        total: How long it may take from the first submission to the end, if the author set that.
        max_runtime: The job's own MaxRuntimeInSeconds.
        speed: How many of AWS's seconds pass in a real one: 1 but for a sandbox.
    """

    budget: float
    patience: float = 1800.0
    start_by: float | None = None
    total: float | None = None
    max_runtime: float = 86400.0
    speed: float = 1.0


@dataclass(frozen=True, slots=True)
class Attempts:
    """All attempts of one wave that ended with the same verdict, folded into one."""

    wave: int
    verdict: Verdict
    count: int
    first: float
    last: float
    reason: str


@dataclass(frozen=True, slots=True)
class State:
    """Everything the machine knows about one task instance.

    Attributes:
        kind: Training or processing.
        entries: The preference list.
        waves: Which entries go out together, by their indices.
        limits: How long things may take.
        phase: What it is in the middle of.
        submission: The number of the last job that was created, over the task instance's whole life.
        wave: The wave that is on, or next.
        round: How many times all waves have been gone through.
        job_name: The job that is watched or stopped.
        job_arn: Its ARN.
        max_pending: The MaxPendingTimeInSeconds that it was sent with.
        submitted: When the current job was submitted.
        first_submit: When the first job since the last clear was submitted.
        pending_spent: Seconds of the budget that are gone.
        wait_began: Since when the budget runs; None while a job has capacity.
        wake_at: The instant that is slept for.
        dropped: Entries that can never be had.
        left_out: Entries that are left out for this round.
        selected: Which entry got capacity; None until one has.
        selected_type: The type that AWS chose.
        selected_count: How many of them.
        capacity_at: When the job had its instances.
        status: The last status that was told.
        stop: Why the job is being stopped, if it is.
        stop_sent: When the stop was last sent.
        refusals: How many times in a row AWS has not taken the request for now.
        looks: How many times in a row no job was seen though its client token had been used.
        unseen_since: Since when AWS can't be asked, or doesn't know the job.
        told_at: When that was last told.
        attempts: What was tried, folded.
        fingerprint: What the job does.
        recoveries: How often it was started again after a failure.
        recover: How often it may be.
        recover_any: Whether after an error of the user's script too.
        submits_only: Whether the task is over once AWS has the job: nobody waits for anything besides.
        one_by_one: Whether this wave's entries are sent one by one: a quota refused them, and named none.
        asked: Whether AWS has been asked about this wave's training plans in this round.
        throttled_since: Since when AWS takes no requests.
        patience_more: Seconds by which the current job's patience is longer, for what throttling had held it up.
        lost_at: Since when the current job is without the instances that it had.
        priority: The scheduling priority of the jobs in queues: the author's, or what somebody has changed it to.
        logged: How far the current job's log was copied while the task was deferred.
    """

    kind: JobKind
    entries: tuple[Entry, ...]
    waves: tuple[tuple[int, ...], ...]
    limits: Limits
    phase: Phase = Phase.NEW
    submission: int = 0
    wave: int = 0
    round: int = 0
    job_name: str = ""
    job_arn: str = ""
    max_pending: float | None = None
    submitted: float | None = None
    first_submit: float | None = None
    pending_spent: float = 0.0
    wait_began: float | None = None
    wake_at: float | None = None
    dropped: frozenset[int] = frozenset()
    left_out: frozenset[int] = frozenset()
    selected: int | None = None
    selected_type: str | None = None
    selected_count: int | None = None
    capacity_at: float | None = None
    status: str = ""
    stop: StopReason | None = None
    stop_sent: float | None = None
    refusals: int = 0
    looks: int = 0
    unseen_since: float | None = None
    told_at: float | None = None
    attempts: tuple[Attempts, ...] = ()
    fingerprint: str = ""
    recoveries: int = 0
    recover: int = 0
    recover_any: bool = False
    submits_only: bool = False
    one_by_one: bool = False
    asked: bool = False
    throttled_since: float | None = None
    patience_more: float = 0.0
    lost_at: float | None = None
    priority: int | None = None
    logged: Handed = NOTHING

    @property
    def handle(self) -> str:
        """What AWS calls the current job by: SageMaker's by its name, which is unique, a service job by its ARN."""
        return self.job_arn if self.is_queued else self.job_name

    @property
    def is_queued(self) -> bool:
        """Whether the current job is a service job of AWS Batch."""
        return is_service_job(self.job_arn)

    @property
    def queues(self) -> tuple[str, ...]:
        """The job queues on the list, each once, in order."""
        return tuple(dict.fromkeys(entry.queue for entry in self.entries if entry.queue))

    @property
    def remaining(self) -> tuple[int, ...]:
        """The entries of the current wave that are neither dropped nor left out, in order."""
        return tuple(n for n in self.waves[self.wave] if n not in self.dropped | self.left_out)

    @property
    def in_flight(self) -> tuple[int, ...]:
        """The entries of the current wave that go out together."""
        return self.remaining[:1] if self.one_by_one else self.remaining

    @property
    def without(self) -> frozenset[int]:
        """The entries that the current wave goes out without, and those of other waves that are out of the list."""
        return self.dropped | self.left_out | (frozenset(self.remaining) - frozenset(self.in_flight))

    @property
    def anything_left(self) -> bool:
        """Whether an entry is left that may be had some time."""
        return len(self.dropped) < len(self.entries)

    def is_of_the_same_list(self, other: State) -> bool:
        """Whether two states are about the same entries, cut into the same waves."""
        return self.waves == other.waves and list(map(str, self.entries)) == list(map(str, other.entries))

    def but(self, **changes: Any) -> State:
        """Return this state with some fields changed."""
        return dataclasses.replace(self, **changes)

    def without_job(self) -> State:
        """Return this state without anything that belongs to one job, but for its number."""
        return self.but(
            job_name="",
            job_arn="",
            max_pending=None,
            submitted=None,
            status="",
            selected=None,
            selected_type=None,
            selected_count=None,
            capacity_at=None,
            lost_at=None,
            stop=None,
            stop_sent=None,
            logged=NOTHING,
        )

    def with_entry(self, index: int, **changes: Any) -> State:
        """Return this state with some of what it knows about an entry changed."""
        entries = list(self.entries)
        entries[index] = dataclasses.replace(entries[index], **changes)
        return self.but(entries=tuple(entries))

    def with_attempt(self, verdict: Verdict, reason: str, now: float) -> State:
        """Return this state with an attempt of the current wave added to its record."""
        kept, now = list(self.attempts), round(now, 1)
        text = shortened(reason, _REASON_LENGTH)
        for n, past in enumerate(kept):
            if (past.wave, past.verdict) == (self.wave, verdict):
                kept[n] = dataclasses.replace(past, count=past.count + 1, last=now, reason=text)
                break
        else:
            kept.append(Attempts(self.wave, verdict, 1, now, now, text))
        return self.but(attempts=tuple(kept))

    def to_json(self) -> dict[str, Any]:
        """Return the wire form: plain JSON types only.

        Where it would be too large, the log's account becomes one instant (so that lines come twice), AWS's words are
        cut shorter, and at last all attempts of a wave become one.

        Raises:
            StateUnreadable: it is larger than 8 KB even so, and would not be stored in full.
        """
        size = 0
        for state in self._shorter():
            wire = {"version": VERSION, **_plain(dataclasses.asdict(state))}
            size = len(json.dumps(wire))
            if size <= SIZE_LIMIT:
                return wire
        msg = f"The task's state takes {size} bytes, and {SIZE_LIMIT} are the most: shorten the preference list."
        raise StateUnreadable(msg)

    def _shorter(self) -> Iterator[State]:
        for attempts in self._fewer_words():
            yield self.but(attempts=attempts)
            yield self.but(attempts=attempts, logged=self.logged.within(1))

    def _fewer_words(self) -> Iterator[tuple[Attempts, ...]]:
        """Give the account of what was tried, each time shorter."""
        attempts = self.attempts
        for length in _REASON_LENGTHS:
            attempts = tuple(dataclasses.replace(past, reason=shortened(past.reason, length)) for past in attempts)
            yield attempts
        folded: dict[int, Attempts] = {}
        for past in sorted(attempts, key=lambda past: past.last):
            before = folded.get(past.wave, dataclasses.replace(past, count=0))
            folded[past.wave] = dataclasses.replace(
                past, count=before.count + past.count, first=min(before.first, past.first)
            )
        yield tuple(folded.values())

    @classmethod
    def from_json(cls, wire: Mapping[str, Any]) -> Self:
        """Read the wire form, of this version or an earlier one; fields that this version doesn't know are ignored.

        Raises:
            StateUnreadable: it is damaged, or was written by a later version.
        """
        try:
            if wire["version"] > VERSION:
                msg = f"version {wire['version']}; this package reads up to {VERSION}"
                raise StateUnreadable(msg)
            return cls(**_fields_of(cls, with_account(wire)))
        except StateUnreadable as error:
            msg = f"A stored state is from a later version of airflow_sm_prefer ({error}). Upgrade it here too."
            raise StateUnreadable(msg) from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            msg = f"A stored state can't be read: {type(error).__name__}: {error}."
            raise StateUnreadable(msg) from error


def _plain(value: Any) -> Any:
    """Turn enums and sets into what JSON has, and leave out what says nothing; every flag is false by default."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items() if item is not None and item is not False}
    if isinstance(value, frozenset):
        return sorted(value)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_plain(item) for item in value]
    return value


def _fields_of(cls: type[Any], wire: Mapping[str, Any]) -> dict[str, Any]:
    known = {field.name for field in dataclasses.fields(cls)}
    return {key: _READ.get(key, _as_is)(value) for key, value in wire.items() if key in known}


def _as_is(value: Any) -> Any:
    return value


def _read_entry(wire: Mapping[str, Any]) -> Entry:
    others = {key: value for key, value in wire.items() if key != "kind"}
    return Entry(**_fields_of(Entry, others), kind=CapacityKind(wire.get("kind", "on_demand")))


def _read_attempts(wire: Mapping[str, Any]) -> Attempts:
    return Attempts(**{**_fields_of(Attempts, wire), "verdict": Verdict(wire["verdict"])})


_READ: Mapping[str, Any] = {
    "kind": JobKind,
    "phase": Phase,
    "entries": lambda wire: tuple(map(_read_entry, wire)),
    "waves": lambda wire: tuple(tuple(wave) for wave in wire),
    "limits": lambda wire: Limits(**_fields_of(Limits, wire)),
    "dropped": frozenset,
    "left_out": frozenset,
    "stop": StopReason,
    "attempts": lambda wire: tuple(map(_read_attempts, wire)),
    "logged": Handed.from_wire,
}
