"""Training through job queues of AWS Batch, against the sandbox."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest

from airflow_sm_prefer import SageMakerPreferTrainingOperator, on_demand, queued
from airflow_sm_prefer.aws.routed import RoutedJobs
from airflow_sm_prefer.errors import CapacityTimeout, QueueUnfit
from airflow_sm_prefer.links import JOB_XCOM_KEY, job_url, logs_url, queue_url
from airflow_sm_prefer.operators.failures import NotRetried
from airflow_sm_prefer.sandbox.scripted import Script, ScriptedRunner

from .harness import TRAINING, Airflow, TaskInstance, airflow_and_sandbox
from .queues import HOUR, batch, fair_share, occupy, queue, quota_share, quota_shares, service_jobs, training

P5, G5 = "ml.p5.48xlarge", "ml.g5.xlarge"
LONG = Script(seconds=5 * HOUR)
REPEATS = ["refused", "first_job"]


def ours(airflow: Airflow, *queues: str) -> list[dict[str, Any]]:
    return [job for job in service_jobs(airflow, *queues) if job["jobName"] != "other"]


def checkpoint(job: dict[str, Any]) -> str:
    uri: str = json.loads(job["serviceRequestPayload"])["CheckpointConfig"]["S3Uri"]
    return uri


def preempting(airflow: Airflow) -> None:
    """Make a queue of two p5, one for each share, of which a job of two borrows the other's."""
    queue(airflow, "p5", limits={P5: 2}, policy=quota_shares(airflow))
    quota_share(airflow, "p5", "owner", {P5: 1})
    quota_share(airflow, "p5", "research", {P5: 1})


def test_a_job_goes_through_its_queue_and_its_result_is_the_training_jobs() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        listed = [queued(P5, job_queue="p5")]
        result = airflow.run(training(listed, scheduling_priority="production", print_log=True))
        (job,) = service_jobs(airflow, "p5")
        assert (job["status"], job["schedulingPriority"]) == ("SUCCEEDED", 900)
        assert result["decision"]["verdict"] == "succeeded"
        assert result["ServiceJob"]["jobArn"] == job["jobArn"] == result["decision"]["job_arn"]
        assert result["Training"]["TrainingJobName"].startswith("AWSBatch")
        assert result["Training"]["ResourceConfig"]["InstanceType"] == P5
        assert "serviceRequestPayload" not in result["ServiceJob"]


def test_a_job_past_its_patience_goes_on_in_the_next_queue_with_its_priority() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        queue(airflow, "p5")
        queue(airflow, "g5")
        occupy(airflow, "p5", instance_type=P5)
        listed = [queued(P5, job_queue="p5"), queued(G5, job_queue="g5")]
        result = airflow.run(training(listed, scheduling_priority=7, patience=timedelta(minutes=20)))
        ours = [job for job in service_jobs(airflow, "p5", "g5") if job["jobName"] != "other"]
        assert [(job["status"], job["schedulingPriority"]) for job in ours] == [("FAILED", 7), ("SUCCEEDED", 7)]
        assert 1200 <= (ours[0]["stoppedAt"] - ours[0]["createdAt"]) / 1000 <= 1400
        assert (result["decision"]["preference_index"], result["decision"]["job_queue"]) == (1, "g5")
        assert [wave["verdict"] for wave in result["decision"]["waves"]] == ["capacity", "succeeded"]


def test_a_list_may_mix_queues_and_requests_to_sagemaker_itself() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        queue(airflow, "p5")
        occupy(airflow, "p5", instance_type=P5)
        result = airflow.run(training([queued(P5, job_queue="p5"), on_demand(G5)]))
        assert result["decision"]["capacity_kind"] == "on_demand"
        assert "ServiceJob" not in result
        assert result["Training"]["TrainingJobName"].endswith("-2")
        assert airflow.most_live() == 2, "ours, and the one that holds the queue"


def test_without_a_list_the_configs_own_type_goes_through_the_operators_queue() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "g5")
        config = {**TRAINING, "ResourceConfig": {"InstanceType": G5, "InstanceCount": 1, "VolumeSizeInGB": 30}}
        airflow.run(training(None, config=config, job_queue="g5"))
        (job,) = service_jobs(airflow, "g5")
        assert job["status"] == "SUCCEEDED"


def test_a_queue_that_can_never_run_the_job_is_left_at_once_and_batchs_words_are_kept() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        queue(airflow, "p5", instances=2)
        queue(airflow, "g5", instances=2)
        occupy(airflow, "p5", count=2, instance_type=P5)
        operator = training([queued(P5, job_queue="p5", count=2), queued(G5, job_queue="g5")])
        ti = TaskInstance()
        deferred = airflow.begin(operator, ti)
        batch(airflow).update_service_environment(
            serviceEnvironment="p5-env", capacityLimits=[{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]
        )
        result = airflow.finish(operator, ti, deferred)
        waves = result["decision"]["waves"]
        assert [wave["verdict"] for wave in waves] == ["queue_unfit", "succeeded"]
        assert "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE" in waves[0]["reason"]


def test_a_queue_that_can_never_run_the_job_fails_it_where_nothing_else_is_left() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5", instances=2)
        operator, ti = training([queued(P5, job_queue="p5", count=2)]), TaskInstance()
        occupy(airflow, "p5", count=2, instance_type=P5)
        deferred = airflow.begin(operator, ti)
        batch(airflow).update_service_environment(
            serviceEnvironment="p5-env", capacityLimits=[{"capacityUnit": "NUM_INSTANCES", "maxCapacity": 1}]
        )
        with pytest.raises(QueueUnfit, match="SERVICE_ENVIRONMENT_MAX_RESOURCE"):
            airflow.finish(operator, ti, deferred)
        assert service_jobs(airflow, "p5")[-1]["status"] == "FAILED"


def test_the_budgets_end_terminates_the_job_and_fails_the_task() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=50 * HOUR))) as airflow:
        queue(airflow, "p5")
        occupy(airflow, "p5", instance_type=P5)
        with pytest.raises(CapacityTimeout, match=r"within max_pending \(2 h\)"):
            airflow.run(training([queued(P5, job_queue="p5")], max_pending=timedelta(hours=2)))
        job = service_jobs(airflow, "p5")[-1]
        assert (job["status"], job["isTerminated"]) == ("FAILED", True)
        assert job["statusReason"].startswith("airflow_sm_prefer: budget.")


def test_a_shortage_in_the_queue_uses_up_no_attempt_and_no_training_job_is_relied_on() -> None:
    scenario = {"capacity": {P5: [0, {"after": "3h", "count": 1}]}, "settings": {"default_pending_seconds": 1800}}
    with airflow_and_sandbox(scenario) as airflow:
        queue(airflow, "p5")
        result = airflow.run(training([queued(P5, job_queue="p5")], max_pending=timedelta(hours=12)))
        names = {job["name"] for job in airflow.control.record("state")}
        assert len(names) > 2, "each try has a training job of its own"
        assert result["decision"]["submissions"] == 1
        assert result["Training"]["TrainingJobStatus"] == "Completed"


def test_a_preempted_job_goes_on_in_the_next_queue_from_its_checkpoint_where_it_may() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        preempting(airflow)
        queue(airflow, "g5")
        listed = [queued(P5, job_queue="p5", quota_share="research", count=2), queued(G5, job_queue="g5")]
        operator, ti = training(listed, recover=1, scheduling_priority="research", print_log=True), TaskInstance()
        deferred = airflow.begin(operator, ti)
        airflow.server.sandbox.advance(600)
        occupy(airflow, "p5", count=1, instance_type=P5, quotaShareName="owner")
        result = airflow.finish(operator, ti, deferred)
        assert [wave["verdict"] for wave in result["decision"]["waves"]] == ["spot_interruption", "succeeded"]
        assert result["decision"]["recoveries"] == 1
        first, second = ours(airflow, "p5", "g5")
        assert first["preemptionSummary"]["preemptedAttemptCount"] == 1
        assert first["schedulingPriority"] == second["schedulingPriority"] == 500
        assert checkpoint(first) == checkpoint(second) == "s3://bucket/checkpoints"


def test_a_preempted_job_waits_in_its_queue_where_it_may_not_be_started_again() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        preempting(airflow)
        listed = [queued(P5, job_queue="p5", quota_share="research", count=2), on_demand(G5)]
        operator, ti = training(listed), TaskInstance()
        deferred = airflow.begin(operator, ti)
        airflow.server.sandbox.advance(600)
        occupy(airflow, "p5", count=1, instance_type=P5, quotaShareName="owner")
        result = airflow.finish(operator, ti, deferred)
        (job,) = ours(airflow, "p5")
        assert (job["status"], job["preemptionSummary"]["preemptedAttemptCount"]) == ("SUCCEEDED", 1)
        assert result["decision"]["submissions"] == 1
        assert result["decision"]["pending_seconds"] > 4 * HOUR, "the wait after a preemption counts"


def test_the_wait_after_a_preemption_ends_with_the_budget() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        preempting(airflow)
        operator, ti = (
            training([queued(P5, job_queue="p5", quota_share="research", count=2)], max_pending=HOUR),
            TaskInstance(),
        )
        deferred = airflow.begin(operator, ti)
        airflow.server.sandbox.advance(600)
        occupy(airflow, "p5", count=1, instance_type=P5, quotaShareName="owner")
        with pytest.raises(CapacityTimeout):
            airflow.finish(operator, ti, deferred)
        assert ours(airflow, "p5")[0]["status"] == "FAILED"


def test_a_priority_that_somebody_changes_is_kept_in_the_next_queue() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        policy = fair_share(airflow, research=1.0)
        queue(airflow, "p5", policy=policy)
        queue(airflow, "g5", policy=policy)
        occupy(airflow, "p5", instance_type=P5, shareIdentifier="research")
        listed = [queued(kind, job_queue=name, share_identifier="research") for kind, name in ((P5, "p5"), (G5, "g5"))]
        operator, ti = training(listed, scheduling_priority=3), TaskInstance()
        deferred = airflow.begin(operator, ti)
        batch(airflow).update_service_job(jobId=ours(airflow, "p5")[0]["jobId"], schedulingPriority=800)
        airflow.finish(operator, ti, deferred)
        assert ours(airflow, "g5")[0]["schedulingPriority"] == 800


@pytest.mark.parametrize(("given", "sent"), [(0, 0), (None, None), ("sweep", 100), (9999, 9999)])
def test_a_priority_of_0_is_sent_and_none_is_left_out(given: Any, sent: int | None) -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        airflow.run(training([queued(P5, job_queue="p5")], scheduling_priority=given))
        (job,) = service_jobs(airflow, "p5")
        assert job.get("schedulingPriority") == sent


def test_what_a_service_job_is_submitted_with_arrives() -> None:
    terms: dict[str, Any] = {
        "retry_strategy": {"attempts": 3, "evaluateOnExit": [{"action": "EXIT", "onStatusReason": "*"}]},
        "timeout_config": {"attemptDurationSeconds": 7200},
        "preemption_configuration": {"preemptionRetriesBeforeTermination": 2},
        "tags": {"team": "vision"},
    }
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        airflow.run(training([queued(P5, job_queue="p5")], **terms))
        (job,) = service_jobs(airflow, "p5")
        assert job["retryStrategy"] == terms["retry_strategy"]
        assert job["timeoutConfig"] == terms["timeout_config"]
        assert job["preemptionConfiguration"] == terms["preemption_configuration"]
        assert job["tags"]["team"] == "vision"
        payload = json.loads(job["serviceRequestPayload"])
        assert len(payload["TrainingJobName"]) <= 23
        assert "InstancePreferences" not in payload["ResourceConfig"]
        assert "Tags" not in payload


def test_waiting_in_the_worker_comes_to_the_same() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        queue(airflow, "p5")
        occupy(airflow, "p5", instance_type=P5)
        result = airflow.run(training([queued(P5, job_queue="p5"), on_demand(G5)], deferrable=False))
        assert airflow.deferrals == 0
        assert result["decision"]["preference_index"] == 1


def test_a_task_that_only_submits_leaves_its_job_in_the_queue() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        result = airflow.run(training([queued(P5, job_queue="p5")], wait_for_completion=False))
        assert result["ServiceJob"]["status"] in {"SUBMITTED", "RUNNABLE", "SCHEDULED", "RUNNING"}
        assert result["decision"]["verdict"] is None


def test_the_links_lead_to_the_service_job_its_queue_and_the_logs_of_all_its_attempts() -> None:
    with airflow_and_sandbox() as airflow:
        queue(airflow, "p5")
        ti = TaskInstance()
        airflow.run(training([queued(P5, job_queue="p5")]), ti)
        (job,) = service_jobs(airflow, "p5")
        pushed = {**ti.xcoms["sm_prefer_job"], "partition": "aws"}
        assert job_url(pushed).endswith(f"#jobs/detail/{job['jobId']}")
        assert queue_url(pushed).endswith("#queues/detail/arn:aws:batch:us-east-1:123456789012:job-queue/p5")
        name = json.loads(job["serviceRequestPayload"])["TrainingJobName"]
        assert logs_url(pushed).endswith(f"AWSBatch{name}")


# -- never two, never orphaned -------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [True, False])
def test_a_retry_takes_up_the_job_that_the_try_before_left(store: bool) -> None:
    with airflow_and_sandbox(store=store) as airflow:
        queue(airflow, "p5")
        ti = TaskInstance()
        airflow.begin(training([queued(P5, job_queue="p5")]), ti)
        retry = ti.retried()
        result = airflow.run(training([queued(P5, job_queue="p5")]), retry)
        (job,) = service_jobs(airflow, "p5")
        assert result["decision"]["job_arn"] == job["jobArn"]
        assert retry.xcoms[JOB_XCOM_KEY] == ti.xcoms[JOB_XCOM_KEY], "Airflow deletes what the try before has pushed"


@pytest.mark.parametrize("store", [True, False])
def test_a_clear_terminates_the_old_job_and_submits_when_it_has_ended(store: bool) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG), store=store) as airflow:
        queue(airflow, "p5")
        ti = TaskInstance()
        airflow.begin(training([queued(P5, job_queue="p5")]), ti)
        airflow.server.sandbox.advance(60)
        result = airflow.run(training([queued(P5, job_queue="p5")]), ti.cleared())
        first, second = service_jobs(airflow, "p5")
        assert (first["status"], second["status"]) == ("FAILED", "SUCCEEDED")
        assert first["stoppedAt"] <= second["createdAt"]
        assert result["decision"]["job_arn"] == second["jobArn"]


def test_a_changed_request_replaces_the_job_of_the_try_before() -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG)) as airflow:
        queue(airflow, "p5")
        ti = TaskInstance()
        airflow.begin(training([queued(P5, job_queue="p5")]), ti)
        other = {**TRAINING, "HyperParameters": {"lr": "0.1"}}
        airflow.run(training([queued(P5, job_queue="p5")], config=other), ti.retried())
        assert [job["status"] for job in service_jobs(airflow, "p5")] == ["FAILED", "SUCCEEDED"]


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("error", ["drop", "InternalFailure"])
@pytest.mark.parametrize("takes_effect", [True, False])
def test_a_submission_without_an_answer_is_made_again_and_comes_once(
    repeat: str, error: str, *, takes_effect: bool
) -> None:
    fault = {"operation": "SubmitServiceJob", "error": error, "takes_effect": takes_effect, "times": 4}
    with airflow_and_sandbox({"settings": {"batch_token_repeat": repeat}, "call_faults": [fault]}) as airflow:
        queue(airflow, "p5")
        airflow.run(training([queued(P5, job_queue="p5")]))
        assert len(service_jobs(airflow, "p5")) == 1


@pytest.mark.parametrize("repeat", REPEATS)
def test_a_process_that_thaws_after_a_later_try_has_submitted_ends_without_a_job(repeat: str) -> None:
    with airflow_and_sandbox({"settings": {"batch_token_repeat": repeat}}) as airflow:
        queue(airflow, "p5")
        now = datetime.fromtimestamp(airflow.clock.time(), UTC)
        ti = TaskInstance(start_date=now)
        listed = [queued(P5, job_queue="p5")]
        frozen = training(listed)
        original = RoutedJobs.create
        later: list[Any] = []

        def thaws(self: RoutedJobs, request: Any) -> str:
            if not later:
                later.append(None)
                airflow.begin(training(listed), ti.retried())
            return original(self, request)

        with mock.patch.object(RoutedJobs, "create", thaws), pytest.raises(NotRetried, match="Another try"):
            airflow.begin(frozen, ti)
        assert len(service_jobs(airflow, "p5")) == 1


def test_the_log_says_which_place_in_the_queue_the_job_has(capsys: pytest.CaptureFixture[str]) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=Script(seconds=HOUR))) as airflow:
        queue(airflow, "p5")
        for _ in range(3):
            occupy(airflow, "p5", instance_type=P5)
        airflow.run(training([queued(P5, job_queue="p5")]))
    told = re.findall(r" is (.*) in line for 1 x ml\.p5\.48xlarge \(queue p5\)\.", capsys.readouterr().out)
    assert told == ["the 3rd", "the 2nd", "next"]


@pytest.mark.parametrize("store", [True, False])
@pytest.mark.parametrize(
    ("before", "now"),
    [
        ([on_demand(G5), queued(P5, job_queue="p5")], [queued(P5, job_queue="p5")]),
        ([queued(G5, job_queue="g5"), queued(P5, job_queue="p5")], [queued(P5, job_queue="p5")]),
        ([queued(P5, job_queue="p5")], [on_demand(G5), queued(G5, job_queue="g5")]),
    ],
    ids=["the entry for SageMaker is gone", "a queue is gone", "all of it is another"],
)
def test_a_retry_whose_list_has_changed_takes_up_the_job_where_the_one_before_had_sent_it(
    before: list[Any], now: list[Any], store: bool
) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG), store=store) as airflow:
        queue(airflow, "p5")
        queue(airflow, "g5")
        ti = TaskInstance()
        config = {**TRAINING, "TrainingJobName": "Nightly"}
        airflow.begin(training(before, config=config), ti)
        airflow.server.sandbox.advance(60)
        airflow.run(training(now, config=config), ti.retried())
        assert len(airflow.calls("SubmitServiceJob")) + len(airflow.calls("CreateTrainingJob")) == 1


@pytest.mark.parametrize("store", [True, False])
def test_a_task_that_no_longer_goes_through_a_queue_ends_the_job_that_it_had_there(store: bool) -> None:
    with airflow_and_sandbox(runner=ScriptedRunner(default=LONG), store=store) as airflow:
        queue(airflow, "p5")
        ti = TaskInstance()
        airflow.begin(training([queued(P5, job_queue="p5")]), ti)
        direct = SageMakerPreferTrainingOperator(task_id="train", config=TRAINING, prefer=[G5], check_interval=60)
        result = airflow.run(direct, ti.cleared())
        assert result["decision"]["job_queue"] is None
        if store:
            assert [job["status"] for job in service_jobs(airflow, "p5")] == ["FAILED"]
