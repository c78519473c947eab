"""What the tests of the trigger stand on: a state, and jobs that answer a script."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any
from unittest import mock

from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.placement.state import Entry, Limits, Phase, State
from airflow_sm_prefer.triggers.connection import Connection
from airflow_sm_prefer.triggers.sagemaker import SageMakerPreferTrigger
from airflow_sm_prefer.triggers.waits import Heard, Wait

NOW = 1_800_000_000.0
STATE = State(
    kind=JobKind.TRAINING,
    entries=(Entry("ml.p5.48xlarge", 1), Entry("ml.g5.xlarge", 1)),
    waves=((0, 1),),
    limits=Limits(budget=600.0),
    phase=Phase.WATCHING,
    job_name="job-1",
    job_arn="arn:1",
    submission=1,
    submitted=NOW,
    first_submit=NOW,
    wait_began=NOW,
)


def described(status: str = "InProgress", secondary: str = "Pending", **more: Any) -> dict[str, Any]:
    return {"TrainingJobName": "job-1", "TrainingJobStatus": status, "SecondaryStatus": secondary, **more}


def failed(kind: FailureKind) -> CallFailed:
    return CallFailed(CallFailure(kind, "Code", "words", "DescribeTrainingJob"))


class Jobs:
    """Answers a script of looks, the last one for ever; notes every call and the thread it came from."""

    kind = JobKind.TRAINING

    def __init__(self, *looks: Any, stops: tuple[Any, ...] = ()) -> None:
        self.looks, self.stops = list(looks), list(stops)
        self.calls: list[str] = []
        self.threads: set[str] = set()

    def describe(self, name: str) -> dict[str, Any]:
        return self._answer("describe", self.looks)

    def stop(self, handle: str, why: str = "") -> bool:
        return bool(self._answer("stop", self.stops or [True]))

    def _answer(self, call: str, answers: list[Any]) -> Any:
        self.calls.append(call)
        self.threads.add(threading.current_thread().name)
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def waiting(
    handle: str = "job-1", due: float = math.inf, set_due: Any = lambda wait: None, every: float = math.inf
) -> Wait:
    """Return a wait that no watcher knows of."""
    return Wait(handle, None, due, SimpleNamespace(set_due=set_due, close=lambda wait: None), every)


async def hear(wait: Wait) -> Heard:
    """Return what comes next about a job, when it comes, as the trigger hears it."""
    while (heard := wait.heard()) is None:
        await wait.news()
    return heard


def made_of(jobs: Jobs) -> Any:
    hook = SimpleNamespace(jobs=lambda kind: jobs)
    return mock.patch.object(Connection, "hook", return_value=hook)


def trigger(state: State = STATE, **more: Any) -> SageMakerPreferTrigger:
    return SageMakerPreferTrigger(state=state.to_json(), task="digest", **{"poll_interval": 30.0, **more})
