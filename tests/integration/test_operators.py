"""The operators against the sandbox: what a DAG author relies on."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from airflow.providers.common.compat.sdk import AirflowFailException, TaskDeferred

from airflow_sm_prefer import (
    SageMakerPreferProcessingOperator,
    SageMakerPreferTrainingOperator,
    on_demand,
    spot,
)
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.errors import (
    CapacityTimeout,
    JobExists,
    JobLost,
    JobStopped,
    LimitReached,
    QuotaExceeded,
    RequestRejected,
    StateUnreadable,
    UserCodeError,
)
from airflow_sm_prefer.links import JOB_XCOM_KEY
from airflow_sm_prefer.operators import handover
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import PROCESSING, TRAINING, TaskInstance, airflow_and_sandbox, client

NOTHING_YET = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": [0, {"after": "20m", "count": 8}]}}
NOTHING = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": 0}}
LIST = ["ml.p5.48xlarge", "ml.p4d.24xlarge"]
CPU = ["ml.m5.xlarge"]


def training(**arguments: Any) -> SageMakerPreferTrainingOperator:
    return SageMakerPreferTrainingOperator(**{"task_id": "train", "config": TRAINING, "prefer": LIST, **arguments})


def processing(**arguments: Any) -> SageMakerPreferProcessingOperator:
    return SageMakerPreferProcessingOperator(**{"task_id": "prep", "config": PROCESSING, "prefer": CPU, **arguments})


# -- the main job --------------------------------------------------------------------------------------------


def test_a_job_waits_for_the_second_choice_and_says_which_it_got(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox(NOTHING_YET, runner=ScriptedRunner(default=Script(seconds=120))) as airflow:
        result = airflow.run(training())
        decision = result["decision"]
        assert decision["selected_instance_type"] == "ml.p4d.24xlarge"
        assert decision["preference_index"] == 1
        assert decision["verdict"] == "succeeded"
        assert 1100 < decision["pending_seconds"] < 1300
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert airflow.deferrals == 1
        assert len(airflow.jobs()) == 1
    said = capsys.readouterr().out
    assert "the 2nd of 2 choices, after 20 min" in said
    assert said.count("is InProgress (Pending)") == 1
    assert "got 1 x ml.p4d.24xlarge (On-Demand), the 2nd of 2 on the list, after 20 min" in said


def test_a_slot_is_not_held_for_questions_that_are_answered_already() -> None:
    """Each costs a task that has a slot a round trip, and AWS a call of the few that it allows."""
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=120))) as airflow:
        operator, ti = training(), TaskInstance()
        context = airflow.context(ti)
        context["task_state_store"] = store = mock.Mock(wraps=airflow.store)
        with pytest.raises(TaskDeferred) as deferred:
            operator.execute(context)
        assert [call[0] for call in store.method_calls] == ["get", "set"]
        assert airflow.calls("DescribeTrainingJob") == []
        event = airflow.fire(deferred.value)
        before = len(airflow.calls("DescribeTrainingJob"))
        assert operator.resume(context, event)["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.calls("DescribeTrainingJob")) == before + 1
        assert len(store.method_calls) == 2


def test_a_processing_job_goes_as_a_list_of_one_so_that_aws_says_what_it_selected() -> None:
    with airflow_and_sandbox() as airflow:
        config = {
            **PROCESSING,
            "ProcessingResources": {"ClusterConfig": {"InstanceType": "ml.m5.xlarge", "VolumeSizeInGB": 30}},
        }
        result = airflow.run(processing(config=config, prefer=None))
        cluster = result["Processing"]["ProcessingResources"]["ClusterConfig"]
        assert cluster["SelectedInstanceType"] == "ml.m5.xlarge"
        assert "InstanceType" not in cluster
        assert result["decision"]["preference_index"] == 0


@pytest.mark.parametrize("deferrable", [True, False])
def test_both_ways_of_waiting_have_the_same_outcome(deferrable: bool) -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        result = airflow.run(training(deferrable=deferrable))
        assert result["decision"]["selected_instance_type"] == "ml.p4d.24xlarge"
        assert airflow.deferrals == (1 if deferrable else 0)


@pytest.mark.parametrize("deferrable", [True, False])
def test_without_waiting_it_returns_at_once_and_tags_the_job_so(deferrable: bool) -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        result = airflow.run(training(deferrable=deferrable, wait_for_completion=False))
        assert airflow.deferrals == 0
        assert result["Training"]["TrainingJobStatus"] == "InProgress"
        assert result["decision"]["verdict"] is None
        sagemaker = client(airflow)
        tags = sagemaker.list_tags(ResourceArn=result["Training"]["TrainingJobArn"])["Tags"]
        assert {"Key": "sm-prefer:waits", "Value": "no"} in tags


def test_a_job_that_is_over_when_it_is_first_looked_at_is_judged_alike(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=0.0))) as airflow:
        assert airflow.run(processing())["Processing"]["ProcessingJobStatus"] == "Completed"


def test_the_result_is_small_plain_json_without_the_requests_secrets() -> None:
    with airflow_and_sandbox() as airflow:
        result = airflow.run(training())
        written = json.dumps(result)
        assert len(written) < 10_000
        assert "hunter2" not in written
        assert "SecondaryStatusTransitions" not in result["Training"]


def test_no_secret_of_the_request_reaches_the_log_the_trigger_the_store_or_xcom(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        ti = TaskInstance()
        operator = training()
        deferred = airflow.begin(operator, ti)
        kept = json.dumps([deferred.trigger.serialize(), deferred.kwargs, airflow.store, ti.xcoms])
        airflow.finish(operator, ti, deferred)
        kept += json.dumps([airflow.events, airflow.store, ti.xcoms]) + capsys.readouterr().out
    assert "hunter2" not in kept
    assert "hunter3" not in kept


def test_the_job_carries_its_owner_in_its_tags_and_the_users_tags_stay() -> None:
    with airflow_and_sandbox() as airflow:
        ti = TaskInstance()
        result = airflow.run(training(config={**TRAINING, "Tags": [{"Key": "team", "Value": "ml"}]}), ti)
        listed = client(airflow).list_tags(ResourceArn=result["Training"]["TrainingJobArn"])["Tags"]
        tags = {tag["Key"]: tag["Value"] for tag in listed}
        assert tags["team"] == "ml"
        assert tags["sm-prefer:try"] == ti.id
        assert tags["sm-prefer:submission"] == "1"
        assert "hunter" not in json.dumps(tags)


def test_the_request_is_the_authors_config_with_our_name_tags_list_and_pending_limit_only() -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        config = {
            **TRAINING,
            "ResourceConfig": {"VolumeSizeInGB": 30, "KeepAlivePeriodInSeconds": 60},
        }
        result = airflow.run(training(config={**config, "EnableNetworkIsolation": True}, max_pending=7200))
        described = client(airflow).describe_training_job(TrainingJobName=result["Training"]["TrainingJobName"])
        assert described["EnableNetworkIsolation"] is True
        assert described["StoppingCondition"] == {"MaxRuntimeInSeconds": 86400, "MaxPendingTimeInSeconds": 7200}
        assert described["ResourceConfig"] == {
            "VolumeSizeInGB": 30,
            "KeepAlivePeriodInSeconds": 60,
            "InstancePreferences": [
                {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1},
                {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1},
            ],
            "SelectedInstanceType": "ml.p4d.24xlarge",
            "SelectedInstanceCount": 1,
        }


def test_submitting_takes_few_calls_and_none_of_them_lists() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        airflow.begin(training(), TaskInstance())
        calls = [entry["operation"] for entry in airflow.control.record("call")]
        assert calls == ["CreateTrainingJob"]


# -- the trigger's hand-off ----------------------------------------------------------------------------------


def test_the_connection_reaches_the_trigger_whole() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        arguments = {"region_name": "eu-west-1", "verify": "/ca.pem", "botocore_config": {"read_timeout": 7}}
        deferred = airflow.begin(training(**arguments), TaskInstance())
        _, kwargs = deferred.trigger.serialize()
        assert {key: kwargs[key] for key in arguments} == arguments
        made = deferred.trigger.connection.hook().conn.meta
        assert made.region_name == "eu-west-1"
        assert made.config.read_timeout == 7


def test_a_trigger_takes_what_a_later_version_adds() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        deferred = airflow.begin(training(), TaskInstance())
        _, kwargs = deferred.trigger.serialize()
        assert type(deferred.trigger)(**kwargs, something_new=1).serialize()[1] == kwargs


def test_an_event_of_another_task_is_refused() -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        operator, ti = training(), TaskInstance()
        event = airflow.fire(airflow.begin(operator, ti))
        with pytest.raises(StateUnreadable, match="isn't its trigger's"):
            operator.resume(airflow.context(TaskInstance(task_id="other")), event=event)
        with pytest.raises(StateUnreadable):
            operator.resume(airflow.context(ti), event=None)


def test_a_resumed_task_ends_well_though_its_list_was_made_wrong_meanwhile() -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        ti = TaskInstance()
        deferred = airflow.begin(training(), ti)
        changed = training()
        changed.prefer = ["no-such-type"]
        assert airflow.finish(changed, ti, deferred)["Training"]["TrainingJobStatus"] == "Completed"


def test_the_deferral_ends_a_day_behind_our_own_deadlines() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        deferred = airflow.begin(training(max_pending=3600), TaskInstance())
        assert deferred.timeout.total_seconds() == pytest.approx(3600 + 86400 + 86400, abs=120)


# -- the ends that are no success ----------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["stopped", "failed", "failed_ice"])
@pytest.mark.parametrize("max_pending", [600, 3600])
def test_nothing_within_max_pending_fails_as_capacity_however_aws_ends_it(ending: str, max_pending: int) -> None:
    scenario = {**NOTHING, "settings": {"pending_expiry": ending}}
    with airflow_and_sandbox(scenario) as airflow:
        ti, began = TaskInstance(), airflow.clock.time()
        with pytest.raises(CapacityTimeout, match="Nothing had capacity within max_pending"):
            airflow.run(training(max_pending=max_pending), ti)
        assert airflow.clock.time() - began < max_pending + 150
        assert airflow.jobs()[0]["status"] in {"Stopped", "Failed"}
        assert ti.xcoms["decision"]["verdict"] == "capacity"


def test_a_processing_job_that_waits_for_capacity_is_stopped_when_the_budget_ends() -> None:
    with airflow_and_sandbox({"capacity": {"ml.g5.xlarge": 0}}) as airflow:
        with pytest.raises(CapacityTimeout):
            airflow.run(processing(prefer=["ml.g5.xlarge"], max_pending=900))
        assert [job["status"] for job in airflow.jobs()] == ["Stopped"]


def test_a_cpu_job_without_capacity_is_submitted_again_until_there_is_some() -> None:
    scenario = {"capacity": {"ml.m5.xlarge": [0, {"after": "10m", "count": 1}]}}
    with airflow_and_sandbox(scenario) as airflow:
        result = airflow.run(training(prefer=CPU))
        assert result["decision"]["selected_instance_type"] == "ml.m5.xlarge"
        assert len(airflow.jobs()) > 1
        assert airflow.most_live() == 1
        assert result["decision"]["waves"][0]["verdict"] == "capacity"


@pytest.mark.parametrize("deferrable", [True, False])
@pytest.mark.parametrize("make", [training, processing])
def test_a_job_that_somebody_stopped_is_no_success(make: Any, deferrable: bool) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=600))) as airflow:
        operator, ti = make(deferrable=deferrable), TaskInstance()
        stop_when_running(airflow)
        with pytest.raises(JobStopped, match="Stopped"):
            airflow.run(operator, ti)


def test_stopped_is_a_success_only_where_the_author_says_so() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=600))) as airflow:
        stop_when_running(airflow)
        result = airflow.run(processing(stopped_is_success=True))
        assert result["Processing"]["ProcessingJobStatus"] == "Stopped"


def test_a_job_at_the_end_of_its_own_runtime_is_no_success() -> None:
    config = {**TRAINING, "StoppingCondition": {"MaxRuntimeInSeconds": 100}}
    with (
        airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=600))) as airflow,
        pytest.raises(LimitReached, match="MaxRuntime"),
    ):
        airflow.run(training(config=config))


def test_a_failed_script_fails_with_its_own_words() -> None:
    script = Script.fails("AlgorithmError: CapacityError: said the script, exit code: 1")
    with airflow_and_sandbox(runner=ScriptedRunner(default=script)) as airflow:
        operator = training()
        with pytest.raises(UserCodeError, match="said the script, exit code: 1"):
            airflow.run(operator)
        assert len(airflow.jobs()) == 1
        # What OpenLineage is told of a job that failed.
        assert operator.described["OutputDataConfig"]["S3OutputPath"] == "s3://bucket/models"


def test_max_ingestion_time_bounds_it_all_and_stops_the_job() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=9000))) as airflow:
        with pytest.raises(LimitReached):
            airflow.run(training(max_ingestion_time=1000))
        assert [job["status"] for job in airflow.jobs()] == ["Stopped"]


def test_max_attempts_is_a_time_not_a_number_of_looks() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=9000))) as airflow:
        began = airflow.clock.time()
        with pytest.raises(LimitReached):
            airflow.run(training(max_attempts=20, check_interval=30))
        assert 600 <= airflow.clock.time() - began < 900


def test_a_wait_of_many_hours_has_no_hidden_limit() -> None:
    scenario = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": [0, {"after": "40h", "count": 1}]}}
    with airflow_and_sandbox(scenario) as airflow:
        result = airflow.run(training(check_interval=600))
        assert result["decision"]["pending_seconds"] > 39 * 3600


def test_a_quota_of_zero_drops_the_entry_and_the_list_goes_on() -> None:
    with airflow_and_sandbox({"quotas": {"ml.p5.48xlarge for training job usage": 0}}) as airflow:
        result = airflow.run(training())
        assert result["decision"]["selected_instance_type"] == "ml.p4d.24xlarge"
        assert result["decision"]["preference_index"] == 1
        assert result["decision"]["waves"][0]["verdict"] == "quota_zero"


def test_quotas_of_zero_for_all_fail_naming_the_quota_and_nothing_is_described() -> None:
    quotas = {f"{name} for training job usage": 0 for name in LIST}
    with airflow_and_sandbox({"quotas": quotas}) as airflow:
        with pytest.raises(QuotaExceeded, match="for training job usage' is 0 Instances"):
            airflow.run(training())
        assert not airflow.calls("DescribeTrainingJob")


def test_what_aws_refuses_fails_at_once_and_is_not_retried() -> None:
    with airflow_and_sandbox() as airflow:
        config = {**TRAINING, "OutputDataConfig": {"S3OutputPath": "no-address"}}
        with pytest.raises(RequestRejected) as refused:
            airflow.run(training(config=config))
        assert isinstance(refused.value, AirflowFailException)


# -- when AWS doesn't answer well ----------------------------------------------------------------------------


@pytest.mark.parametrize("deferrable", [True, False])
def test_network_errors_throttling_and_server_errors_end_no_wait(deferrable: bool) -> None:
    faults = [
        {"operation": "DescribeTrainingJob", "error": error, "after": 2 + 10 * n, "times": 7}
        for n, error in enumerate(["drop", "ThrottlingException", "InternalFailure", "ExpiredTokenException"])
    ]
    with airflow_and_sandbox({**NOTHING_YET, "call_faults": faults}) as airflow:
        result = airflow.run(training(deferrable=deferrable))
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.jobs()) == 1


def test_a_create_whose_answer_is_lost_makes_one_job() -> None:
    faults = [{"operation": "CreateTrainingJob", "error": "drop", "takes_effect": True}]
    with airflow_and_sandbox({"call_faults": faults}) as airflow:
        assert airflow.run(training())["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.jobs()) == 1


def test_throttled_creates_are_tried_until_one_passes() -> None:
    faults = [{"operation": "CreateTrainingJob", "error": "ThrottlingException", "times": 24}]
    with airflow_and_sandbox({"call_faults": faults}) as airflow:
        assert airflow.run(training())["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.jobs()) == 1
        assert airflow.deferrals >= 2


def test_a_task_that_only_submits_waits_until_the_job_is_there() -> None:
    faults = [{"operation": "CreateTrainingJob", "error": "ThrottlingException", "times": 12}]
    with airflow_and_sandbox({**NOTHING, "call_faults": faults}) as airflow:
        result = airflow.run(training(wait_for_completion=False))
        assert result["Training"]["TrainingJobStatus"] == "InProgress"
        assert len(airflow.jobs()) == 1


def test_a_task_that_only_submits_still_ends_the_job_that_it_replaces() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)
        airflow.run(training(wait_for_completion=False), ti.cleared())
        assert airflow.most_live() == 1
        assert sorted(job["status"] for job in airflow.jobs()) == ["InProgress", "Stopped"]


def forgotten(airflow: Any) -> None:
    """Have AWS know of no job any more."""
    for account in airflow.server.sandbox.engine.accounts.values():
        account.jobs.clear()


def test_a_job_that_is_gone_while_it_ran_fails_the_task_as_lost() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=9000))) as airflow:
        begun = airflow.clock.time()
        once(airflow, lambda: airflow.clock.time() >= begun + 600, lambda: forgotten(airflow))
        with pytest.raises(JobLost):
            airflow.run(training())
        assert airflow.clock.time() < begun + 600 + 600 + 120, "it is looked for during ten minutes"


def test_a_job_that_is_gone_while_it_waits_is_looked_for_until_the_budget_ends() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        begun = airflow.clock.time()
        once(airflow, lambda: airflow.clock.time() >= begun + 600, lambda: forgotten(airflow))
        with pytest.raises(JobLost):
            airflow.run(training(max_pending=3600))
        assert 3600 <= airflow.clock.time() - begun < 3600 + 300


# -- reruns --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize("deferrable", [True, False])
def test_a_retry_adopts_the_job_of_a_worker_that_died(store: bool, deferrable: bool) -> None:
    with airflow_and_sandbox(NOTHING_YET, store=store) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)  # and then the worker dies, before the deferral is written down
        retry = ti.retried()
        result = airflow.run(training(deferrable=deferrable), retry)
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        (job,) = airflow.jobs()
        assert retry.xcoms[JOB_XCOM_KEY] == ti.xcoms[JOB_XCOM_KEY], "Airflow deletes what the try before has pushed"
        assert retry.xcoms[JOB_XCOM_KEY]["name"] == job["name"]


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_takes_the_result_of_a_job_that_completed_meanwhile(store: bool) -> None:
    with airflow_and_sandbox(store=store) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)
        airflow.server.sandbox.advance(3600)
        assert airflow.run(training(), ti.retried())["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.jobs()) == 1


@pytest.mark.parametrize("store", [True, False])
def test_a_clear_after_success_runs_a_new_job(store: bool) -> None:
    with airflow_and_sandbox(store=store) as airflow:
        ti = TaskInstance()
        airflow.run(training(), ti)
        second = airflow.run(training(), ti.cleared())
        assert second["decision"]["submissions"] == 2
        assert len(airflow.jobs()) == 2


@pytest.mark.parametrize("store", [True, False])
def test_a_clear_while_it_waits_stops_the_old_job_and_then_submits(store: bool) -> None:
    with airflow_and_sandbox(NOTHING_YET, store=store) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)
        result = airflow.run(training(), ti.cleared())
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert sorted(job["status"] for job in airflow.jobs()) == ["Completed", "Stopped"]
        assert airflow.most_live() == 1


def test_a_retry_after_the_job_failed_runs_a_new_one() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner({"*-1": Script.fails("AlgorithmError: , exit code: 1")})) as airflow:
        ti = TaskInstance()
        with pytest.raises(UserCodeError):
            airflow.run(training(), ti)
        assert airflow.run(training(), ti.retried())["decision"]["submissions"] == 2


def test_a_retry_with_another_image_stops_the_old_job_and_says_why(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        ti = TaskInstance()
        airflow.begin(training(), ti)
        config = {**TRAINING, "AlgorithmSpecification": {"TrainingImage": "trainer:2", "TrainingInputMode": "File"}}
        airflow.run(training(config=config), ti.retried())
        assert airflow.most_live() == 1
    assert "changed since: image" in capsys.readouterr().out


def test_a_run_made_anew_under_the_same_id_takes_the_next_name() -> None:
    with airflow_and_sandbox(store=False) as airflow:
        airflow.run(training(), TaskInstance())
        second = airflow.run(training(), TaskInstance())
        assert second["decision"]["submissions"] == 2


def test_mapped_tasks_have_a_job_each() -> None:
    with airflow_and_sandbox() as airflow:
        names = {airflow.run(training(), TaskInstance(map_index=n))["Training"]["TrainingJobName"] for n in range(5)}
        assert len(names) == 5


def test_action_fail_refuses_a_job_of_exactly_the_given_name() -> None:
    with airflow_and_sandbox() as airflow:
        client(airflow).create_training_job(
            **{**TRAINING, "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}}
        )
        with pytest.raises(JobExists, match="nightly"):
            airflow.run(training(action_if_job_exists="fail"))
        assert len(airflow.jobs()) == 1
        ti = TaskInstance(task_id="other")
        assert airflow.run(training(action_if_job_exists="fail", check_if_job_exists=False), ti)
        assert airflow.run(training(), TaskInstance(task_id="third"))


def test_a_worker_that_is_told_to_end_stops_its_job_and_creates_no_other() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        operator = training(deferrable=False, wait_for_completion=True)
        once(airflow, lambda: bool(airflow.calls("DescribeTrainingJob")), operator.on_kill)
        with pytest.raises(JobStopped):
            airflow.run(operator)
        late = training()
        late.on_kill()
        with pytest.raises(AirflowFailException, match="told to end"):
            airflow.run(late, TaskInstance(task_id="late"))
        assert len(airflow.jobs()) == 1


def test_a_job_that_is_created_while_its_worker_is_told_to_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    operator = training()
    create = JobsApi.create

    def slow(jobs: JobsApi, request: dict[str, Any]) -> str:
        arn = create(jobs, request)
        operator.on_kill()
        return arn

    monkeypatch.setattr(JobsApi, "create", slow)
    with airflow_and_sandbox(NOTHING) as airflow:
        with pytest.raises(AirflowFailException, match="was being created: AWS was asked to stop it"):
            airflow.run(operator)
        airflow.server.sandbox.advance(60)
        assert [job["status"] for job in airflow.jobs()] == ["Stopped"]


def test_a_worker_leaves_its_job_to_the_triggerer_if_the_task_sleeps() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        operator, ti = training(), TaskInstance()
        airflow.begin(operator, ti)
        with mock.patch.object(handover, "task_state", return_value="deferred") as asked:
            operator.on_kill()
        asked.assert_called_once_with(ti.dag_id, ti.run_id, ti.task_id, -1)
        assert not airflow.calls("StopTrainingJob")
        for state in ("failed", "running", None):
            with mock.patch.object(handover, "task_state", return_value=state):
                operator.on_kill()
        assert len(airflow.calls("StopTrainingJob")) == 3


def test_a_worker_that_hears_nothing_from_airflow_stops_its_job(monkeypatch: pytest.MonkeyPatch) -> None:
    silence = threading.Event()
    monkeypatch.setattr(handover, "_PATIENCE", 0.01)
    monkeypatch.setattr(handover, "task_state", lambda *_: silence.wait(30))
    with airflow_and_sandbox(NOTHING) as airflow:
        operator = training()
        airflow.begin(operator, TaskInstance())
        operator.on_kill()
        assert len(airflow.calls("StopTrainingJob")) == 1
    silence.set()


def test_a_job_that_was_submitted_without_waiting_is_not_stopped_by_the_worker() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        operator = training(wait_for_completion=False)
        airflow.run(operator)
        operator.on_kill()
        assert not airflow.calls("StopTrainingJob")


# -- lists ---------------------------------------------------------------------------------------------------


def test_rendered_counts_become_integers_before_they_are_sent() -> None:
    prefer = json.dumps(
        [
            {"InstanceType": "ml.p5.48xlarge", "InstanceCount": "2"},
            {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": "4"},
        ]
    )
    config = {
        **TRAINING,
        "ResourceConfig": {"VolumeSizeInGB": "30", "KeepAlivePeriodInSeconds": "60"},
        "StoppingCondition": {"MaxRuntimeInSeconds": "600", "MaxPendingTimeInSeconds": "7200"},
        "RetryStrategy": {"MaximumRetryAttempts": "3"},
    }
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        result = airflow.run(training(config=config, prefer=prefer))
        assert result["decision"]["selected_instance_count"] == 4


def test_a_count_for_each_preference_and_none_at_the_top_works_with_print_log() -> None:
    prefer = [{"InstanceType": name, "InstanceCount": 2} for name in LIST]
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        assert (
            airflow.run(training(prefer=prefer, print_log=True, deferrable=False))["decision"]["preference_index"] == 1
        )


def test_a_list_inside_the_config_works() -> None:
    config = {
        **TRAINING,
        "ResourceConfig": {"InstanceCount": 2, "InstancePreferences": [{"InstanceType": name} for name in LIST]},
    }
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        decision = airflow.run(training(config=config, prefer=None))["decision"]
        assert (decision["selected_instance_type"], decision["selected_instance_count"]) == ("ml.p4d.24xlarge", 2)


def test_spot_alone_goes_as_managed_spot_training() -> None:
    with airflow_and_sandbox() as airflow:
        result = airflow.run(training(prefer=[spot("ml.g5.xlarge", count=2)]))
        described = client(airflow).describe_training_job(TrainingJobName=result["Training"]["TrainingJobName"])
        assert described["EnableManagedSpotTraining"] is True
        assert described["ResourceConfig"]["InstanceType"] == "ml.g5.xlarge"
        assert described["StoppingCondition"]["MaxWaitTimeInSeconds"] >= 86400
        assert result["decision"]["capacity_kind"] == "spot"


def test_overrides_of_a_single_wave_reach_the_request() -> None:
    prefer = [on_demand("ml.p5.48xlarge", hyperparameters={"batch_size": 64}, environment={"MODE": "fast"})]
    with airflow_and_sandbox() as airflow:
        result = airflow.run(training(prefer=prefer))
        described = client(airflow).describe_training_job(TrainingJobName=result["Training"]["TrainingJobName"])
        assert described["HyperParameters"] == {"token": "hunter3", "batch_size": "64"}
        assert described["Environment"] == {"DB_PASSWORD": "hunter2", "MODE": "fast"}


def test_native_false_sends_the_single_type_as_such() -> None:
    with airflow_and_sandbox() as airflow:
        result = airflow.run(training(prefer=["ml.p5.48xlarge"], native=False))
        assert result["Training"]["ResourceConfig"]["InstanceType"] == "ml.p5.48xlarge"


def test_a_rendered_list_that_is_none_fails_without_a_call_and_without_a_retry() -> None:
    with airflow_and_sandbox() as airflow:
        operator = training()
        operator.prefer = "{'a': 1}"
        with pytest.raises(AirflowFailException, match="prefer has to be a list"):
            airflow.run(operator)
        assert not airflow.control.record("call")


def test_start_by_ends_the_wait_at_the_next_such_time() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        with pytest.raises(CapacityTimeout, match="by start_by"):
            airflow.run(training(start_by="09:00", check_interval=60))
        assert airflow.clock.time() % 86400 == pytest.approx(9 * 3600, abs=300)


# -- helpers -------------------------------------------------------------------------------------------------


def once(airflow: Any, ready: Callable[[], bool], action: Callable[[], object]) -> None:
    """Do something once: at the first sleep of the product at which the sandbox is as far as that."""
    sandbox, done = airflow.server.sandbox, []
    advance = sandbox.advance

    def watched(seconds: float) -> None:
        advance(seconds)
        if not done and ready():
            done.append(True)
            action()

    sandbox.advance = watched


def after_running(airflow: Any, action: Callable[[], object]) -> None:
    once(airflow, lambda: any(job["instance_type"] for job in airflow.jobs()), action)


def stop_first(airflow: Any) -> None:
    job = airflow.jobs()[0]
    stop = getattr(client(airflow), f"stop_{job['kind']}_job")
    stop(**{f"{job['kind'].capitalize()}JobName": job["name"]})


def stop_when_running(airflow: Any) -> None:
    after_running(airflow, lambda: stop_first(airflow))


def test_a_deferral_is_what_begin_returns() -> None:
    with airflow_and_sandbox(NOTHING) as airflow:
        assert isinstance(airflow.begin(training(), TaskInstance()), TaskDeferred)
