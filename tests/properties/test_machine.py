"""The machine against a small model of AWS: whatever happens, these hold."""

from __future__ import annotations

import json
import random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.model.preference import CapacityKind
from airflow_sm_prefer.model.verdict import Judgement, Verdict
from airflow_sm_prefer.placement.events import Begun, Fail, PlansSeen, Refused, Sleep, Submit, Woken
from airflow_sm_prefer.placement.machine import step
from airflow_sm_prefer.placement.record import decision_record
from airflow_sm_prefer.placement.state import SIZE_LIMIT, Entry, Limits, State

from .model_aws import HOUR, POLL, START, Aws, Run, random_entries, waves_of

TYPES = ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.g5.xlarge")

LOST = {Verdict.LOST, Verdict.CREDENTIALS, Verdict.UNREACHABLE}


def run_of(seed: int, budget: float, patience: float, *, calm: bool) -> Run:
    draw = random.Random(seed)
    entries = random_entries(draw)
    state = State(
        # Only training jobs go through queues.
        kind=JobKind.TRAINING if any(entry.queue for entry in entries) else draw.choice(list(JobKind)),
        priority=draw.choice([None, 0, 5]),
        entries=entries,
        waves=waves_of(entries),
        limits=Limits(
            budget=budget,
            patience=patience,
            start_by=draw.choice([None, None, START + draw.uniform(1, 48) * HOUR]),
            total=draw.choice([None, None, draw.uniform(1, 96) * HOUR]),
        ),
        recover=draw.randint(0, 3),
        recover_any=draw.random() < 0.3,
    )
    run = Run(Aws(draw, calm=calm), state)
    run.go(Begun())
    return run


@settings(max_examples=400, deadline=None)
@given(seed=st.integers(0, 2**32), budget=st.floats(60, 2 * 86400), patience=st.floats(60, 7200), calm=st.booleans())
def test_a_run_ends_without_a_second_or_a_forgotten_job_in_order_and_within_its_budget(
    seed: int, budget: float, patience: float, calm: bool
) -> None:
    run = run_of(seed, budget, patience, calm=calm)
    lost = isinstance(run.ended, Fail) and run.ended.judgement.verdict in LOST
    assert run.aws.live is None or lost
    # A look to stop the job at the end of its budget and one to see that it has stopped; more where calls are lost.
    assert run.state.pending_spent <= budget + (2 if calm else 40) * POLL
    assert run.state.recoveries <= run.state.recover
    record = decision_record(run.state, None, run.aws.now).to_json()
    assert json.loads(json.dumps(record)) == record


@settings(max_examples=6, deadline=None)
@given(entries=st.integers(1, 20), seed=st.integers(0, 2**32))
@example(entries=20, seed=0)
def test_a_week_of_rounds_over_any_list_stays_within_the_limit(entries: int, seed: int) -> None:
    draw = random.Random(seed)
    plan = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/" + "p" * 40
    state = State(
        kind=JobKind.TRAINING,
        entries=tuple(Entry(draw.choice(TYPES), 2, CapacityKind.SPOT, plan=plan) for _ in range(entries)),
        waves=tuple((n,) for n in range(entries)),
        limits=Limits(budget=7 * 86400.0),
        fingerprint="x" * 128,
    )
    now, (state, commands) = START, step(state, Begun(), START, 0.5)
    while not isinstance(commands[-1], Fail):
        event: Refused | Woken | PlansSeen = Woken()
        if isinstance(commands[-1], Sleep):
            now = commands[-1].until
        elif isinstance(commands[-1], Submit):
            verdict = draw.choice([Verdict.CAPACITY, Verdict.QUOTA_BUSY])
            event = Refused(Judgement(verdict, f"CapacityError: none ({draw.random()})" * 20))
        state, commands = step(state, event, now, draw.random())
        if state.round % 100 == 0 or isinstance(commands[-1], Fail):
            assert len(json.dumps(state.to_json())) <= SIZE_LIMIT
    assert len(decision_record(state, None, now).waves) >= entries


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
