"""Reconcile against the sandbox, with the states from the Task SDK and from the REST API."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import pytest
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance

from airflow_sm_prefer import SageMakerPreferProcessingOperator, SageMakerPreferTrainingOperator
from airflow_sm_prefer.aws.failures import CallFailed, CallFailure, FailureKind
from airflow_sm_prefer.aws.jobs import JobsApi
from airflow_sm_prefer.aws.reconcile import Reconciler
from airflow_sm_prefer.errors import InvalidSetting, TaskStatesUnavailable
from airflow_sm_prefer.hooks.airflow_rest import Login, RestTaskStates
from airflow_sm_prefer.hooks.airflow_state import SdkTaskStates
from airflow_sm_prefer.hooks.reconcile import reconciler
from airflow_sm_prefer.hooks.sagemaker import SageMakerPreferHook
from airflow_sm_prefer.model.job import JobKind
from airflow_sm_prefer.operators.failures import InvalidTask
from airflow_sm_prefer.operators.reconcile import SageMakerReconcileOperator
from airflow_sm_prefer.placement.findings import Done, Report
from airflow_sm_prefer.placement.naming import TaskIdentity, job_name
from airflow_sm_prefer.placement.ownership import Ownership
from airflow_sm_prefer.placement.reconcile import MISSING_TAG
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner
from tests.unit.hooks.fake_airflow import FakeAirflow, serving

from .harness import PROCESSING, TRAINING, Airflow, TaskInstance, airflow_and_sandbox, client

LIST = ["ml.p5.48xlarge", "ml.p4d.24xlarge"]
NOTHING = {"capacity": dict.fromkeys(LIST, 0)}
TEN_MINUTES = 600.0


class Stage:
    """An Airflow of which only the task instances' states are there, and a sandbox."""

    def __init__(self, airflow: Airflow, fake: FakeAirflow, source: str) -> None:
        self.airflow, self.fake = airflow, fake
        self.states: Any = SdkTaskStates() if source == "sdk" else RestTaskStates(fake.url, Login("opens-it"))

    def submit(self, ti: TaskInstance | None = None, state: str | None = "deferred", **arguments: Any) -> TaskInstance:
        """Begin a try that submits a job, and have Airflow say what state its task is in."""
        ti = ti or TaskInstance()
        operator = SageMakerPreferTrainingOperator(
            **{"task_id": ti.task_id, "config": TRAINING, "prefer": LIST, **arguments}
        )
        self.airflow.begin(operator, ti)
        self.put(ti, state)
        return ti

    def put(self, ti: TaskInstance, state: str | None) -> None:
        self.fake.states[ti.dag_id, ti.run_id, ti.task_id, ti.map_index] = state

    def remove(self, ti: TaskInstance) -> None:
        del self.fake.states[ti.dag_id, ti.run_id, ti.task_id, ti.map_index]

    def reconciler(self, *, stop: bool = True, **changes: Any) -> Reconciler:
        hook = SageMakerPreferHook(aws_conn_id="aws_default", clock=self.airflow.clock)
        return reconciler(hook, self.states, clock=self.airflow.clock, stop=stop, **changes)

    def run(self, *, stop: bool = True) -> Report:
        return self.reconciler(stop=stop).run()

    def done(self, *, stop: bool = True) -> list[str]:
        """Run it, and return what came of each job in the order of submission."""
        return [finding.done.value for finding in reversed(self.run(stop=stop).findings)]

    def stops(self) -> list[dict[str, Any]]:
        return [*self.airflow.calls("StopTrainingJob"), *self.airflow.calls("StopProcessingJob")]

    def live(self) -> list[str]:
        return [job["name"] for job in self.airflow.jobs() if job["status"] == "InProgress"]


#: For what depends on how Airflow is asked; everything else asks the REST API.
BOTH_WAYS = pytest.mark.parametrize("stage", ["sdk", "rest"], indirect=True)


@pytest.fixture
def stage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    fake = FakeAirflow()
    runner = ScriptedRunner({"prepare-*": Script(seconds=1e6)})
    monkeypatch.setattr(RuntimeTaskInstance, "get_task_states", fake.get_task_states)
    with serving(fake), airflow_and_sandbox(NOTHING, store=False, runner=runner) as airflow:
        yield Stage(airflow, fake, getattr(request, "param", "rest"))


# -- tasks that are over -------------------------------------------------------------------------------------


@BOTH_WAYS
@pytest.mark.parametrize("state", ["failed", "success", "skipped", "removed"])
def test_a_job_is_stopped_whose_task_ended_while_no_triggerer_lived(stage: Stage, state: str) -> None:
    stage.submit(state=state)
    report = stage.run()
    assert [finding.done for finding in report.findings] == [Done.STOPPED]
    assert report.is_settled
    assert stage.live() == []
    assert stage.run().findings == ()


@pytest.mark.parametrize("state", ["running", "deferred", "queued", "scheduled", "up_for_retry", "restarting", None])
def test_a_job_whose_task_goes_on_is_left_alone(stage: Stage, state: str | None) -> None:
    stage.submit(state=state)
    assert stage.done() == ["kept"]
    assert stage.stops() == []


def test_a_processing_job_is_found_too(stage: Stage) -> None:
    ti = TaskInstance(task_id="prep")
    operator = SageMakerPreferProcessingOperator(task_id="prep", config=PROCESSING, prefer=["ml.m5.xlarge"])
    stage.airflow.begin(operator, ti)
    stage.put(ti, "failed")
    assert stage.done() == ["stopped"]


def test_without_being_told_to_stop_it_only_looks(stage: Stage) -> None:
    stage.submit(state="failed")
    gone = stage.submit(TaskInstance(task_id="gone"))
    stage.remove(gone)
    before = len(stage.airflow.control.record("call"))
    report = stage.run(stop=False)
    assert sorted(finding.done for finding in report.findings) == [Done.WOULD_NOTE, Done.WOULD_STOP]
    assert not report.is_settled
    asked = {entry["operation"] for entry in stage.airflow.control.record("call")[before:]}
    assert asked == {"ListTrainingJobs", "ListProcessingJobs", "ListTags", "DescribeJobQueues"}


def test_a_job_that_was_submitted_without_waiting_is_nobodys_to_stop(stage: Stage) -> None:
    stage.submit(state="success", wait_for_completion=False)
    gone = stage.submit(TaskInstance(task_id="gone"), wait_for_completion=False)
    stage.remove(gone)
    for _ in range(3):
        assert stage.done() == ["kept", "kept"]
        stage.airflow.clock.sleep(TEN_MINUTES)
    assert stage.stops() == []


@BOTH_WAYS
def test_mapped_tasks_are_told_apart_by_their_index(stage: Stage) -> None:
    for index, state in enumerate(["failed", "deferred", "success", "running"]):
        stage.submit(TaskInstance(map_index=index), state=state)
    assert stage.done() == ["stopped", "kept", "stopped", "kept"]


# -- tasks that are missing ----------------------------------------------------------------------------------


@BOTH_WAYS
def test_jobs_of_a_database_that_is_gone_are_stopped_at_the_second_look(stage: Stage) -> None:
    stage.submit()
    stage.fake.states.clear()
    assert stage.done() == ["noted"]
    stage.airflow.clock.sleep(TEN_MINUTES / 2)
    assert stage.done() == ["noted"]
    assert stage.stops() == []
    stage.airflow.clock.sleep(TEN_MINUTES / 2)
    assert stage.done() == ["stopped"]


def test_a_task_that_came_back_between_two_looks_has_its_job(stage: Stage) -> None:
    ti = stage.submit()
    stage.remove(ti)
    assert stage.done() == ["noted"]
    stage.airflow.clock.sleep(TEN_MINUTES)
    stage.put(ti, "deferred")
    assert stage.done() == ["kept"]
    stage.airflow.clock.sleep(TEN_MINUTES)
    stage.remove(ti)
    assert stage.done() == ["noted"], "the first look counts no more"


def test_looks_that_may_not_stop_anything_note_nothing(stage: Stage) -> None:
    ti = stage.submit()
    stage.remove(ti)
    assert stage.done(stop=False) == ["would_note"]
    stage.airflow.clock.sleep(TEN_MINUTES)
    assert stage.done(stop=True) == ["noted"]


def test_a_note_that_aws_doesnt_take_is_told_and_nothing_is_stopped(stage: Stage) -> None:
    ti = stage.submit()
    stage.remove(ti)
    fault = {"operation": "AddTags", "error": "AccessDeniedException", "times": 9}
    stage.airflow.control.change(call_faults=[fault])
    report = stage.run()
    assert report.findings[0].done is Done.FAILED
    assert "could not be noted: AddTags: AccessDeniedException" in report.findings[0].text
    assert not report.is_settled


# -- runs that begin anew ------------------------------------------------------------------------------------


def test_a_run_made_again_under_its_id_keeps_its_own_job_and_loses_the_old_one(stage: Stage) -> None:
    stage.submit(TaskInstance())
    old = stage.live()
    stage.submit(TaskInstance())  # another ti.id: nothing of the old run is known
    assert len(stage.live()) == 2
    report = stage.run()
    assert {finding.job.name: finding.done for finding in report.findings}[old[0]] is Done.STOPPED
    assert len(stage.live()) == 1
    assert stage.done() == ["kept"]


def test_a_retry_that_took_up_the_job_of_an_earlier_try_keeps_it(stage: Stage) -> None:
    first = stage.submit(TaskInstance(max_tries=1))
    stage.put(first, "up_for_retry")
    assert stage.done() == ["kept"]
    stage.submit(first.retried())
    assert stage.done() == ["kept"]
    assert len(stage.live()) == 1


@BOTH_WAYS
def test_a_clear_between_look_and_stop_keeps_the_job_for_the_next_try(stage: Stage) -> None:
    ti = stage.submit(state="failed")
    questions = iter(range(99))

    def cleared_meanwhile() -> None:
        if next(questions) == 1:
            stage.put(ti, None)

    stage.fake.before = cleared_meanwhile
    assert stage.done() == ["kept"]
    assert stage.stops() == []


def test_a_job_that_ends_between_look_and_stop_is_no_harm(stage: Stage) -> None:
    stage.submit(state="failed")
    questions = iter(range(99))

    def stopped_meanwhile() -> None:
        if next(questions) == 1:
            client(stage.airflow).stop_training_job(TrainingJobName=stage.live()[0])

    stage.fake.before = stopped_meanwhile
    report = stage.run()
    assert report.is_settled
    assert report.findings[0].done in {Done.OVER, Done.STOPPED}


@BOTH_WAYS
def test_an_airflow_that_goes_away_in_the_middle_stops_nothing_more(stage: Stage) -> None:
    for index in range(3):
        stage.submit(TaskInstance(map_index=index), state="failed")
    questions = iter(range(99))

    def leaves() -> None:
        if next(questions) == 2:
            stage.fake.refuses = 503
            raise RuntimeError("gone")

    stage.fake.before = leaves
    assert sorted(stage.done()) == ["failed", "failed", "stopped"]
    assert len(stage.live()) == 2


# -- what can't be asked ------------------------------------------------------------------------------------


@BOTH_WAYS
@pytest.mark.parametrize("status", [401, 403, 404, 500])
def test_an_airflow_that_cant_be_asked_stops_nothing(stage: Stage, status: int) -> None:
    stage.submit(state="failed")
    stage.fake.refuses = status
    with pytest.raises(TaskStatesUnavailable):
        stage.run()
    assert stage.stops() == []
    assert stage.airflow.calls("AddTags") == []


@pytest.mark.parametrize("operation", ["ListTrainingJobs", "ListTags"])
def test_an_aws_that_cant_be_asked_stops_nothing(stage: Stage, operation: str) -> None:
    stage.submit(state="failed")
    fault = {"operation": operation, "error": "AccessDeniedException", "times": 9}
    stage.airflow.control.change(call_faults=[fault])
    with pytest.raises(CallFailed, match=operation):
        stage.run()
    assert stage.stops() == []


def test_an_aws_that_is_busy_for_a_while_is_waited_for(stage: Stage) -> None:
    stage.submit(state="failed")
    busy = {"error": "ThrottlingException", "times": 4}
    faults = [{"operation": name, **busy} for name in ("ListTrainingJobs", "ListTags", "StopTrainingJob")]
    stage.airflow.control.change(call_faults=faults)
    assert stage.done() == ["stopped"]


def test_a_stop_that_is_refused_is_told(stage: Stage) -> None:
    stage.submit(state="failed")
    fault = {"operation": "StopTrainingJob", "error": "AccessDeniedException", "times": 9}
    stage.airflow.control.change(call_faults=[fault])
    report = stage.run()
    assert report.findings[0].done is Done.FAILED
    assert "not stopped: StopTrainingJob: AccessDeniedException" in report.findings[0].text


def test_a_job_whose_tags_are_gone_is_kept_and_told(stage: Stage) -> None:
    stage.submit(state="failed")
    job = client(stage.airflow).describe_training_job(TrainingJobName=stage.live()[0])
    client(stage.airflow).delete_tags(ResourceArn=job["TrainingJobArn"], TagKeys=["sm-prefer:try"])
    report = stage.run()
    assert [finding.done for finding in report.findings] == [Done.LOOK]
    assert not report.is_settled


def test_a_job_that_is_gone_before_its_tags_are_read_is_no_finding(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.submit(state="failed")

    def gone(*_: Any) -> Any:
        raise CallFailed(CallFailure(FailureKind.NOT_FOUND, "ValidationException", "gone", "ListTags"))

    monkeypatch.setattr(JobsApi, "tags", gone)
    assert stage.run().findings == ()


# -- others in the account -----------------------------------------------------------------------------------


def test_two_airflows_in_one_account_see_their_own_jobs_only(stage: Stage) -> None:
    stage.submit(state="failed")
    with mock.patch.dict("os.environ", {"AIRFLOW__SM_PREFER__DEPLOYMENT": "another"}):
        stage.submit(state="failed")
        other = stage.run(stop=False)
    ours = stage.run()
    assert len(other.findings) == len(ours.findings) == 1
    assert other.findings[0].job.name != ours.findings[0].job.name
    assert stage.live() == [other.findings[0].job.name]


def test_jobs_of_nobody_of_ours_are_not_looked_at(stage: Stage) -> None:
    request = {
        **TRAINING,
        "ResourceConfig": {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
    }
    stage.submit()
    mine = stage.live()[0]
    for name in ("theirs", mine.replace("-1", ""), f"{mine}-x"):
        stage.airflow.clock.sleep(5)  # for AWS's limit of calls
        client(stage.airflow).create_training_job(**{**request, "TrainingJobName": name[:63]})
    assert stage.done() == ["kept"]
    assert len(stage.airflow.calls("ListTags")) == 1


def test_a_name_like_ours_with_the_tags_of_another_airflow_is_only_counted(stage: Stage) -> None:
    stage.submit(state="failed")
    job = client(stage.airflow).describe_training_job(TrainingJobName=stage.live()[0])
    tag = {"Key": "sm-prefer:deployment", "Value": "another"}
    client(stage.airflow).add_tags(ResourceArn=job["TrainingJobArn"], Tags=[tag])
    report = stage.run()
    assert (report.findings, report.foreign) == ((), 1)


# -- twice, and many ----------------------------------------------------------------------------------------


def test_two_runs_at_once_do_what_one_does(stage: Stage) -> None:
    for index in range(4):
        stage.submit(TaskInstance(map_index=index), state=["failed", "deferred"][index % 2])
    gone = stage.submit(TaskInstance(task_id="gone"))
    stage.remove(gone)
    reports: list[Report] = []
    runs = [threading.Thread(target=lambda: reports.append(stage.run())) for _ in range(2)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(reports) == 2
    outcomes = {finding.done for report in reports for finding in report.findings}
    assert outcomes <= {Done.STOPPED, Done.OVER, Done.KEPT, Done.NOTED}
    assert len(stage.live()) == 3


def submit_many(stage: Stage, number: int, failed: set[int]) -> None:
    """Create the jobs of that many mapped task instances, some of which are over, without an operator for each."""
    resources = {"InstanceType": "ml.p5.48xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}
    jobs = SageMakerPreferHook(aws_conn_id="aws_default", clock=stage.airflow.clock).jobs(JobKind.TRAINING)
    for index in range(number):
        ti = TaskInstance(map_index=index)
        task = TaskIdentity("tests", ti.dag_id, ti.run_id, ti.task_id, index)
        owner = Ownership(Ownership.task_tag(task), "tests", ti.id, 0, "", 1, stage.airflow.clock.time())
        sent = {"TrainingJobName": job_name(task, "many", 1), "ResourceConfig": resources, "Tags": owner.to_tags()}
        jobs.create({**TRAINING, **sent})
        stage.put(ti, "failed" if index in failed else "deferred")


def test_three_hundred_jobs_are_found_and_the_accounts_limits_kept(stage: Stage) -> None:
    submit_many(stage, 300, {7, 107, 207})
    refused = [entry for entry in stage.airflow.control.record("call") if entry.get("code") == "ThrottlingException"]
    before = stage.airflow.clock.time()
    report = stage.run()
    assert report.counts() == {"kept": 297, "stopped": 3}
    assert len(stage.airflow.calls("ListTrainingJobs")) == 6  # three pages of those that run, three of recent ones
    throttled = [entry for entry in stage.airflow.control.record("call") if entry.get("code") == "ThrottlingException"]
    assert throttled == refused
    assert stage.airflow.clock.time() - before < 120


# -- tasks that sleep on ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("after", "state", "overdue"),
    [(60, "deferred", 0), (1800, "deferred", 1), (1800, "running", 0), (1800, "success", 0), (86400, "deferred", 0)],
)
def test_a_task_that_sleeps_past_its_jobs_end_is_told(stage: Stage, after: float, state: str, overdue: int) -> None:
    stage.submit(prefer=["ml.m5.large"])
    stage.airflow.server.sandbox.advance(60)
    stage.airflow.clock.sleep(after)
    assert stage.live() == []
    stage.put(TaskInstance(), state)
    report = stage.run(stop=False)
    assert len(report.sleepers) == overdue
    assert report.is_settled is not bool(overdue)
    if overdue:
        assert "ended as Completed" in str(report.sleepers[0])


def test_a_task_that_waits_for_no_job_is_not_asked_about(stage: Stage) -> None:
    stage.submit(prefer=["ml.m5.large"], wait_for_completion=False)
    stage.airflow.clock.sleep(1800)
    assert stage.run(stop=False).sleepers == ()


def test_a_task_whose_job_runs_sleeps_rightly(stage: Stage) -> None:
    stage.submit(prefer=["ml.m5.large"])
    stage.airflow.clock.sleep(3600)
    stage.submit(TaskInstance())
    report = stage.run(stop=False)
    assert report.sleepers == ()


# -- the operator --------------------------------------------------------------------------------------------


@pytest.fixture
def operator(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, Any]]:
    monkeypatch.setattr(SageMakerReconcileOperator, "clock", stage.airflow.clock)

    def run(**arguments: Any) -> dict[str, Any]:
        report = SageMakerReconcileOperator(task_id="reconcile", **arguments).execute({})
        found: dict[str, Any] = json.loads(json.dumps(report))
        return found

    return run


@pytest.mark.parametrize(("stop", "done"), [(True, "stopped"), ("True", "stopped"), ("false", "would_stop")])
def test_the_operator_does_the_same_and_returns_the_report(
    stage: Stage, operator: Callable[..., dict[str, Any]], stop: Any, done: str
) -> None:
    stage.submit(state="failed")
    stage.submit(TaskInstance(task_id="fine"))
    report = operator(stop=stop)
    assert [job["done"] for job in report["jobs"]] == [done], "those that are well are only counted"
    assert report["counts"] == {"kept": 1, done: 1}


def test_the_operator_tells_of_a_task_that_sleeps_on(stage: Stage, operator: Callable[..., dict[str, Any]]) -> None:
    stage.submit(prefer=["ml.m5.large"])
    stage.airflow.clock.sleep(1800)
    (sleeper,) = operator()["sleepers"]
    assert (sleeper["status"], sleeper["task"]) == ("Completed", "dag/manual__2026-11-30T00:00:00+00:00/train")


def test_the_operator_says_what_it_is_to_be_told(operator: Callable[..., dict[str, Any]]) -> None:
    with pytest.raises(InvalidTask, match="stop: 'perhaps' is neither True nor False"):
        operator(stop="perhaps")


def test_nothing_is_stopped_by_a_name_that_was_guessed(
    stage: Stage, operator: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AIRFLOW__SM_PREFER__DEPLOYMENT")
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", "https://airflow.example.com/")
    stage.submit(state="failed")
    assert [job["done"] for job in operator()["jobs"]] == ["would_stop"]
    with pytest.raises(InvalidTask, match=r"deployment = airflow\.example\.com"):
        operator(stop=True)
    with pytest.raises(InvalidSetting, match="only derived"):
        stage.run()
    assert stage.stops() == []


def test_the_note_is_a_tag_that_a_person_can_read(stage: Stage) -> None:
    ti = stage.submit()
    stage.remove(ti)
    stage.run()
    job = client(stage.airflow).describe_training_job(TrainingJobName=stage.live()[0])
    tags = client(stage.airflow).list_tags(ResourceArn=job["TrainingJobArn"])["Tags"]
    assert {"Key": MISSING_TAG, "Value": f"{stage.airflow.clock.time():.0f}"} in tags
