"""Jobs that AWS fails, interrupts or takes the capacity from, and what follows, against the sandbox."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_sm_prefer import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator, spot, training_plan
from airflow_sm_prefer.errors import InfrastructureFailure, UnfitInstanceType, UserCodeError
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox, client

P5, P4, G5 = "ml.p5.48xlarge", "ml.p4d.24xlarge", "ml.g5.48xlarge"
PLAN = "arn:aws:sagemaker:us-east-1:123456789012:training-plan/december"
CHECKPOINTS = {"S3Uri": "s3://bucket/checkpoints"}
CONFIG = {**TRAINING, "CheckpointConfig": CHECKPOINTS}
HOUR = 3600.0
LONG = Script(seconds=5 * HOUR)


def training(prefer: list[Any], **arguments: Any) -> SageMakerPreferTrainingOperator:
    # These jobs write no log, and for hours a log that may yet come is asked for.
    few_calls = {"check_interval": 240, "print_log": False}
    return SageMakerPreferTrainingOperator(
        **{"task_id": "train", "config": CONFIG, "prefer": prefer, **few_calls, **arguments}
    )


def runs(airflow: Airflow) -> list[str | None]:
    """The type that each job last had, in order of submission."""
    record = airflow.control.record("state")
    types: dict[str, str | None] = {}
    for entry in record:
        types[entry["name"]] = entry["instance_type"] or types.get(entry["name"])
    return list(types.values())


def test_a_job_that_aws_fails_is_started_again_from_its_checkpoints() -> None:
    faults = [{"job": "*", "after": "1h", "times": 1}]
    with airflow_and_sandbox({"job_faults": faults}, runner=ScriptedRunner(default=LONG)) as airflow:
        decision = airflow.run(training([P5, P4], recover=2, print_log=True))["decision"]
        assert (decision["recoveries"], decision["submissions"], decision["verdict"]) == (1, 2, "succeeded")
        assert [wave["verdict"] for wave in decision["waves"]] == ["infrastructure", "succeeded"]
        jobs = [client(airflow).describe_training_job(TrainingJobName=job["name"]) for job in airflow.jobs()]
        assert [job["CheckpointConfig"]["S3Uri"] for job in jobs] == [CHECKPOINTS["S3Uri"]] * 2
        assert jobs[0]["HyperParameters"] == jobs[1]["HyperParameters"]
        assert airflow.most_live() == 1


@pytest.mark.parametrize(("recover", "jobs"), [(0, 1), (2, 3)])
def test_it_is_started_again_as_often_as_the_author_allows(recover: int, jobs: int) -> None:
    faults = [{"job": "*", "after": "1m", "times": 10}]
    with airflow_and_sandbox({"job_faults": faults}) as airflow:
        airflow.server.sandbox.runner.default = LONG
        with pytest.raises(InfrastructureFailure, match="InternalServerError"):
            airflow.run(training([P5], recover=recover))
        assert len(airflow.jobs()) == jobs


def test_a_processing_job_is_started_again_too() -> None:
    faults = [{"job": "*", "after": "1m", "times": 1}]
    with airflow_and_sandbox({"job_faults": faults}, runner=ScriptedRunner(default=Script(seconds=600))) as airflow:
        operator = SageMakerPreferProcessingOperator(
            task_id="prep", config=PROCESSING, prefer=["ml.m5.xlarge"], recover=1
        )
        assert airflow.run(operator)["decision"]["recoveries"] == 1


# -- spot ----------------------------------------------------------------------------------------------------

INTERRUPTED = {"spot": {G5: [1, {"after": "1h", "count": 0}]}}


def test_an_interrupted_job_that_does_not_come_back_goes_on_down_the_list() -> None:
    with airflow_and_sandbox(INTERRUPTED, runner=ScriptedRunner(default=LONG)) as airflow:
        result = airflow.run(training([spot(G5), P4], recover=1, patience=timedelta(minutes=20)))
        assert result["decision"]["recoveries"] == 1
        assert result["decision"]["capacity_kind"] == "on_demand"
        assert runs(airflow) == [G5, None, P4]
        assert airflow.most_live() == 1


def test_an_interrupted_job_that_comes_back_within_its_patience_is_left_alone() -> None:
    back = {"spot": {G5: [1, {"after": "1h", "count": 0}, {"after": "70m", "count": 1}]}}
    with airflow_and_sandbox(back, runner=ScriptedRunner(default=LONG)) as airflow:
        result = airflow.run(training([spot(G5), P4], recover=1, patience=timedelta(minutes=20)))
        assert (result["decision"]["recoveries"], result["decision"]["submissions"]) == (0, 1)
        assert not airflow.calls("StopTrainingJob")


def test_an_interrupted_job_that_may_not_be_started_again_is_left_to_aws() -> None:
    config = {**CONFIG, "StoppingCondition": {"MaxRuntimeInSeconds": 6 * 3600, "MaxWaitTimeInSeconds": 8 * 3600}}
    with airflow_and_sandbox(INTERRUPTED, runner=ScriptedRunner(default=LONG)) as airflow:
        with pytest.raises(InfrastructureFailure, match="MaxWaitTimeExceeded"):
            airflow.run(training([spot(G5), P4], config=config))
        assert len(airflow.jobs()) == 1
        assert not airflow.calls("StopTrainingJob")


def test_our_stop_of_an_interrupted_job_is_recognised_though_the_trigger_that_sent_it_is_gone() -> None:
    with airflow_and_sandbox(INTERRUPTED, runner=ScriptedRunner(default=LONG)) as airflow:
        operator, ti = training([spot(G5), P4], recover=1, patience=timedelta(minutes=20)), TaskInstance()
        outcome = airflow.begin(operator, ti)
        airflow.fire(outcome)  # one triggerer watches, stops the job, and is gone before its event is heard
        assert airflow.jobs()[0]["status"] == "Stopped"
        result = airflow.finish(operator, ti, outcome)
        assert result["decision"]["recoveries"] == 1
        assert runs(airflow)[-1] == P4


# -- training plans ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["stopped", "failed"])
def test_a_job_whose_reservation_ends_under_it_is_started_again_on_what_follows(ending: str) -> None:
    scenario = {
        "plans": [{"name": "december", "type": P5, "count": 1, "blocks": [{"starts": 0, "lasts": "2h"}]}],
        "settings": {"plan_expiry": ending},
    }
    with airflow_and_sandbox(scenario, runner=ScriptedRunner(default=LONG)) as airflow:
        result = airflow.run(training([training_plan(P5, arn=PLAN), P5], recover=1))
        assert (result["decision"]["recoveries"], result["decision"]["capacity_kind"]) == (1, "on_demand")
        assert "reservation" in result["decision"]["waves"][0]["reason"]
    with airflow_and_sandbox(scenario, runner=ScriptedRunner(default=LONG)) as airflow:
        with pytest.raises(InfrastructureFailure, match="reservation that it ran on has ended"):
            airflow.run(training([training_plan(P5, arn=PLAN), P5]))
        assert len(airflow.jobs()) == 1


def test_a_job_between_two_blocks_of_its_plan_waits_for_the_next() -> None:
    blocks = [{"starts": 0, "lasts": "2h"}, {"starts": "3d", "lasts": "1d"}]
    plans = [{"name": "december", "type": P5, "count": 1, "blocks": blocks}]
    with airflow_and_sandbox({"plans": plans}, runner=ScriptedRunner(default=LONG)) as airflow:
        operator, ti = (
            training([training_plan(P5, arn=PLAN, wait_for_plan=True), P4], recover=1, check_interval=1800),
            TaskInstance(),
        )
        outcome = airflow.begin(operator, ti)
        assert isinstance(outcome, TaskDeferred)
        assert outcome.timeout is not None
        assert outcome.timeout > timedelta(days=4), "Airflow would end the task before the second block does"
        result = airflow.finish(operator, ti, outcome)
        assert (result["decision"]["recoveries"], result["decision"]["submissions"]) == (0, 1)


# -- types that don't fit, and scripts that fail --------------------------------------------------------------


def scripts(reason: str) -> ScriptedRunner:
    return ScriptedRunner({"*-1": Script.fails(reason)})


def test_a_type_that_is_too_small_is_dropped_and_the_next_is_tried() -> None:
    with airflow_and_sandbox(runner=scripts("AlgorithmError: , exit code: 137")) as airflow:
        result = airflow.run(training([G5, P5], recover=1))
        assert (result["decision"]["selected_instance_type"], result["decision"]["recoveries"]) == (P5, 1)
    with airflow_and_sandbox(runner=scripts("AlgorithmError: , exit code: 137")) as airflow:
        with pytest.raises(UnfitInstanceType):
            airflow.run(training([G5], recover=1))
        assert len(airflow.jobs()) == 1


def test_an_error_of_the_script_is_started_again_on_the_next_entry_only_if_the_author_says_so() -> None:
    failing = "AlgorithmError: CapacityError is what the script printed, exit code: 1"
    with airflow_and_sandbox(runner=scripts(failing)) as airflow:
        result = airflow.run(training([G5, P5], recover=1, recover_on="any"))
        assert result["decision"]["selected_instance_type"] == P5
    with airflow_and_sandbox(runner=scripts(failing)) as airflow:
        with pytest.raises(UserCodeError, match="is what the script printed"):
            airflow.run(training([G5, P5], recover=1))
        assert len(airflow.jobs()) == 1


# -- limits and reruns ---------------------------------------------------------------------------------------


def test_start_by_binds_the_first_start_only() -> None:
    faults = [{"job": "*", "after": "2h", "times": 1}]
    with airflow_and_sandbox({"job_faults": faults}, runner=ScriptedRunner(default=LONG)) as airflow:
        # The sandbox's clock begins at eight o'clock; the job fails at ten, and the second begins after nine.
        result = airflow.run(training([P5], recover=1, start_by="09:00"))
        assert result["decision"]["recoveries"] == 1


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_knows_how_often_the_job_was_started_again(store: bool) -> None:
    faults = [{"job": "*", "after": "1m", "times": 2}]
    with airflow_and_sandbox({"job_faults": faults}, store=store, runner=ScriptedRunner(default=LONG)) as airflow:
        operator, first = training([P5], recover=1), TaskInstance(max_tries=1)
        outcome = airflow.begin(operator, first)
        event = airflow.fire(outcome)
        with pytest.raises(TaskDeferred):
            operator.resume(airflow.context(first), event=event)
        with pytest.raises(InfrastructureFailure):
            airflow.run(operator, first.retried())
        assert len(airflow.jobs()) == 2


def test_a_list_that_may_recover_without_checkpoints_is_warned_of_once(capsys: pytest.CaptureFixture[str]) -> None:
    faults = [{"job": "*", "after": "1m", "times": 1}]
    with airflow_and_sandbox({"job_faults": faults}, runner=ScriptedRunner(default=LONG)) as airflow:
        airflow.run(training([P5], config=TRAINING, recover=1))
    assert capsys.readouterr().out.count("no CheckpointConfig") == 1
    with airflow_and_sandbox() as airflow:
        airflow.run(training([P5], recover=1))
    assert "no CheckpointConfig" not in capsys.readouterr().out
