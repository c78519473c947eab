"""A small model of AWS for the machine: capacity, plans and quotas come and go, calls fail, jobs end as they like."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from typing import Any

from airflow_sm_prefer.model.job import Observation
from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import (
    AskPlans,
    Command,
    Created,
    Event,
    Fail,
    Finish,
    NameTaken,
    NoAnswer,
    PlansSeen,
    Refused,
    Seen,
    Sleep,
    Stop,
    Submit,
    Unseen,
    Watch,
    Woken,
)
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.plans import PlanStatus
from airflow_sm_prefer.placement.state import SIZE_LIMIT, Entry, State

POLL = 30.0
START = 1_800_000_000.0
HOUR = 3600.0

#: How a run may end, the likelier ones several times.
ENDINGS = [
    ("Completed", ""),
    ("Completed", ""),
    ("Failed", "AlgorithmError: x"),
    ("Failed", "AlgorithmError: , exit code: 137"),
    ("Failed", "InternalServerError: We encountered an internal error."),
    ("Failed", "InternalServerError: We encountered an internal error."),
    ("Failed", "CapacityError: the plan has ended"),
    ("Stopped", ""),
]

#: What ends a job in a queue before it has instances, and what holds one up there.
QUEUE_ENDINGS = [
    "Terminated by JobStateTimeLimit action due to reason: CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY",
    "Terminated by JobStateTimeLimit action due to reason: MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE",
    "Cross-share preemption triggered to reclaim borrowed capacity",
    "Received status from SageMaker: InternalServerError: We encountered an internal error. Please try again.",
]
HELD_UP = [
    "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Unable to provision requested compute resources",
    "MISCONFIGURATION:QUOTA_MANAGEMENT_LIMIT_EXCEEDED",
    "",
]


@dataclass
class Aws:
    """What a random AWS says. A calm one never loses a call, an answer or a stop."""

    draw: random.Random
    calm: bool = False
    now: float = START
    live: str | None = None
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    plans: dict[int, list[tuple[float, float]]] = field(default_factory=dict)

    def plan(self, index: int, entry: Entry) -> PlanStatus | None:
        """Say how a plan stands: none, one or two blocks, somewhere about the beginning."""
        if index not in self.plans:
            begins = START + self.draw.uniform(-30, 30) * HOUR
            blocks = [(begins, begins + 24 * HOUR), (begins + 40 * HOUR, begins + 50 * HOUR)]
            self.plans[index] = blocks[: self.draw.randint(1, 2)]
        if not self.calm and self.draw.random() < 0.1:
            return None
        blocks, now = self.plans[index], self.now
        active = any(begin <= now < end for begin, end in blocks)
        status = "Active" if active else "Scheduled" if now < blocks[-1][1] else "Expired"
        free = self.draw.choice([0, entry.count]) if active else 0
        types = frozenset({entry.instance_type})
        return PlanStatus("arn", status, types, free, 0, 8, blocks[0][0], blocks[-1][1], blocks=tuple(blocks))

    def create(self, name: str, types: list[str], queue: str | None) -> Event:
        refusal = self.refusal(name, types)
        if refusal is not None:
            return refusal
        assert self.live is None, "a second job was created while one was live"
        arn = f"arn:aws:batch:us-east-1:123456789012:service-job/{name}" if queue else f"arn:{name}"
        self.live = arn if queue else name
        self.jobs[self.live] = {"types": types, "created": self.now, "status": "InProgress"}
        self.jobs[self.live] |= {"secondary": "RUNNABLE", "priority": 5} if queue else {"secondary": "Pending"}
        return Created(name, arn, max_runtime=self.draw.choice([None, 7200.0]))

    def refusal(self, name: str, types: list[str]) -> Event | None:
        luck = self.draw.random()
        named = self.draw.choice([*types, None])
        by_luck: list[tuple[float, Event]] = [
            (0.1, Refused(Judgement(Verdict.THROTTLED, "Rate exceeded"))),
            (0.18, Refused(Judgement(Verdict.QUOTA_BUSY, "limit is 1 for training job usage", named))),
            (0.2, Refused(Judgement(Verdict.QUOTA_ZERO, "limit is 0 for training job usage", named))),
            (0.21, Refused(Judgement(Verdict.QUOTA_BUSY, "of processing jobs and training jobs", None))),
        ]
        if not self.calm:
            by_luck += [(0.24, NoAnswer("timed out")), (0.26, NameTaken(name))]
        return next((event for bound, event in by_luck if luck < bound), None)

    def look(self, handle: str) -> Event:
        if not self.calm and self.draw.random() < 0.1:
            verdict = self.draw.choice([Verdict.UNREACHABLE, Verdict.CREDENTIALS, Verdict.LOST])
            return Unseen(Judgement(verdict, "nothing"))
        job = self.jobs[handle]
        (self.move if "priority" not in job else self.move_in_queue)(job)
        if job["status"] in {"Completed", "Failed", "Stopped"}:
            self.live = None
        shown = {key: value for key, value in job.items() if key not in {"types", "stop"}}
        return Seen(Observation(name=handle.rpartition("/")[2], **shown))

    def move(self, job: dict[str, Any]) -> None:
        luck, secondary = self.draw.random(), job["secondary"]
        if job.get("stop") is not None:
            job.update(status="Stopped", secondary="Stopped", ended=self.now)
        elif secondary == "Pending" and luck < 0.05:
            chosen = self.draw.choice(job["types"])
            job.update(secondary="Training", selected_type=chosen, selected_count=1, capacity_at=self.now)
        elif secondary == "Pending" and luck < 0.08:
            job.update(status="Failed", secondary="Failed", failure_reason="CapacityError: none", ended=self.now)
        elif secondary == "Training" and luck < 0.05:
            job.update(secondary="Interrupted", lost_at=self.now)
        elif secondary == "Interrupted" and luck < 0.01:
            job.update(secondary="Training", lost_at=None)
        elif secondary == "Interrupted" and self.now - job["lost_at"] > 24 * HOUR:
            job.update(status="Stopped", secondary="MaxWaitTimeExceeded", ended=self.now)
        elif secondary == "Training" and luck < 0.3:
            ending, reason = self.draw.choice(ENDINGS)
            job.update(status=ending, secondary=ending, failure_reason=reason, ended=self.now)

    def move_in_queue(self, job: dict[str, Any]) -> None:
        """Move a service job on: to and fro without capacity, to its instances, out of them, to its end."""
        luck, secondary = self.draw.random(), job["secondary"]
        waits = secondary in {"RUNNABLE", "SCHEDULED"}
        if job.get("stop") is not None:
            job.update(status="Stopped", secondary=None, failure_reason=job["stop"], ended=self.now, held_up_by="")
        elif waits and luck < 0.05:
            job.update(secondary="RUNNING", held_up_by="", lost_at=None, capacity_at=job.get("capacity_at", self.now))
        elif waits and luck < 0.06:
            job.update(status="Failed", secondary=None, failure_reason=self.draw.choice(QUEUE_ENDINGS), ended=self.now)
        elif waits and luck < 0.5:
            words = self.draw.choice(HELD_UP) if luck < 0.1 else job.get("held_up_by", "")
            job.update(secondary=self.draw.choice(["RUNNABLE", "SCHEDULED"]), held_up_by=words)
        elif secondary == "RUNNING" and luck < 0.05:
            job.update(secondary="RUNNABLE", lost_at=self.now, priority=self.draw.randint(0, 9))
        elif secondary == "RUNNING" and luck < 0.3:
            ending, reason = self.draw.choice(ENDINGS)
            job.update(status=ending, secondary=None, failure_reason=reason, ended=self.now)

    def stop(self, command: Stop) -> None:
        if self.calm or self.draw.random() < 0.8:
            # Whether Batch shows the reason that it was given is not documented.
            self.jobs[command.handle]["stop"] = self.draw.choice([command.why, ""])


@dataclass
class Run:
    """One task's life, and what was seen of it."""

    aws: Aws
    state: State
    steps: int = 0
    submits: int = 0
    ended: Command | None = None
    #: The entries that have gone out in this pass over the list, and where it has come to.
    tried: set[int] = field(default_factory=set)
    place: tuple[int, int] = (0, 0)

    def go(self, event: Event) -> None:
        while self.ended is None:
            self.steps += 1
            assert self.steps < 20_000, "it never ends"
            self.state, commands = step(self.state, event, self.aws.now, self.aws.draw.random())
            self.check_wire()
            event = self.carry_out(commands)

    def check_wire(self) -> None:
        wire = json.dumps(self.state.to_json())
        assert len(wire) <= SIZE_LIMIT
        assert State.from_json(json.loads(wire)) == self.state

    def carry_out(self, commands: tuple[Command, ...]) -> Event:
        for command in commands:
            match command:
                case Stop():
                    self.aws.stop(command)
                case AskPlans():
                    assert command.entries
                    return PlansSeen({n: self.aws.plan(n, self.state.entries[n]) for n in command.entries})
                case Submit():
                    return self.submit(command)
                case Watch():
                    self.aws.now += POLL
                    return self.aws.look(self.state.handle)
                case Sleep():
                    self.aws.now = max(self.aws.now, command.until)
                    return Woken()
                case Finish() | Fail():
                    self.ended = command
        return Woken()

    def submit(self, command: Submit) -> Event:
        self.submits += 1
        sent = [n for n in self.state.waves[command.wave] if n not in command.without]
        assert sent, "an empty wave was submitted"
        self.check_order(sent)
        types = [self.state.entries[n].instance_type for n in sent]
        return self.aws.create(f"job-{command.submission}", types, self.state.entries[sent[0]].queue)

    def check_order(self, sent: list[int]) -> None:
        """Every earlier choice went out before in this pass over the list, or was out of it for a reason."""
        if (self.state.round, self.state.wave) < self.place or self.state.round != self.place[0]:
            self.tried.clear()
        self.place = (self.state.round, self.state.wave)
        out = self.tried | self.state.dropped | self.state.left_out
        passed = set(range(min(sent))) - out
        assert not passed, f"{sent} went out before {passed}"
        self.tried |= set(sent)


def random_entries(draw: random.Random) -> tuple[Entry, ...]:
    types = ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.g5.xlarge", "ml.m5.xlarge")
    entries = []
    for _ in range(draw.randint(1, 9)):
        kind = draw.choice(list(CapacityKind))
        planned = kind is CapacityKind.TRAINING_PLAN
        queue = draw.choice(["p5", "g5"]) if kind is not CapacityKind.SPOT and draw.random() < 0.3 else None
        waits = planned and queue is None and draw.random() < 0.4
        plan = "arn" if planned else None
        entries.append(Entry(draw.choice(types), 1, kind, plan=plan, wait_for_plan=waits, queue=queue))
    return tuple(entries)


def waves_of(entries: tuple[Entry, ...]) -> tuple[tuple[int, ...], ...]:
    """Cut a list as the product does: spot, queues and plans that are waited for alone, a type once."""
    waves: list[list[int]] = []
    for n, entry in enumerate(entries):
        others = [entries[m] for m in waves[-1]] if waves else []
        alone = any(e.kind is CapacityKind.SPOT or e.wait_for_plan or e.queue for e in (entry, *others))
        if not waves or alone or entry.instance_type in {other.instance_type for other in others} or len(others) == 5:
            waves.append([n])
        else:
            waves[-1].append(n)
    return tuple(map(tuple, waves))
