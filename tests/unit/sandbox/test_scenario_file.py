"""Scenario files: what they may say, and how a mistake is told."""

import pytest

from airflow_sm_prefer.errors import InvalidScenario
from airflow_sm_prefer.sandbox.capacity import Timeline
from airflow_sm_prefer.sandbox.faults import CallError, CallFault, JobFault
from airflow_sm_prefer.sandbox.plans import Block, PlanSpec
from airflow_sm_prefer.sandbox.rates import DEFAULT_RATES
from airflow_sm_prefer.sandbox.scenario import Scenario
from airflow_sm_prefer.sandbox.scenario_file import as_scenario, parse
from airflow_sm_prefer.sandbox.settings import PendingExpiry, Settings

EVERYTHING = """
capacity:
  ml.p5.48xlarge: 0
  ml.g5.xlarge: [0, {after: 20 min, count: 2}, {after: 1h 30m, count: 0}]
  "*": 3
spot: {ml.g5.xlarge: 1}
plans:
  - {name: december, type: ml.p5.48xlarge, count: 2, region: eu-west-1, zone: eu-west-1b,
     blocks: [{starts: 10m, lasts: 2h}, {starts: 1d, lasts: 3600}]}
  - {name: today, type: ml.p4d.24xlarge, count: 1, target: hyperpod-cluster, status: Pending}
quotas:
  ml.p5.48xlarge for training job usage: 2
  ml.g5.xlarge for spot training job usage: 0
  ml.g5.xlarge for training warm pool usage: 1
  Number of instances across all spot training jobs: 3
  Number of instances across all processing jobs: 4
  Size of EBS volume for a training job instance: 2048
rates: {DescribeTrainingJob: 2.5, ListTrainingJobs: off}
call_faults:
  - {operation: "*", error: drop}
  - {operation: DescribeTrainingJob, error: ThrottlingException, after: 1, times: 2, job: "a-*", takes_effect: true}
job_faults:
  - {job: "a-*"}
  - {job: b, reason: "ClientError: no", after: 90s, times: 2}
missing_types: [ml.p3.2xlarge]
algorithms: {"*xgboost*": [ml.m5.*, ml.g5.*]}
images: {"*sklearn*": python}
settings: {pending_expiry: failed_ice, double_events_every: 0, launch_seconds: 3m, allow_unknown_types: true}
"""


def test_everything_that_a_file_may_say():
    rates = {**DEFAULT_RATES, "DescribeTrainingJob": 2.5}
    del rates["ListTrainingJobs"]
    assert parse(EVERYTHING) == Scenario(
        capacity={
            "ml.p5.48xlarge": Timeline(((0, 0),)),
            "ml.g5.xlarge": Timeline(((0, 0), (1200, 2), (5400, 0))),
            "*": Timeline(((0, 3),)),
        },
        spot={"ml.g5.xlarge": Timeline(((0, 1),))},
        plans=(
            PlanSpec(
                "december",
                "ml.p5.48xlarge",
                2,
                (Block(600, 7200), Block(86_400, 3600)),
                "eu-west-1",
                "eu-west-1b",
            ),
            PlanSpec("today", "ml.p4d.24xlarge", 1, (Block(0, 86_400),), target="hyperpod-cluster", status="Pending"),
        ),
        quotas={
            "ml.p5.48xlarge for training job usage": 2,
            "ml.g5.xlarge for spot training job usage": 0,
            "ml.g5.xlarge for training warm pool usage": 1,
            "Number of instances across all spot training jobs": 3,
            "Number of instances across all processing jobs": 4,
            "Size of EBS volume for a training job instance": 2048,
        },
        rates=rates,
        call_faults=(
            CallFault("*", CallError.DROP),
            CallFault("DescribeTrainingJob", CallError.THROTTLING, 1, 2, "a-*", takes_effect=True),
        ),
        job_faults=(JobFault("a-*"), JobFault("b", "ClientError: no", 90, 2)),
        missing_types=frozenset({"ml.p3.2xlarge"}),
        algorithms={"*xgboost*": ("ml.m5.*", "ml.g5.*")},
        images={"*sklearn*": "python"},
        settings=Settings(
            pending_expiry=PendingExpiry.FAILED_ICE,
            double_events_every=0,
            launch_seconds=180,
            allow_unknown_types=True,
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("capacity:\n  ml.g5.xlrge: 1", 2, "did you mean ml.g5.xlarge?"),
        ("\ncapacty: {}", 2, "did you mean capacity?"),
        ("nonsense: {}", 1, "not a key here; expected one of capacity, spot"),
        ("capacity:\n  ml.g5.xlarge: -1", 2, "expected a whole number, 0 or more, not '-1'"),
        ("capacity:\n  ml.g5.xlarge: 1.5", 2, "expected a whole number"),
        ("capacity:\n  ml.g5.xlarge: true", 2, "expected a whole number"),
        ("capacity:\n  ml.g5.xlarge:", 2, "not nothing"),
        ("capacity:\n  ml.g5.xlarge: {count: 1}", 2, "expected a whole number, 0 or more, not a mapping"),
        ("capacity:\n  ml.g5.xlarge: []", 2, "expected steps in the order of time"),
        ("capacity:\n  ml.g5.xlarge: [{after: 2m, count: 1}, {after: 1m, count: 1}]", 2, "in the order of time"),
        ("capacity:\n  ml.g5.xlarge: [{after: 20x, count: 1}]", 2, "expected a duration, as 90s, 20m or 1h 30m"),
        ("capacity:\n  ml.g5.xlarge: [{after: [1], count: 1}]", 2, "expected a duration"),
        ("capacity:\n  ml.g5.xlarge: [{count: 1}]", 2, "after is missing"),
        ("capacity:\n  ml.g5.xlarge: 1\n  ml.g5.xlarge: 2", 3, "this key is there already"),
        ("capacity:\n  [1]: 2", 2, "expected a text, not a list"),
        ("capacity: 3", 1, "expected a mapping (key: value), not '3'"),
        ("- 1", 1, "expected a mapping (key: value), not a list"),
        ("capacity: [1", 1, "not YAML"),
        ("capacity: *nowhere", 1, "not YAML"),
        ("plans: {}", 1, "expected a list, not a mapping"),
        ("plans:\n- {name: a}", 2, "type is missing"),
        ("plans:\n- {name: a, type: ml.m5.xlarge, count: 1}", 2, "not a type that plans are sold for"),
        ("plans:\n- {name: a, type: ml.p5.48xlarge, count: 0}", 2, "1 or more"),
        ("plans:\n- {name: a, type: ml.p5.48xlarge, count: 1, status: Active}", 2, "doesn't come of its blocks"),
        ("plans:\n- {name: a, type: ml.p5.48xlarge, count: 1, target: training}", 2, "did you mean training-job"),
        ("plans:\n- {name: a, type: ml.p5.48xlarge, count: 1, blocks: [{lasts: 0}]}", 2, "a duration above 0"),
        (
            "plans:\n- {name: a, type: ml.p5.48xlarge, count: 1, blocks: [{lasts: 2h}, {starts: 1h, lasts: 1h}]}",
            2,
            "each block to begin after the one before has ended",
        ),
        (
            "plans:\n- {name: a, type: ml.p5.48xlarge, count: 1}\n- {name: a, type: ml.p5.48xlarge, count: 1}",
            2,
            "two plans are called a",
        ),
        ("quotas: {GPUs: 1}", 1, "expected a quota's name, as 'ml.p5.48xlarge for training job usage'"),
        ("rates: {DescribeTrainingJobs: 1}", 1, "did you mean DescribeTrainingJob?"),
        ("rates: {DescribeTrainingJob: 0}", 1, "expected a number above 0, not '0'"),
        ("rates: 3", 1, "expected a mapping"),
        ("call_faults: [{operation: DescribeTraining, error: drop}]", 1, "not an operation of SageMaker's"),
        ("call_faults: [{operation: '*', error: dorp}]", 1, "did you mean drop?"),
        ("call_faults: [{operation: '*', error: drop, takes_effect: 1}]", 1, "expected true or false"),
        ("job_faults: [{after: 1}]", 1, "job is missing"),
        ("missing_types: [ml.p3]", 1, "not an instance type"),
        ("settings:\n  pending_expiry: stoped", 2, "did you mean stopped?"),
        ("settings:\n  pending_expiry:", 2, "expected a text, not nothing"),
        ("settings: {launch_seconds: yes}", 1, "expected a duration"),
        ("settings: {launch_seconds: 2026-13-45}", 1, "expected a duration"),
    ],
)
def test_a_mistake_is_told_with_its_line(text, line, words):
    with pytest.raises(InvalidScenario) as caught:
        parse(text, "nightly.yaml")
    message = str(caught.value)
    assert message.startswith(f"nightly.yaml, line {line}: ")
    assert words in message
    assert "\n" not in message


def test_an_empty_file_says_that_everything_is_ample():
    assert parse("") == parse("# nothing") == Scenario()


def test_rates_may_be_off():
    assert parse("rates: off").rates == {}


def test_a_scenario_comes_as_a_file_a_mapping_or_ready(tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text("missing_types: [ml.p3.2xlarge]")
    expected = Scenario(missing_types=frozenset({"ml.p3.2xlarge"}))
    assert as_scenario(path) == as_scenario(str(path)) == expected
    assert as_scenario({"missing_types": ["ml.p3.2xlarge"]}) == as_scenario(expected) == expected


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(InvalidScenario, match=r"none\.yaml: the scenario file can't be read"):
        as_scenario(tmp_path / "none.yaml")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidScenario, match="can't be read"):
        as_scenario(tmp_path / "bytes.yaml")


@pytest.mark.parametrize("off", ["off", False])
def test_rates_are_off_in_a_mapping_as_in_a_file(off):
    assert as_scenario({"rates": off}).rates == {}
    assert "ListTrainingJobs" not in as_scenario({"rates": {"ListTrainingJobs": off}}).rates
