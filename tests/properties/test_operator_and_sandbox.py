"""Operator, trigger and sandbox together, on a fake clock: whatever AWS does and whoever dies, these hold.

``PROPERTY_SEEDS=1000`` runs as many; each takes a few seconds.
"""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Any

from airflow.providers.common.compat.sdk import TaskDeferred
from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer import (
    SageMakerPreferProcessingOperator,
    SageMakerPreferTrainingOperator,
    on_demand,
    spot,
    training_plan,
)
from airflow_sm_prefer.errors import JobFailed
from airflow_sm_prefer.operators.base import SageMakerPreferOperator
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from tests.integration.harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox

SEEDS = int(os.environ.get("PROPERTY_SEEDS", "8"))
TYPES = ("ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge", "ml.g5.xlarge", "ml.m5.xlarge")
PLANS = {
    "ml.p5.48xlarge": "arn:aws:sagemaker:us-east-1:123456789012:training-plan/first",
    "ml.p4d.24xlarge": "arn:aws:sagemaker:us-east-1:123456789012:training-plan/second",
}
POLL = 600
DIES = [
    "AlgorithmError: , exit code: 1",
    "AlgorithmError: , exit code: 137",
    "InternalServerError: We encountered an internal error. Please try again.",
]


@dataclass
class World:
    """One random run: what there is, and what is asked for."""

    draw: random.Random

    def timeline(self, most: int) -> Any:
        steps = sorted(self.draw.uniform(0.1, 12) for _ in range(self.draw.randint(0, 4)))
        later = [{"after": f"{at * 60:.0f}m", "count": self.draw.randint(0, most)} for at in steps]
        return [self.draw.choice([0, 0, most]), *later]

    def scenario(self, *, plain: bool) -> dict[str, Any]:
        found: dict[str, Any] = {
            "capacity": {name: self.timeline(2) for name in TYPES},
            "spot": {name: self.timeline(2) for name in TYPES},
            "plans": [self.plan(name, kind) for name, kind in zip(["first", "second"], PLANS, strict=True)],
            "settings": {
                "pending_expiry": self.draw.choice(["stopped", "failed", "failed_ice"]),
                "plan_expiry": self.draw.choice(["stopped", "failed"]),
                "processing_shortage": self.draw.choice(["waits", "fails"]),
                "launch_seconds": self.draw.choice([0, 180]),
            },
        }
        if not plain:
            found["call_faults"] = [self.call_fault() for _ in range(self.draw.randint(0, 6))]
            found["job_faults"] = [{"job": "*", "after": "20m"}] * self.draw.randint(0, 2)
            found["quotas"] = self.quotas()
        return found

    def plan(self, name: str, instance_type: str) -> dict[str, Any]:
        begins = self.draw.choice([0, 0, 3])
        blocks = [{"starts": f"{begins}h", "lasts": "4h"}, {"starts": f"{begins + 8}h", "lasts": "6h"}]
        return {"name": name, "type": instance_type, "count": 2, "blocks": blocks[: self.draw.randint(1, 2)]}

    def call_fault(self) -> dict[str, Any]:
        kind = self.draw.choice(["CreateTrainingJob", "DescribeTrainingJob", "StopTrainingJob", "DescribeTrainingPlan"])
        error = self.draw.choice(["ThrottlingException", "drop", "InternalFailure", "ServiceUnavailable"])
        fault = {"operation": kind, "error": error, "after": self.draw.randint(0, 5), "times": self.draw.randint(1, 9)}
        if error == "drop" and kind == "CreateTrainingJob":
            fault["takes_effect"] = self.draw.random() < 0.5
        return fault

    def quotas(self) -> dict[str, int]:
        quotas = {f"{name} for training job usage": self.draw.choice([0, 1, 2]) for name in self.draw.sample(TYPES, 2)}
        if self.draw.random() < 0.3:
            quotas["Number of instances across all training jobs"] = 1
        return quotas

    def entry(self) -> Any:
        name, count = self.draw.choice(TYPES), self.draw.randint(1, 2)
        if name in PLANS and self.draw.random() < 0.4:
            return training_plan(name, arn=PLANS[name], count=count, wait_for_plan=self.draw.random() < 0.4)
        more = {"hyperparameters": {"batch": count}} if self.draw.random() < 0.3 else {}
        return (spot if self.draw.random() < 0.4 else on_demand)(name, count=count, **more)

    def operator(self) -> SageMakerPreferOperator:
        common: dict[str, Any] = {
            "task_id": "train",
            "check_interval": POLL,
            "print_log": False,
            "max_pending": timedelta(hours=self.draw.uniform(0.5, 10)),
            "patience": timedelta(minutes=self.draw.uniform(5, 60)),
            "deferrable": self.draw.random() < 0.8,
            "recover": self.draw.randint(0, 2),
            "recover_on": self.draw.choice(["infrastructure", "any"]),
        }
        count = self.draw.randint(1, 7)
        if self.draw.random() < 0.15:
            listed = [on_demand(self.draw.choice(TYPES[3:]), count=self.draw.randint(1, 2)) for _ in range(count)]
            return SageMakerPreferProcessingOperator(config=PROCESSING, prefer=listed, **common)
        return SageMakerPreferTrainingOperator(config=TRAINING, prefer=[self.entry() for _ in range(count)], **common)

    def runner(self) -> ScriptedRunner:
        ends = {f"*-{n}": Script.fails(self.draw.choice(DIES), seconds=900) for n in (1, 2) if self.draw.random() < 0.4}
        return ScriptedRunner(ends, default=Script(seconds=self.draw.uniform(60, 3 * 3600)))


def run(airflow: Airflow, operator: SageMakerPreferOperator, draw: random.Random) -> dict[str, Any]:
    """Run a task to its end and return its decision; a worker may die behind its deferral, and a trigger run twice."""
    ti, event = TaskInstance(max_tries=9), None
    while True:
        try:
            context = airflow.context(ti)
            result = operator.resume(context, event=event) if event else operator.execute(context)
        except TaskDeferred as deferred:
            event = None
            if ti.try_number < 4 and draw.random() < 0.1:
                ti = ti.retried()
                continue
            for _ in range(draw.choice([1, 1, 1, 2])):
                event = airflow.fire(deferred)
        except JobFailed:
            return dict(ti.xcoms["decision"])
        else:
            return dict(result["decision"])


def waves_sent(airflow: Airflow) -> list[int]:
    """The waves of all jobs, in the order in which they were created."""
    tags = {entry["name"]: entry["tags"] for entry in airflow.control.record("state")}
    return [int(found["sm-prefer:wave"]) for found in tags.values()]


@settings(max_examples=SEEDS, deadline=None)
@given(seed=st.integers(0, 2**32), plain=st.booleans(), store=st.booleans())
def test_no_job_is_doubled_or_left_and_the_budget_and_the_order_hold(seed: int, plain: bool, store: bool) -> None:
    world = World(random.Random(seed))
    operator = world.operator()
    with airflow_and_sandbox(world.scenario(plain=plain), runner=world.runner(), store=store) as airflow:
        decision = run(airflow, operator, world.draw)
        assert airflow.most_live() <= 1
        assert not [job["name"] for job in airflow.jobs() if job["live"]]
        # One look to see that the budget is over, one to see that the job has stopped; more where looks are lost.
        assert decision["pending_seconds"] <= operator.max_pending.total_seconds() + (2.3 if plain else 10) * POLL + 120
        assert decision["recoveries"] <= operator.recover
        check_order(airflow, operator, plain=plain)


def check_order(airflow: Airflow, operator: SageMakerPreferOperator, *, plain: bool) -> None:
    """Where no quota and no plan takes anything out of the list, each wave is followed by the next or the first."""
    planned = any("TrainingPlanArns" in entry for entry in operator.prefer)
    sent = waves_sent(airflow)
    if not plain or planned or operator.recover:
        return
    for before, after in pairwise(sent):
        assert after in {before, before + 1, 0}, sent
