"""Airflow's retry policies can tell what failed a task: the policy of the README, with Airflow's own classes."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer import SageMakerPreferTrainingOperator
from airflow_sm_prefer.errors import JobFailed
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import TRAINING, airflow_and_sandbox

policies = pytest.importorskip("airflow.sdk.definitions.retry_policy", reason="retry policies are new in Airflow 3.3")

P5 = "ml.p5.48xlarge"
QUOTA = f"{P5} for training job usage"
README = Path(__file__).parents[2] / "README.md"


def readmes_policy() -> Any:
    """Return the policy that the README shows, made by its own code."""
    (block,) = (
        text for text in re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL) if "RetryRule" in text
    )
    names: dict[str, Any] = {"timedelta": timedelta}
    exec(block.partition("SageMakerPreferTrainingOperator(")[0], names)
    return names["retry_policy"]


def as_serialized(policy: Any) -> Any:
    """Return the policy as it comes out of Airflow's serialised DAG, with its exceptions as paths."""
    return policies.ExceptionRetryPolicy.deserialize(policy.serialize())


@pytest.fixture(params=[readmes_policy, lambda: as_serialized(readmes_policy())], ids=["as written", "serialised"])
def policy(request: pytest.FixtureRequest) -> Any:
    return request.param()


def failing(reason: str) -> ScriptedRunner:
    return ScriptedRunner(default=Script.fails(reason))


@pytest.mark.parametrize(
    ("scenario", "runner", "action", "delay"),
    [
        ({"capacity": {P5: 0}}, None, "retry", timedelta(hours=1)),
        ({}, failing("CapacityError: none"), "retry", timedelta(hours=1)),
        ({"quotas": {QUOTA: 0}}, None, "fail", None),
        ({"missing_types": [P5]}, None, "fail", None),
        ({}, failing("AlgorithmError: , exit code: 1"), "fail", None),
        # Not a shortage, whatever the script has printed.
        ({}, failing("AlgorithmError: CapacityError: none left, exit code: 1"), "fail", None),
        ({}, failing("AlgorithmError: CUDA out of memory"), "fail", None),
        ({}, failing("InternalServerError: We encountered an internal error."), "retry", timedelta(minutes=1)),
        # No rule is about it: the task's own retries hold.
        ({}, failing("Something entirely new."), "default", None),
    ],
    ids=["capacity", "capacity at the end", "quota", "region", "script", "script says so", "unfit", "aws", "unknown"],
)
def test_it_tells_capacity_from_the_scripts_own_failure_and_from_awss(
    policy: Any, scenario: dict[str, Any], runner: ScriptedRunner | None, action: str, delay: timedelta | None
) -> None:
    with airflow_and_sandbox(scenario, runner=runner) as airflow:
        operator = SageMakerPreferTrainingOperator(
            task_id="train", config=TRAINING, prefer=[P5], max_pending=3600, retries=5, retry_policy=policy
        )
        with pytest.raises(JobFailed) as failed:
            airflow.run(operator)
    decision = operator.retry_policy.evaluate(failed.value, 1, 5)
    assert (decision.action.value, decision.retry_delay) == (action, delay)
