"""The machine against a small model of AWS: whatever happens, these hold."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.model.job import JobKind, Observation
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import (
    Begun,
    Command,
    Created,
    Event,
    Fail,
    Finish,
    NameTaken,
    NoAnswer,
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
from airflow_sm_prefer.placement.state import SIZE_LIMIT, Entry, Limits, State

TYPES = ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.g5.xlarge")
POLL = 30.0


@dataclass
class Aws:
    """Says what a random AWS would: capacity comes and goes, calls fail, jobs end as they like."""

    draw: random.Random
    now: float = 1_800_000_000.0
    live: str | None = None
    jobs: dict[str, dict[str, object]] = field(default_factory=dict)
    most_live: int = 0

    def create(self, name: str, entries: list[str]) -> Event:
        luck = self.draw.random()
        if luck < 0.1:
            return Refused(Judgement(Verdict.THROTTLED, "Rate exceeded"))
        if luck < 0.15:
            return Refused(Judgement(Verdict.QUOTA_BUSY, "limit is 1", self.draw.choice(entries)))
        if luck < 0.17:
            return Refused(Judgement(Verdict.QUOTA_ZERO, "limit is 0", self.draw.choice(entries)))
        if luck < 0.2:
            return NoAnswer("timed out")
        if luck < 0.22:
            return NameTaken(name)
        assert self.live is None, "a second job was created while one was live"
        self.live = name
        self.jobs[name] = {"entries": entries, "created": self.now, "status": "InProgress", "secondary": "Pending"}
        return Created(name, f"arn:{name}")

    def look(self, name: str) -> Event:
        if self.draw.random() < 0.1:
            verdict = self.draw.choice([Verdict.UNREACHABLE, Verdict.CREDENTIALS, Verdict.LOST])
            return Unseen(Judgement(verdict, "nothing"))
        job = self.jobs[name]
        self.move(job)
        if job["status"] in {"Completed", "Failed", "Stopped"}:
            self.live = None
        shown = {key: value for key, value in job.items() if key not in {"entries", "stop"}}
        return Seen(Observation(name=name, **shown))  # type: ignore[arg-type]

    def move(self, job: dict[str, object]) -> None:
        luck = self.draw.random()
        if job.get("stop"):
            job.update(status="Stopped", secondary="Stopped", ended=self.now)
        elif job["secondary"] == "Pending" and luck < 0.05:
            chosen = self.draw.choice(job["entries"])  # type: ignore[arg-type]
            job.update(secondary="Training", selected_type=chosen, selected_count=1, capacity_at=self.now)
        elif job["secondary"] == "Pending" and luck < 0.08:
            job.update(status="Failed", secondary="Failed", failure_reason="CapacityError: none", ended=self.now)
        elif job["secondary"] == "Training" and luck < 0.3:
            ending = self.draw.choice(["Completed", "Failed"])
            job.update(status=ending, secondary=ending, failure_reason="AlgorithmError: x", ended=self.now)

    def stop(self, name: str) -> None:
        if self.draw.random() < 0.8:
            self.jobs[name]["stop"] = True


@dataclass
class Run:
    """One task's life, and what was seen of it."""

    aws: Aws
    state: State
    submits: list[tuple[int, int]] = field(default_factory=list)
    steps: int = 0
    ended: Command | None = None

    def go(self, event: Event) -> None:
        while self.ended is None:
            self.steps += 1
            assert self.steps < 20_000, "it never ends"
            self.state, commands = step(self.state, event, self.aws.now, self.aws.draw.random())
            wire = json.dumps(self.state.to_json())
            assert len(wire) <= SIZE_LIMIT
            assert State.from_json(json.loads(wire)) == self.state
            event = self.carry_out(commands)

    def carry_out(self, commands: tuple[Command, ...]) -> Event:
        for command in commands:
            match command:
                case Stop():
                    self.aws.stop(command.name)
                case Submit():
                    self.submits.append((self.state.round, command.wave))
                    indices = [n for n in self.state.waves[command.wave] if n not in command.without]
                    assert indices, "an empty wave was submitted"
                    return self.aws.create(f"job-{command.submission}", [TYPES[n] for n in indices])
                case Watch():
                    self.aws.now += POLL
                    return self.aws.look(self.state.job_name)
                case Sleep():
                    self.aws.now = max(self.aws.now, command.until)
                    return Woken()
                case Finish() | Fail():
                    self.ended = command
        return Woken()


def run_of(seed: int, waves: int, budget: float, patience: float) -> Run:
    draw = random.Random(seed)
    groups = {1: ((0, 1, 2, 3),), 2: ((0, 1), (2, 3)), 4: ((0,), (1,), (2,), (3,))}[waves]
    state = State(
        kind=draw.choice(list(JobKind)),
        entries=tuple(Entry(name, 1) for name in TYPES),
        waves=groups,
        limits=Limits(budget=budget, patience=patience, max_runtime=86400.0),
    )
    run = Run(Aws(draw), state)
    run.go(Begun())
    return run


@settings(max_examples=300, deadline=None)
@given(
    seed=st.integers(0, 2**32),
    waves=st.sampled_from([1, 2, 4]),
    budget=st.floats(60, 7 * 86400),
    patience=st.floats(60, 7200),
)
def test_a_run_ends_without_a_second_or_a_forgotten_job_and_within_its_budget(
    seed: int, waves: int, budget: float, patience: float
) -> None:
    run = run_of(seed, waves, budget, patience)
    lost = isinstance(run.ended, Fail) and run.ended.judgement.verdict in {
        Verdict.LOST,
        Verdict.CREDENTIALS,
        Verdict.UNREACHABLE,
    }
    assert run.aws.live is None or lost
    # In each round the waves are gone through in order.
    assert run.submits == sorted(run.submits)
    # One poll is as far as the budget may be overrun; a stop has to be sent and seen first.
    assert run.state.pending_spent <= budget + 40 * POLL


def test_a_week_of_rounds_stays_small() -> None:
    draw = random.Random(3)
    state = State(
        kind=JobKind.TRAINING,
        entries=tuple(Entry(name, 1) for name in TYPES),
        waves=((0, 1), (2, 3)),
        limits=Limits(budget=7 * 86400.0),
    )
    now, (state, commands) = 0.0, step(state, Begun(), 0.0, 0.5)
    rounds = 0
    while not isinstance(commands[-1], Fail):
        if isinstance(commands[-1], Sleep):
            now, event = commands[-1].until, Woken()
            rounds += 1
        elif isinstance(commands[-1], Submit):
            event = Refused(Judgement(Verdict.CAPACITY, f"CapacityError: none ({draw.random()})" * 20))
        state, commands = step(state, event, now, draw.random())
    assert rounds > 500
    assert len(json.dumps(state.to_json())) < SIZE_LIMIT / 2
    assert sum(past.count for past in state.attempts) > 1000
