"""Lists of any length against the sandbox: waves, rounds, training plans, quotas, and settings by type."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_sm_prefer import (
    SageMakerPreferProcessingOperator,
    SageMakerPreferTrainingOperator,
    on_demand,
    spot,
    training_plan,
)
from airflow_sm_prefer.errors import CapacityTimeout, QuotaExceeded, RequestRejected

from .harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox, client

P5, P4, G5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"
HOUR = 3600.0


def training(prefer: list[Any], **arguments: Any) -> SageMakerPreferTrainingOperator:
    return SageMakerPreferTrainingOperator(
        **{"task_id": "train", "config": TRAINING, "prefer": prefer, "check_interval": 240, **arguments}
    )


def plan(**more: Any) -> dict[str, Any]:
    return {"name": "december", "type": P5, "count": 2, "blocks": [{"starts": 0, "lasts": "2d"}], **more}


def requests(airflow: Airflow) -> list[dict[str, Any]]:
    """What was asked for in each create that AWS took, in order."""
    sagemaker = client(airflow)
    names = [job["name"] for job in airflow.jobs()]
    return [sagemaker.describe_training_job(TrainingJobName=name) for name in names]


def chosen(result: dict[str, Any]) -> tuple[str, str, int]:
    decision = result["decision"]
    return decision["selected_instance_type"], decision["capacity_kind"], decision["preference_index"]


# -- waves and rounds ----------------------------------------------------------------------------------------


def test_the_same_type_comes_twice_reserved_first_and_then_on_demand() -> None:
    taken = {"plans": [plan(count=1)], "capacity": {P5: 4}}
    prefer = [training_plan(P5, arn=PLAN, count=2), on_demand(P5, count=2), P4]
    with airflow_and_sandbox(taken) as airflow:
        assert chosen(airflow.run(training(prefer))) == (P5, "on_demand", 1)
    with airflow_and_sandbox({"plans": [plan()]}) as airflow:
        assert chosen(airflow.run(training(prefer))) == (P5, "training_plan", 0)
        assert len(airflow.jobs()) == 1


def test_each_wave_waits_its_patience_and_after_the_last_a_new_round_begins(caplog: pytest.LogCaptureFixture) -> None:
    nothing_for_long = {"capacity": {P5: [0, {"after": "3h", "count": 1}], G5: 0}, "spot": {G5: 0}}
    with airflow_and_sandbox(nothing_for_long) as airflow:
        result = airflow.run(training([P5, spot(G5)], patience=timedelta(minutes=20)))
        assert chosen(result) == (P5, "on_demand", 0)
        assert result["decision"]["rounds"] >= 3
        assert airflow.most_live() == 1
        # Of each wave one line, however many rounds it took.
        waves = {(tuple(wave["preferences"]), wave["verdict"]) for wave in result["decision"]["waves"]}
        assert waves == {
            ((f"1 x {P5} (On-Demand)",), "capacity"),
            ((f"1 x {P5} (On-Demand)",), "succeeded"),
            ((f"1 x {G5} (spot)",), "capacity"),
        }


def test_a_list_of_many_entries_goes_out_in_order_in_as_few_requests_as_aws_allows() -> None:
    types = ["ml.g5.xlarge", "ml.g5.2xlarge", "ml.g5.4xlarge", "ml.g5.8xlarge", "ml.g5.12xlarge", "ml.g5.24xlarge"]
    with airflow_and_sandbox({"capacity": {**dict.fromkeys(types, 0), G5: 1}}) as airflow:
        assert chosen(airflow.run(training([*types, G5]))) == (G5, "on_demand", 6)
        sent = [r["ResourceConfig"]["InstancePreferences"] for r in requests(airflow)]
        assert [[entry["InstanceType"] for entry in entries] for entries in sent] == [types[:5], [types[5], G5]]


def test_processing_jobs_go_through_their_waves_too() -> None:
    prefer = ["ml.g5.xlarge", on_demand("ml.m5.xlarge", environment={"MODE": "slow"})]
    with airflow_and_sandbox({"capacity": {"ml.g5.xlarge": 0}}) as airflow:
        operator = SageMakerPreferProcessingOperator(task_id="prep", config=PROCESSING, prefer=prefer)
        result = airflow.run(operator)
        assert chosen(result) == ("ml.m5.xlarge", "on_demand", 1)
        last = client(airflow).describe_processing_job(ProcessingJobName=result["Processing"]["ProcessingJobName"])
        assert last["Environment"] == {"DB_PASSWORD": "hunter2", "MODE": "slow"}


def test_nothing_within_max_pending_fails_and_leaves_no_job() -> None:
    with airflow_and_sandbox({"capacity": {P5: 0, P4: 0}, "spot": {G5: 0}}) as airflow:
        began = airflow.clock.time()
        with pytest.raises(CapacityTimeout, match=r"within max_pending \(5 h\)"):
            airflow.run(training([P5, spot(G5), P4], max_pending=timedelta(hours=5)))
        assert airflow.clock.time() - began <= 5 * HOUR + 600  # a look to stop the job, one to see that it has
        assert all(job["status"] == "Stopped" for job in airflow.jobs())


def test_without_native_lists_each_entry_is_a_request_of_its_own() -> None:
    with airflow_and_sandbox({"capacity": {P5: 0}}) as airflow:
        assert chosen(airflow.run(training([P5, P4], native=False))) == (P4, "on_demand", 1)
        assert [r["ResourceConfig"]["InstanceType"] for r in requests(airflow)] == [P5, P4]


# -- settings by type ----------------------------------------------------------------------------------------


def test_each_request_carries_its_own_settings_and_only_what_its_capacity_knows() -> None:
    config = {
        **TRAINING,
        "ResourceConfig": {"VolumeSizeInGB": 30, "KeepAlivePeriodInSeconds": 600},
        "StoppingCondition": {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 90000},
        "InputDataConfig": [
            {"ChannelName": "train", "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://b/x"}}}
        ],
    }
    prefer = [
        on_demand(P5, count=1, hyperparameters={"batch": 512}, image="big:1", max_runtime=timedelta(hours=1)),
        spot(G5, count=4, hyperparameters={"batch": 64}, volume_size_gb=50, checkpoint="s3://bucket/checkpoints"),
        on_demand(P4, count=2, environment={"A": "1"}, channels={"train": {"InputMode": "FastFile"}}),
    ]
    with airflow_and_sandbox({"capacity": {P5: 0}, "spot": {G5: 0}}) as airflow:
        assert chosen(airflow.run(training(prefer, config=config))) == (P4, "on_demand", 2)
        first, second, third = requests(airflow)
    assert first["StoppingCondition"].keys() == {"MaxRuntimeInSeconds", "MaxPendingTimeInSeconds"}
    assert first["StoppingCondition"]["MaxRuntimeInSeconds"] == 3600
    assert first["AlgorithmSpecification"]["TrainingImage"] == "big:1"
    assert not first.get("EnableManagedSpotTraining")
    assert first["ResourceConfig"]["KeepAlivePeriodInSeconds"] == 600
    assert first["HyperParameters"]["batch"] == "512"
    assert second["EnableManagedSpotTraining"] is True
    assert second["StoppingCondition"] == {"MaxRuntimeInSeconds": 7200, "MaxWaitTimeInSeconds": 90000}
    assert second["ResourceConfig"] == {"InstanceType": G5, "InstanceCount": 4, "VolumeSizeInGB": 50}
    assert second["CheckpointConfig"]["S3Uri"] == "s3://bucket/checkpoints"
    assert second["HyperParameters"]["batch"] == "64"
    assert "batch" not in third["HyperParameters"]
    assert third["Environment"]["A"] == "1"
    assert third["InputDataConfig"][0]["InputMode"] == "FastFile"
    assert third["StoppingCondition"].keys() == {"MaxRuntimeInSeconds", "MaxPendingTimeInSeconds"}


# -- training plans ------------------------------------------------------------------------------------------


def test_a_plan_of_which_too_little_is_free_is_asked_again_in_the_next_round() -> None:
    scenario = {"plans": [plan(count=2)], "capacity": {P5: 0}}
    with airflow_and_sandbox(scenario) as airflow:
        other = training([training_plan(P5, arn=PLAN)], task_id="other", config={**TRAINING, "TrainingJobName": "o"})
        airflow.begin(other, TaskInstance(task_id="other"))
        ends = airflow.clock.time() + 2 * HOUR
        operator = training([training_plan(P5, arn=PLAN, count=2), P5], patience=timedelta(minutes=15))
        result = airflow.run(operator)
        assert chosen(result) == (P5, "training_plan", 0)
        assert airflow.clock.time() < ends
        assert any("has 1 of the 2 instances free" in wave["reason"] for wave in result["decision"]["waves"])


def test_a_plan_that_has_not_begun_is_passed_over_at_once() -> None:
    with airflow_and_sandbox({"plans": [plan(blocks=[{"starts": "1d", "lasts": "2d"}])]}) as airflow:
        result = airflow.run(training([training_plan(P5, arn=PLAN), P5]))
        assert chosen(result) == (P5, "on_demand", 1)
        assert result["decision"]["pending_seconds"] < 5
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("deferrable", [True, False])
def test_a_plan_that_is_waited_for_costs_no_budget_before_it_begins(deferrable: bool) -> None:
    with airflow_and_sandbox({"plans": [plan(blocks=[{"starts": "1d", "lasts": "2d"}])]}) as airflow:
        began = airflow.clock.time()
        prefer = [training_plan(P5, arn=PLAN, wait_for_plan=True), P4]
        result = airflow.run(training(prefer, max_pending=timedelta(hours=2), deferrable=deferrable))
        assert chosen(result) == (P5, "training_plan", 0)
        assert result["decision"]["pending_seconds"] < 120
        assert airflow.clock.time() - began > 24 * HOUR
        (request,) = requests(airflow)
        assert request["ResourceConfig"]["TrainingPlanArn"] == PLAN
        assert request["ResourceConfig"]["InstanceType"] == P5


def test_a_plan_that_is_waited_for_between_two_blocks_begins_with_the_next() -> None:
    blocks = [{"starts": 0, "lasts": "2h"}, {"starts": "10h", "lasts": "1d"}]
    with airflow_and_sandbox({"plans": [plan(blocks=blocks)]}) as airflow:
        airflow.clock.sleep(100 * 60)  # the last half hour of the first block has begun
        prefer = [training_plan(P5, arn=PLAN, wait_for_plan=True)]
        result = airflow.run(training(prefer, max_pending=timedelta(hours=1)))
        assert chosen(result) == (P5, "training_plan", 0)
        assert len(airflow.jobs()) == 1


def test_a_plan_that_begins_after_start_by_is_passed_over() -> None:
    with airflow_and_sandbox({"plans": [plan(blocks=[{"starts": "2d", "lasts": "2d"}])]}) as airflow:
        prefer = [training_plan(P5, arn=PLAN, wait_for_plan=True), P4]
        assert chosen(airflow.run(training(prefer, start_by="23:00"))) == (P4, "on_demand", 1)


@pytest.mark.parametrize("status", ["Failed", "Expired"])
def test_a_plan_that_is_over_is_dropped_while_there_is_something_else(status: str) -> None:
    over = plan(status="Failed") if status == "Failed" else plan(blocks=[{"starts": 0, "lasts": "1h"}])
    with airflow_and_sandbox({"plans": [over], "capacity": {P4: 0, P5: 1}}) as airflow:
        airflow.clock.sleep(2 * HOUR)
        result = airflow.run(training([training_plan(P5, arn=PLAN), P4, P5]))
        assert chosen(result) == (P5, "on_demand", 2)
        assert len(airflow.calls("CreateTrainingJob")) == len(airflow.jobs())


def test_a_plan_that_ends_while_the_list_is_gone_through_is_dropped_and_nothing_left_fails() -> None:
    other = {"plans": [plan(count=1, blocks=[{"starts": 0, "lasts": "3h"}])]}
    with airflow_and_sandbox(other) as airflow:
        began = airflow.clock.time()
        with pytest.raises(RequestRejected, match="Nothing is left on the list: training plan december is Expired"):
            airflow.run(training([training_plan(P5, arn=PLAN, count=1)], config=long_job(airflow)))
        assert airflow.clock.time() - began < 5 * HOUR


def long_job(airflow: Airflow) -> dict[str, Any]:
    """Have another job hold the whole plan for long."""
    sandbox = airflow.server.sandbox
    request = {
        "TrainingJobName": "other",
        **{key: value for key, value in TRAINING.items() if key not in {"TrainingJobName"}},
        "ResourceConfig": {"InstanceType": P5, "InstanceCount": 1, "VolumeSizeInGB": 30, "TrainingPlanArn": PLAN},
    }
    sandbox.runner.default = type(sandbox.runner.default)(seconds=10 * HOUR)
    client(airflow).create_training_job(**request)
    return TRAINING


# -- quotas --------------------------------------------------------------------------------------------------


def test_a_quota_on_the_whole_account_sends_the_entries_one_by_one() -> None:
    quotas = {"Number of instances across all training jobs": 2}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        result = airflow.run(training([on_demand(P5, count=4), on_demand(P4, count=2)]))
        assert chosen(result) == (P4, "on_demand", 1)
        assert len(airflow.calls("CreateTrainingJob")) <= 4


def test_a_quota_that_stays_busy_is_never_asked_for_in_a_hot_loop() -> None:
    quotas = {"Number of instances across all processing jobs": 1}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        sandbox = airflow.server.sandbox
        sandbox.runner.default = type(sandbox.runner.default)(seconds=6 * HOUR)
        holder = SageMakerPreferProcessingOperator(
            task_id="first", config={**PROCESSING, "ProcessingJobName": "first"}, prefer=["ml.m5.xlarge"]
        )
        airflow.begin(holder, TaskInstance(task_id="first"))
        began = len(airflow.calls("CreateProcessingJob"))
        operator = SageMakerPreferProcessingOperator(
            task_id="prep", config=PROCESSING, prefer=["ml.m5.xlarge", "ml.m5.2xlarge"], max_pending=4 * HOUR
        )
        with pytest.raises(QuotaExceeded, match="all processing jobs"):
            airflow.run(operator)
        # Three calls a round, and rounds of up to a quarter of an hour.
        assert len(airflow.calls("CreateProcessingJob")) - began < 120


def test_a_list_of_which_no_quota_allows_anything_fails_naming_it() -> None:
    quotas = {f"{name} for training job usage": 0 for name in (P5, P4)}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        with pytest.raises(QuotaExceeded, match="usage' is 0 Instances"):
            airflow.run(training([P5, on_demand(P4, environment={"A": "1"}), P5]))
        assert airflow.jobs() == []


# -- reruns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_takes_up_the_wave_that_its_job_was_sent_for(store: bool) -> None:
    scenario = {"capacity": {P5: [0, {"after": "50m", "count": 1}], P4: 0, G5: 0}, "spot": {G5: 0}}
    with airflow_and_sandbox(scenario, store=store) as airflow:
        operator, first = training([P5, spot(G5), P4], patience=timedelta(minutes=20)), TaskInstance(max_tries=1)
        outcome = airflow.begin(operator, first)
        event = airflow.fire(outcome)
        with pytest.raises(TaskDeferred):
            operator.resume(airflow.context(first), event=event)
        result = airflow.run(operator, first.retried())
        assert chosen(result) == (P5, "on_demand", 0)
        assert airflow.most_live() == 1
        airflow.server.sandbox.advance(1.0)  # AWS takes five Describes a second, ours included
        sent = [bool(r.get("EnableManagedSpotTraining")) for r in requests(airflow)]
        assert sent == [False, True, False, False]
        # What came before the retry is in its account too, where Airflow keeps it.
        tried = sum(wave["count"] for wave in result["decision"]["waves"])
        assert tried == (4 if store else 3)


def test_a_list_that_only_submits_is_one_request() -> None:
    with airflow_and_sandbox({"plans": [plan(blocks=[{"starts": "1d", "lasts": "2d"}])]}) as airflow:
        prefer = [training_plan(P5, arn=PLAN, wait_for_plan=True)]
        began = airflow.clock.time()
        airflow.run(training(prefer, wait_for_completion=False))
        assert airflow.clock.time() - began < 60
        assert len(airflow.jobs()) == 1


def test_what_is_left_of_a_list_is_told_in_the_failure_and_not_retried() -> None:
    with airflow_and_sandbox({"plans": [plan(status="Failed")]}) as airflow, pytest.raises(AirflowFailException):
        airflow.run(training([training_plan(P5, arn=PLAN)]))
