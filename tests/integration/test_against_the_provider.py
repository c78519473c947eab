"""What goes wrong with the Amazon provider's SageMaker operators, and does not with ours.

Each was shown by running those operators or reading them; what ``test_operators`` has already isn't here again. In
brackets is what happens there.
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from datetime import UTC, datetime, timedelta
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from airflow.providers.common.compat.sdk import TaskDeferred

from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.errors import CapacityTimeout, JobFailed, JobStopped, LimitReached, RequestRejected
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.links import JOB_XCOM_KEY
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from airflow_sm_prefer.triggers import kill
from airflow_sm_prefer.triggers.connection import Connection

from .harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox, client, rebuilt
from .test_operators import LIST, NOTHING, NOTHING_YET, once, processing, stop_first, training

BOTH = pytest.mark.parametrize("make", [training, processing])
BOTH_WAYS = pytest.mark.parametrize("deferrable", [True, False])
NO_CPU = {"capacity": {**NOTHING["capacity"], "ml.m5.xlarge": 0}}


# -- the request ---------------------------------------------------------------------------------------------


def test_rendered_numbers_of_a_processing_request_become_integers() -> None:
    """[Only the count, the volume and the runtime at the top do.]"""
    cluster = {
        "VolumeSizeInGB": "30",
        "InstancePreferences": [{"InstanceType": "ml.m5.xlarge", "InstanceCount": "2"}],
    }
    config = {
        **PROCESSING,
        "ProcessingResources": {"ClusterConfig": cluster},
        "StoppingCondition": {"MaxRuntimeInSeconds": "600"},
    }
    with airflow_and_sandbox() as airflow:
        result = airflow.run(processing(config=config, prefer=None))
        assert result["decision"]["selected_instance_count"] == 2


@pytest.mark.parametrize("print_log", [True, False])
@BOTH_WAYS
def test_no_count_at_the_top_is_needed_after_the_job_was_created(deferrable: bool, print_log: bool) -> None:
    """[KeyError: the job runs on unwatched, or is told as failed once it has completed.]"""
    prefer = [{"InstanceType": name, "InstanceCount": n} for n, name in enumerate(LIST, start=1)]
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        result = airflow.run(training(prefer=prefer, deferrable=deferrable, print_log=print_log))
        assert "InstanceCount" not in result["Training"]["ResourceConfig"]
        assert result["decision"]["selected_instance_count"] == 2
        assert len(airflow.jobs()) == 1


def test_names_that_are_long_and_alike_are_cut_and_kept_apart() -> None:
    """[70 characters with underscores are sent as they are, and mapped tasks race for the name.]"""
    config = {**TRAINING, "TrainingJobName": "a_model_of_" * 7}
    with airflow_and_sandbox(NOTHING, store=False) as airflow:
        for n in range(3):
            airflow.begin(training(config=config), TaskInstance(map_index=n))
        names = {job["name"] for job in airflow.jobs()}
        assert len(names) == 3
        assert all(len(name) <= 63 and name.startswith("a-model-of-a-model-of") for name in names)
        # Kept apart by what they are, not by the number that follows a name in use.
        assert all(name.endswith("-1") for name in names)


def test_what_aws_refuses_keeps_its_code_and_words() -> None:
    """[Every error of a submission becomes the text of an AirflowException.]"""
    with airflow_and_sandbox() as airflow:
        config = {**TRAINING, "OutputDataConfig": {"S3OutputPath": "no-address"}}
        with pytest.raises(RequestRejected, match=r"^ValidationException: .*s3OutputPath") as no:
            airflow.run(training(config=config))
        assert "hunter2" not in str(no.value)


def test_the_jobs_data_is_not_looked_at_with_airflows_own_role() -> None:
    """[HEAD and LIST for every channel, which fail for users who may only pass roles.]"""
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://not-for-airflow/train"}}
    config = {**TRAINING, "InputDataConfig": [{"ChannelName": "train", "DataSource": source}]}
    wanted = []
    made = SageMakerPreferHook.client_for

    def client_for(hook: SageMakerPreferHook, service: str) -> Any:
        wanted.append(service)
        return made(hook, service)

    with airflow_and_sandbox() as airflow, mock.patch.object(SageMakerPreferHook, "client_for", client_for):
        assert airflow.run(training(config=config))["Training"]["TrainingJobStatus"] == "Completed"
    assert "s3" not in wanted


# -- waiting -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("max_attempts", [None, 0])
@BOTH_WAYS
def test_no_number_of_looks_is_a_limit_that_nobody_set(max_attempts: int | None, deferrable: bool) -> None:
    """[None and 0 both mean sixty looks: half an hour.]"""
    scenario = {"capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": [0, {"after": "50m", "count": 1}]}}
    with airflow_and_sandbox(scenario) as airflow:
        result = airflow.run(training(max_attempts=max_attempts, deferrable=deferrable))
        assert result["decision"]["pending_seconds"] > 45 * 60


@BOTH_WAYS
def test_max_attempts_means_the_same_in_both_ways_of_waiting(deferrable: bool) -> None:
    """[Looks when deferred, a back-off over two days when not.]"""
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=9000))) as airflow:
        began = airflow.clock.time()
        with pytest.raises(LimitReached, match="max_attempts"):
            airflow.run(training(max_attempts=20, check_interval=30, deferrable=deferrable))
        assert 600 <= airflow.clock.time() - began < 900
        assert [job["status"] for job in airflow.jobs()] == ["Stopped"]


def test_the_authors_execution_timeout_bounds_the_deferral() -> None:
    """[The same there; Airflow alone doesn't apply it while a task is deferred.]"""
    with airflow_and_sandbox(NOTHING) as airflow:
        deferred = airflow.begin(training(execution_timeout=timedelta(hours=3)), TaskInstance())
        assert deferred.timeout == timedelta(hours=3)


def test_a_job_that_completed_while_no_triggerer_ran_is_a_success_past_the_deadline() -> None:
    """[A timeout reaches the task as an exception, and what became of the job is lost.]"""
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        operator, ti = training(max_pending=3600, max_ingestion_time=7200), TaskInstance()
        deferred = airflow.begin(operator, ti)
        airflow.server.sandbox.advance(3 * 3600)
        result = airflow.finish(operator, ti, deferred)
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert not airflow.calls("StopTrainingJob")


def test_a_description_that_lacks_what_aws_need_not_send_ends_no_wait() -> None:
    """[KeyError for a transition without a message or a job without a modification time.]"""
    describe = JobsApi.describe

    def bare(jobs: JobsApi, name: str) -> dict[str, Any]:
        described = describe(jobs, name)
        for key in ("LastModifiedTime", "ResourceConfig", "StoppingCondition", "BillableTimeInSeconds"):
            described.pop(key, None)
        described["SecondaryStatusTransitions"] = [
            {"Status": passed["Status"]} for passed in described.get("SecondaryStatusTransitions", ())
        ]
        return described

    with airflow_and_sandbox(NOTHING_YET) as airflow, mock.patch.object(JobsApi, "describe", bare):
        result = airflow.run(training())
        assert result["decision"]["verdict"] == "succeeded"
        assert result["decision"]["selected_instance_type"] is None


@BOTH_WAYS
def test_the_log_goes_on_after_the_deferral_and_on_every_host(
    deferrable: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """[One read before the deferral and none after it; more than fifty hosts are refused.]"""
    with airflow_and_sandbox(NOTHING_YET, runner=ScriptedRunner(default=Script(seconds=600))) as airflow:
        operator, ti = training(deferrable=deferrable), TaskInstance()
        write_logs_when_running(airflow, hosts=55)
        airflow.run(operator, ti)
    said = capsys.readouterr().out
    assert [said.count(f"[algo-{host}] hello from {host} ") for host in range(1, 56)] == [1] * 55


# -- the end -------------------------------------------------------------------------------------------------


@BOTH
@BOTH_WAYS
@pytest.mark.parametrize("print_log", [True, False])
def test_a_job_that_was_stopped_before_it_began_is_no_success(make: Any, deferrable: bool, print_log: bool) -> None:
    """[Success without the log, KeyError with it, or KeyError for the reason that a stopped job hasn't.]"""
    with airflow_and_sandbox(NO_CPU) as airflow:
        operator, ti = make(deferrable=deferrable, print_log=print_log), TaskInstance()
        stop_once_seen(airflow)
        with pytest.raises(JobStopped, match="Stopped"):
            airflow.run(operator, ti)


def test_a_shortage_is_an_exception_of_its_own_in_few_words() -> None:
    """[An AirflowException with the whole event as its text.]"""
    with airflow_and_sandbox(NOTHING) as airflow, pytest.raises(CapacityTimeout) as none:
        airflow.run(training(max_pending=3600))
    text = str(none.value)
    assert "Nothing had capacity" in text
    assert "ml.p5.48xlarge" in text
    assert "1 h" in text
    assert len(text) < 500


def test_without_waiting_the_task_links_to_its_job_all_the_same() -> None:
    """[No link, and a warning that deferrable does nothing.]"""
    with airflow_and_sandbox(NOTHING) as airflow:
        ti = TaskInstance()
        airflow.run(training(wait_for_completion=False), ti)
        assert airflow.jobs()[0]["name"] in json.dumps(ti.xcoms[JOB_XCOM_KEY])


@pytest.mark.parametrize("script", [Script.fails("AlgorithmError: , exit code: 1"), Script(seconds=9000)])
def test_lineage_is_told_of_a_job_that_came_to_no_good_end(script: Script, monkeypatch: pytest.MonkeyPatch) -> None:
    """[Only of one that completed.]"""
    extractors = ModuleType("airflow.providers.openlineage.extractors")
    extractors.OperatorLineage = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage", ModuleType("airflow.providers.openlineage"))
    monkeypatch.setitem(sys.modules, "airflow.providers.openlineage.extractors", extractors)
    monkeypatch.setattr("airflow.providers.common.compat.openlineage.facet.Dataset", SimpleNamespace)
    source = {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": "s3://lake/train"}}
    config = {**TRAINING, "InputDataConfig": [{"ChannelName": "train", "DataSource": source}]}
    with airflow_and_sandbox(runner=ScriptedRunner(default=script)) as airflow:
        operator = training(config=config, max_ingestion_time=1000)
        with pytest.raises(JobFailed):
            airflow.run(operator)
        (source_read,) = operator.get_openlineage_facets_on_failure(None).inputs
        assert (source_read.namespace, source_read.name) == ("s3://lake", "train")


# -- ending it, and doing it again ---------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("state", ["failed", "success", None])
def test_a_person_who_ends_the_task_ends_its_job(make: Any, state: str | None) -> None:
    """[Nothing stops it: neither operators nor triggers have an on_kill, and no stop is called anywhere.]"""
    with airflow_and_sandbox(NO_CPU) as airflow:
        deferred = airflow.begin(make(), TaskInstance())
        kill_trigger(deferred, state)
        airflow.server.sandbox.advance(60)
        assert [job["status"] for job in airflow.jobs()] == ["Stopped"]


def test_a_task_that_somebody_else_watches_keeps_its_job() -> None:
    """[There is nothing that could do harm here either.]"""
    with airflow_and_sandbox(NO_CPU) as airflow:
        deferred = airflow.begin(training(), TaskInstance())
        kill_trigger(deferred, "deferred")
        airflow.server.sandbox.advance(60)
        assert [job["status"] for job in airflow.jobs()] == ["InProgress"]


def test_on_kill_before_there_is_a_job_does_nothing() -> None:
    """[A ParamValidationError for a job that is None.]"""
    with airflow_and_sandbox() as airflow:
        training().on_kill()
        assert not airflow.calls("StopTrainingJob")


@pytest.mark.parametrize("action", ["timestamp", "fail"])
def test_a_retry_goes_on_with_the_first_tries_job_whatever_action_if_job_exists_says(action: str) -> None:
    """[``timestamp`` makes a second job beside the first, with ``fail`` every retry fails.]"""
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        ti = TaskInstance()
        airflow.begin(training(action_if_job_exists=action), ti)
        result = airflow.run(training(action_if_job_exists=action), ti.retried())
        assert result["Training"]["TrainingJobStatus"] == "Completed"
        assert len(airflow.jobs()) == 1


# -- the connection ------------------------------------------------------------------------------------------


def test_a_role_that_the_connection_assumes_is_assumed_in_the_trigger_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """[Logs and S3 get the connection's name alone, without region and verification.]"""
    with airflow_and_sandbox(NOTHING_YET) as airflow:
        connection = {
            "conn_type": "aws",
            "login": "test",
            "password": "test",
            "extra": {
                "endpoint_url": airflow.server.endpoint_url,
                "service_config": {"sts": {"endpoint_url": airflow.server.endpoint_url}},
                "region_name": "eu-west-1",
                "role_arn": "arn:aws:iam::210987654321:role/trainer",
            },
        }
        monkeypatch.setenv("AIRFLOW_CONN_OTHER_ACCOUNT", json.dumps(connection))
        began = airflow.clock.time()
        result = airflow.run(training(aws_conn_id="other_account"))
        assert result["Training"]["TrainingJobArn"].startswith("arn:aws:sagemaker:eu-west-1:210987654321:training-job/")
        # The trigger saw it end, and did not look for it in another account until the budget was over.
        assert airflow.clock.time() - began < 2 * 3600
        assert not client(airflow).list_training_jobs()["TrainingJobSummaries"]


def test_many_triggers_of_a_connection_build_one_client() -> None:
    """[One each, of up to 18 MB.]"""
    built = []
    hook = Connection.hook

    def counted(connection: Connection, *args: Any) -> Any:
        built.append(connection)
        return hook(connection, *args)

    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=0.0))) as airflow:
        waiting = [airflow.begin(training(), TaskInstance(map_index=n)) for n in range(10)]
        airflow.server.sandbox.advance(600)

        async def fire(deferred: TaskDeferred) -> None:
            async for _ in rebuilt(deferred.trigger).run():
                pass

        async def all_of_them() -> None:
            await asyncio.gather(*map(fire, waiting))

        with mock.patch.object(Connection, "hook", counted):
            asyncio.run(all_of_them())
    assert len(built) == 1


# -- helpers -------------------------------------------------------------------------------------------------


def kill_trigger(deferred: TaskDeferred, state: str | None) -> None:
    """Call ``on_kill`` as a triggerer does, with the task in a state, and wait for what it set going."""
    trigger = rebuilt(deferred.trigger)
    trigger.task_instance = TaskInstance()
    with mock.patch.object(kill, "task_state", return_value=state):
        asyncio.run(trigger.on_kill())
        for thread in threading.enumerate():
            if thread.name == "sm-prefer-kill":
                thread.join(30)


def stop_once_seen(airflow: Airflow) -> None:
    def seen() -> bool:
        return bool(airflow.calls("DescribeTrainingJob") or airflow.calls("DescribeProcessingJob"))

    once(airflow, seen, lambda: stop_first(airflow))


def write_logs_when_running(airflow: Airflow, *, hosts: int) -> None:
    logs, group = client(airflow, "logs"), "/aws/sagemaker/TrainingJobs"

    def write() -> None:
        name = airflow.jobs()[0]["name"]
        logs.create_log_group(logGroupName=group)
        now = int(datetime.now(UTC).timestamp() * 1000)
        for host in range(1, hosts + 1):
            stream = {"logGroupName": group, "logStreamName": f"{name}/algo-{host}-1"}
            logs.create_log_stream(**stream)
            logs.put_log_events(**stream, logEvents=[{"timestamp": now, "message": f"hello from {host}"}])

    once(airflow, lambda: bool(airflow.jobs() and airflow.jobs()[0]["instance_type"]), write)
