"""How long tasks that all submit in the same second take to get their jobs, where AWS takes one a second.

    .venv/bin/python benchmarks/submission_burst.py [--tasks 200] [--runs 1]

Our operator and the Amazon provider's, deferrable both, with the same request, each against a sandbox of its own with
AWS's rates. The code of both is the real one, and so are boto3 and the wire; only time is not: each task is a greenlet,
and whoever sleeps is woken when all the others sleep too. So a run is the same on every machine, however busy; it takes
some minutes.

Every stay of a task in a worker is a process of its own: it has its own token buckets, and comes to a worker a few
seconds after the trigger has fired or the retry is due. The provider's task is retried as Airflow would with its
defaults (none), and with retries after Airflow's usual five minutes.

"Of limit" is the time at which the last job was created, as a multiple of the seconds that the limit itself forces.
The budget is 1.5 with every job there, once each, and no task failed. "Unwatched" are jobs whose task has failed, so
that nobody waits for them; "rejected" the creates that AWS throttled; "in workers" how long a task held one on average,
over all its stays, and "longest stay" how long at most without a break.
"""

from __future__ import annotations

import os
import tempfile

# Airflow reads these once, when it is imported.
os.environ |= {"AIRFLOW_HOME": tempfile.mkdtemp(prefix="sm-prefer-burst-"), "AIRFLOW__CORE__LOAD_EXAMPLES": "False"}
os.environ |= {"NO_PROXY": "127.0.0.1", "AIRFLOW__SM_PREFER__DEPLOYMENT": "burst"}
os.environ["AIRFLOW__LOGGING__LOGGING_LEVEL"] = "CRITICAL"

import argparse
import contextlib
import io
import json
import random
import statistics
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
from airflow.providers.amazon.aws.operators.sagemaker import SageMakerTrainingOperator
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred
from greenlet import getcurrent, greenlet

from airflow_sm_prefer.aws.pacing import Pacing
from airflow_sm_prefer.clock import FakeClock
from airflow_sm_prefer.operators.sagemaker import SageMakerPreferTrainingOperator
from airflow_sm_prefer.placement.state import Phase
from airflow_sm_prefer.sandbox import SandboxServer
from airflow_sm_prefer.sandbox.client import SandboxControl
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger

BUDGET = 1.5
RESUME_SECONDS = 3.0  # from an event, or a retry that is due, to a worker
RETRY_SECONDS = 300.0  # Airflow's own retry_delay

CONFIG: dict[str, Any] = {
    "AlgorithmSpecification": {"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
    "RoleArn": "arn:aws:iam::123456789012:role/training",
    "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
    "ResourceConfig": {"InstanceType": "ml.g5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 30},
    "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
}


class Stage:
    """Time, and the tasks that share it: who sleeps lets the others act, and time moves when all of them sleep."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock, self._sleep = clock, time.sleep
        self._due: dict[greenlet, float] = {}

    def time(self) -> float:
        return self._clock.time()

    def sleep(self, seconds: float) -> None:
        """Sleep on the stage; a thread that isn't on it sleeps as ever."""
        actor = getcurrent()
        if actor.parent is None:
            self._sleep(seconds)
            return
        self._due[actor] = self.time() + max(0.0, seconds)
        actor.parent.switch()

    async def sleep_soon(self, seconds: float) -> None:
        self.sleep(seconds)

    def play(self, acts: list[Callable[[], None]]) -> None:
        """Let everybody act, beginning within the same second, until nobody has anything left to do."""
        began = self.time()
        self._due = {greenlet(act): began + random.random() for act in acts}
        while self._due:
            actor = min(self._due, key=lambda one: self._due[one])
            due = self._due.pop(actor)
            self._clock.advance(max(0.0, due - self.time()))
            actor.switch()


@dataclass
class Task:
    """One task instance: what Airflow keeps of it, and how it went."""

    number: int
    stage: Stage
    retries: int
    try_number: int = 1
    store: dict[str, Any] = field(default_factory=dict)
    holds: list[float] = field(default_factory=list)
    failed: bool = False

    def context(self) -> dict[str, Any]:
        ti = SimpleNamespace(
            dag_id="dag",
            task_id="train",
            run_id="run",
            map_index=self.number,
            id=str(uuid.uuid4()),
            try_number=self.try_number,
            max_tries=self.retries,
            xcom_push=lambda **_: None,
        )
        run = SimpleNamespace(start_date=datetime.fromtimestamp(self.stage.time(), UTC), clear_number=0)
        store = SimpleNamespace(get=self.store.get, set=self.store.__setitem__)
        return {"ti": ti, "dag_run": run, "dag": SimpleNamespace(timezone=UTC), "task_state_store": store}

    def stay(self, work: Callable[[], object]) -> TaskDeferred | None:
        """Stay in a worker until the task defers or is over; returns the deferral."""
        began = self.stage.time()
        try:
            work()
        except TaskDeferred as deferred:
            return deferred
        finally:
            self.holds.append(self.stage.time() - began)
        return None


def ours(task: Task) -> None:
    """Act as a task of our operator until it sleeps on its job."""
    context = task.context()

    def operator() -> SageMakerPreferTrainingOperator:
        config = {**CONFIG, "TrainingJobName": f"burst-{task.number}"}
        return SageMakerPreferTrainingOperator(task_id="train", config=config)

    deferred = task.stay(lambda: operator().execute(context))
    while deferred is not None and deferred.trigger.state["phase"] == Phase.SLEEPING:
        event = first_event(deferred.trigger)
        task.stage.sleep(RESUME_SECONDS)
        deferred = task.stay(lambda event=event: operator().resume(context, event))


def first_event(trigger: SageMakerPreferTrigger) -> dict[str, Any]:
    """Run a trigger to its event; its sleeps are the stage's, so that it needs no event loop."""
    try:
        trigger.run().__anext__().send(None)
    except StopIteration as over:
        return json.loads(json.dumps(over.value.payload))
    raise AssertionError("the trigger waited for something else than time")


def theirs(task: Task) -> None:
    """Act as a task of the provider's operator until it sleeps on its job."""
    name = f"burst-{task.number}"
    operator = SageMakerTrainingOperator(
        task_id="train", config={**CONFIG, "TrainingJobName": name}, deferrable=True, print_log=False
    )
    task.stay(lambda: operator.execute(task.context()))


def with_retries(act: Callable[[Task], None]) -> Callable[[Task], None]:
    def acting(task: Task) -> None:
        while True:
            try:
                act(task)
            except Exception as error:
                if isinstance(error, AirflowFailException) or task.try_number > task.retries:
                    task.failed = True
                    return
            else:
                return
            task.try_number += 1
            task.stage.sleep(RETRY_SECONDS + RESUME_SECONDS)

    return acting


@dataclass
class Outcome:
    """What came of one run."""

    jobs: int
    doubled: int
    unwatched: int
    failed: int
    ratio: float
    rejected: int
    held: float
    longest: float


def measure(act: Callable[[Task], None], tasks: int, retries: int, seed: int) -> Outcome:
    random.seed(seed)
    with on_stage() as (stage, control):
        began = stage.time()
        cast = [Task(number, stage, retries) for number in range(tasks)]
        acting = with_retries(act)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            stage.play([lambda task=task: acting(task) for task in cast])
        calls = [call for call in control.record("call") if call["operation"] == "CreateTrainingJob"]
        taken = [call["at"] - began for call in calls if not call["error"]]
    holds = [hold for task in cast for hold in task.holds]
    names = {call["name"].split("-")[1] for call in calls if not call["error"]}
    failed = sum(task.failed for task in cast)
    return Outcome(
        jobs=len(names),
        doubled=len(taken) - len(names),
        unwatched=len(taken) - (tasks - failed),
        failed=failed,
        ratio=max(taken) / (tasks - 1),
        rejected=len(calls) - len(taken),
        held=sum(holds) / tasks,
        longest=max(holds),
    )


@contextlib.contextmanager
def on_stage() -> Iterator[tuple[Stage, SandboxControl]]:
    """Serve a sandbox with AWS's rates, and put everybody's time on a stage."""
    clock = FakeClock()
    stage = Stage(clock)
    make_session = AwsBaseHook.get_session
    sessions: dict[type, Any] = {}

    def get_session(hook: AwsBaseHook, *args: Any, **kwargs: Any) -> Any:
        # It holds boto3's models, which take long to read, and nothing that a process would have for itself.
        if type(hook) not in sessions:
            sessions[type(hook)] = make_session(hook, *args, **kwargs)
        return sessions[type(hook)]

    with SandboxServer(clock=clock) as server:
        extra = {"endpoint_url": server.endpoint_url, "region_name": "us-east-1"}
        connection = {"conn_type": "aws", "login": "test", "password": "test", "extra": extra}
        with (
            mock.patch.dict("os.environ", {"AIRFLOW_CONN_AWS_DEFAULT": json.dumps(connection)}),
            mock.patch.object(AwsBaseHook, "get_session", get_session),
            mock.patch("time.sleep", stage.sleep),
            mock.patch("airflow_sm_prefer.triggers.sagemaker.asyncio.sleep", stage.sleep_soon),
            mock.patch.object(SageMakerPreferTrainingOperator, "clock", stage),
            mock.patch.object(SageMakerPreferTrigger, "clock", stage),
            mock.patch("airflow_sm_prefer.hooks.sagemaker.shared_pacing", lambda _, __, *of: Pacing(*of)),
        ):
            yield stage, SandboxControl(server.endpoint_url)


def row(name: str, outcomes: list[Outcome]) -> str:
    middle = Outcome(**{key: statistics.median(vars(one)[key] for one in outcomes) for key in vars(outcomes[0])})
    worst = max(one.ratio for one in outcomes)
    return (
        f"  {name:<22}{middle.jobs:5.0f}{middle.failed:8.0f}{middle.doubled:9.0f}{middle.unwatched:11.0f}"
        f"{middle.ratio:10.2f}{worst:7.2f}{middle.rejected:10.0f}{middle.held:12.1f}{middle.longest:14.1f}"
    )


def main() -> int:
    """Measure, print, and return 1 if the budget is exceeded."""
    parser = argparse.ArgumentParser(description="How long a burst of submissions takes at one create a second.")
    parser.add_argument("--tasks", type=int, default=200)
    parser.add_argument("--runs", type=int, default=1, help="runs of each, with draws of their own")
    options = parser.parse_args()
    print(f"medians of {options.runs} runs of {options.tasks} tasks that submit in the same second; seconds are AWS's")
    print(f"{'jobs':>29}  failed  doubled  unwatched  of limit  worst  rejected  in workers  longest stay")
    results = {}
    for name, act, retries in (("ours", ours, 0), ("provider's", theirs, 0), ("provider's, 5 retries", theirs, 5)):
        results[name] = [measure(act, options.tasks, retries, seed) for seed in range(options.runs)]
        print(row(name, results[name]), flush=True)
    good = [
        one.jobs == options.tasks and not one.failed + one.doubled and one.ratio <= BUDGET for one in results["ours"]
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
