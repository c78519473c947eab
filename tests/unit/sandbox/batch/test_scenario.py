"""The ``batch`` section of a scenario, and changes of limits while the sandbox runs."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from airflow_sm_prefer.errors import InvalidScenario
from airflow_sm_prefer.sandbox.accounts import Caller
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.control import Control
from airflow_sm_prefer.sandbox.scenario_file import parse
from tests.unit.sandbox.batch.bench import BatchBench, submission
from tests.unit.sandbox.builders import G5

TEXT = """
batch:
  environments:
    - serviceEnvironmentName: shared
      capacityLimits: [{maxCapacity: 1, capacityUnit: NUM_INSTANCES}]
    - serviceEnvironmentName: g5
      capacityLimits: [{maxCapacity: 2, capacityUnit: ml.g5.xlarge}]
  policies:
    - name: fair
      fairsharePolicy: {shareDistribution: [{shareIdentifier: red, weightFactor: 0.5}]}
    - name: managed
      quotaSharePolicy: {idleResourceAssignmentStrategy: FIFO}
  queues:
    - {jobQueueName: fifo, priority: 1, serviceEnvironmentOrder: [{order: 1, serviceEnvironment: shared}]}
    - jobQueueName: fair
      priority: 2
      schedulingPolicyArn: fair
      serviceEnvironmentOrder: [{order: 1, serviceEnvironment: shared}]
    - jobQueueName: managed
      priority: 1
      schedulingPolicyArn: managed
      serviceEnvironmentOrder: [{order: 1, serviceEnvironment: g5}]
  quota_shares:
    - quotaShareName: red
      jobQueue: managed
      capacityLimits: [{maxCapacity: 2, capacityUnit: ml.g5.xlarge}]
      resourceSharingConfiguration: {strategy: LEND}
      preemptionConfiguration: {inSharePreemption: ENABLED}
"""


def shared(count: int, unit: str = "NUM_INSTANCES") -> dict[str, Any]:
    limits = [{"maxCapacity": count, "capacityUnit": unit}]
    return {"environments": [{"serviceEnvironmentName": "shared", "capacityLimits": limits}]}


@pytest.fixture
def bench() -> BatchBench:
    return BatchBench(**yaml.safe_load(TEXT))


def test_every_account_and_region_begins_with_it(bench):
    for caller in (Caller("123456789012", "us-east-1"), Caller("111122223333", "eu-west-1")):
        job = bench.call("SubmitServiceJob", submission(), caller)["jobId"]
        assert bench.call("DescribeServiceJob", {"jobId": job}, caller)["status"] == "RUNNING"
        queues = bench.call("DescribeJobQueues", {}, caller)["jobQueues"]
        assert [queue["jobQueueName"] for queue in queues] == ["fair", "fifo", "managed"]
        assert queues[0]["schedulingPolicyArn"].endswith(f"{caller.account}:scheduling-policy/fair")
        assert [queue["status"] for queue in queues] == ["VALID"] * 3


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("Unit: ml.g5.xlarge}]\n  pol", "Unit: vCPU}]\n  pol", "neither NUM_INSTANCES nor an instance type"),
        ("serviceEnvironment: g5", "serviceEnvironment: g6", "ServiceEnvironment g6 does not exist"),
        ("priority: 2", "priority: 2000", "priority must be between 0 and 1000"),
        ("priority: 2", "priority: high", "STRING_VALUE can not be converted to an Integer"),
        ("priority: 2", "prioritty: 2", r"prioritty.*did you mean priority"),
        ("strategy: LEND", "strategy: GIVE", "enum value set"),
        ("quota_shares:", "shares:", "shares"),
    ],
)
def test_a_mistake_is_told_with_its_line(before, after, message):
    assert before in TEXT
    with pytest.raises(InvalidScenario, match=rf"(?s)scenario, line \d+: .*{message}"):
        parse(TEXT.replace(before, after))


def test_limits_change_while_it_runs(bench):
    ids = [bench.submit() for _ in range(3)]
    assert bench.statuses(*ids) == ["RUNNING", "RUNNABLE", "RUNNABLE"]
    bench.sandbox.change(batch=shared(2))
    assert bench.statuses(*ids) == ["RUNNING", "RUNNING", "RUNNABLE"]
    other = Caller("111122223333", "us-east-1")
    (environment,) = bench.call("DescribeServiceEnvironments", {"serviceEnvironments": ["shared"]}, other)[
        "serviceEnvironments"
    ]
    assert environment["capacityLimits"] == [{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 2}]
    new = {"serviceEnvironmentName": "new", "capacityLimits": shared(1)["environments"][0]["capacityLimits"]}
    bench.sandbox.change(batch={"environments": [new]})
    bench.queue("later", "new")
    with pytest.raises(InvalidScenario, match="queues"):
        bench.sandbox.change(batch={"queues": []})


def test_what_there_is_can_be_asked(bench):
    bench.submit()
    bench.submit()
    (shown,) = Control(bench.sandbox).state({})["batch"]
    assert shown["environments"] == {"shared": {"NUM_INSTANCES": 1}, "g5": {G5: 2}}
    assert shown["queues"] == {"fifo": {"RUNNING": 1, "RUNNABLE": 1}, "fair": {}, "managed": {}}


def test_calls_of_batch_have_rates_and_faults():
    bench = BatchBench(
        rates={"DescribeServiceJob": 1}, call_faults=[{"operation": "SubmitServiceJob", "error": "drop", "job": "a*"}]
    )
    bench.fifo()
    job = bench.submit("b")
    with pytest.raises(DroppedConnection):
        bench.submit("a")
    bench.describe(job)
    with pytest.raises(ApiError, match="TooManyRequestsException"):
        bench.describe(job)
