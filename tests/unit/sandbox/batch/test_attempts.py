"""The life of a service job: each attempt a training job, shortages that cost none, retries, timeouts, terminations."""

from __future__ import annotations

from typing import Any

import pytest

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError
from airflow_sm_prefer.sandbox.batch.service_job import SHORTAGE_REASON
from tests.unit.sandbox.batch.bench import BatchBench
from tests.unit.sandbox.builders import CPU, G5, P5, single, training

SHORTAGE = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"
TOO_LARGE = "MISCONFIGURATION:SERVICE_ENVIRONMENT_MAX_RESOURCE"


def limit(reason: str, seconds: int = 600) -> dict[str, Any]:
    return {"reason": reason, "state": "RUNNABLE", "maxTimeSeconds": seconds, "action": "TERMINATE"}


def cpu_job(name: str = "job") -> dict[str, Any]:
    """A job that fails with a CapacityError at once where there is no capacity."""
    return training(name, single(CPU))


class TestRunning:
    def test_the_oldest_that_fits_runs_and_the_rest_wait(self):
        bench = BatchBench()
        bench.fifo(2)
        ids = [bench.submit(name) for name in "abc"]
        assert bench.statuses(*ids) == ["RUNNING", "RUNNING", "RUNNABLE"]
        bench.advance(100)
        assert bench.statuses(*ids) == ["SUCCEEDED", "SUCCEEDED", "RUNNING"]

    def test_a_job_that_waits_in_sagemaker_is_scheduled_and_one_that_downloads_is_starting(self):
        bench = BatchBench(capacity={G5: 0})
        bench.fifo()
        job = bench.submit()
        bench.advance(600)
        assert bench.status(job) == "SCHEDULED"
        assert bench.behind(job)["SecondaryStatus"] == "Pending"
        shown = bench.describe(job)
        assert "startedAt" not in shown
        bench.sandbox.change(capacity={G5: 1})
        assert bench.status(job) == "RUNNING"
        assert bench.describe(job)["startedAt"] == shown["scheduledAt"] + 600_000

    def test_the_training_job_has_a_new_name_and_the_tags_of_both(self):
        bench = BatchBench()
        bench.fifo()
        payload = training("a" * 40, single(G5), Tags=[{"Key": "own", "Value": "1"}, {"Key": "both", "Value": "1"}])
        job = bench.submit("job", payload=payload, tags={"batch": "2", "both": "2"})
        shown = bench.behind(job)
        assert shown["TrainingJobName"].startswith("AWSBatch" + "a" * 23)
        assert len(shown["TrainingJobName"]) == 63
        tags = bench.call("ListTags", {"ResourceArn": shown["TrainingJobArn"]})["Tags"]
        assert {tag["Key"]: tag["Value"] for tag in tags} == {"own": "1", "both": "1", "batch": "2"}

    def test_members_that_sagemaker_does_not_know_are_dropped(self):
        bench = BatchBench()
        bench.fifo()
        job = bench.submit(payload={**training("job", single(G5)), "Unknown": 1})
        assert bench.status(job) == "RUNNING"

    def test_queues_of_one_environment_share_it_by_their_priorities(self):
        bench = BatchBench(seconds=50)
        bench.fifo()
        bench.queue("high", priority=9)
        first, low, high = bench.submit("a"), bench.submit("low"), bench.submit("high", "high")
        bench.advance(50)
        assert bench.statuses(first, low, high) == ["SUCCEEDED", "RUNNABLE", "RUNNING"]

    def test_a_disabled_queue_finishes_its_jobs_and_a_disabled_environment_places_none(self):
        bench = BatchBench()
        bench.fifo()
        running, waiting, later = bench.submit("a"), bench.submit("b"), bench.submit("c")
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "state": "DISABLED"})
        bench.advance(100)
        assert bench.statuses(running, waiting) == ["SUCCEEDED", "RUNNING"]
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "state": "DISABLED"})
        bench.advance(100)
        assert bench.statuses(waiting, later) == ["SUCCEEDED", "RUNNABLE"]
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "state": "ENABLED"})
        assert bench.status(later) == "RUNNING"

    def test_more_capacity_places_more_jobs(self):
        bench = BatchBench()
        bench.fifo(1)
        ids = [bench.submit(name) for name in "ab"]
        limits = [{"maxCapacity": 2, "capacityUnit": "NUM_INSTANCES"}]
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "capacityLimits": limits})
        assert bench.statuses(*ids) == ["RUNNING", "RUNNING"]


class TestRetries:
    INTERNAL = "InternalServerError: We encountered an internal error. Please try again."

    def attempts(self, strategy: dict[str, Any], reason: str = INTERNAL) -> tuple[str, list[str]]:
        bench = BatchBench({"AWSBatch*": Script.fails(reason, 10)})
        bench.fifo()
        job = bench.submit(retryStrategy=strategy)
        bench.advance(200)
        shown = bench.describe(job)
        return shown["statusReason"], [attempt["statusReason"] for attempt in shown["attempts"]]

    def test_each_attempt_is_another_training_job(self):
        bench = BatchBench({"AWSBatch*": Script.fails(self.INTERNAL, 10)})
        bench.fifo()
        job = bench.submit(retryStrategy={"attempts": 3})
        bench.advance(15)
        assert bench.status(job) == "RUNNING"
        bench.advance(100)
        shown = bench.describe(job)
        arns = {attempt["serviceResourceId"]["value"] for attempt in shown["attempts"]}
        assert (shown["status"], len(arns)) == ("FAILED", 3)
        assert shown["statusReason"] == f"Received status from SageMaker: {self.INTERNAL}"

    def test_without_a_strategy_there_is_one_attempt(self):
        bench = BatchBench({"AWSBatch*": Script.fails("AlgorithmError: , exit code: 1", 10)})
        bench.fifo()
        job = bench.submit()
        bench.advance(100)
        assert len(bench.describe(job)["attempts"]) == 1

    @pytest.mark.parametrize(
        ("rules", "attempts"),
        [
            ([{"action": "EXIT", "onStatusReason": "Received status from SageMaker: Internal*"}], 1),
            ([{"action": "EXIT", "onStatusReason": "*AlgorithmError*"}], 5),
            ([{"action": "RETRY", "onStatusReason": "*Internal*"}, {"action": "EXIT", "onStatusReason": "*"}], 5),
            ([{"action": "RETRY", "onStatusReason": "*Algorithm*"}, {"action": "EXIT", "onStatusReason": "*"}], 1),
            ([{"action": "EXIT", "onStatusReason": "Received status from SageMaker:Internal*"}], 5),
        ],
        ids=["exit", "no rule fits", "retry first", "exit last", "a space is missing"],
    )
    def test_the_first_rule_that_fits_decides(self, rules, attempts):
        _, reasons = self.attempts({"attempts": 5, "evaluateOnExit": rules})
        assert len(reasons) == attempts

    def test_a_payload_that_sagemaker_refuses_is_an_attempt_that_failed(self):
        bench = BatchBench()
        bench.fifo()
        job = bench.submit(payload={"TrainingJobName": "job", "RoleArn": 5})
        shown = bench.describe(job)
        assert shown["status"] == "FAILED"
        assert shown["statusReason"].startswith("Received status from SageMaker: SerializationException")
        other = bench.submit(payload={"TrainingJobName": "job"})
        reason = bench.describe(other)["statusReason"]
        assert reason.startswith("Received status from SageMaker: ValidationException: 2 validation errors detected")
        assert bench.call("ListTrainingJobs")["TrainingJobSummaries"] == []

    def test_a_short_quota_is_an_attempt_that_failed(self):
        bench = BatchBench(quotas={"ml.g5.xlarge for training job usage": 0})
        bench.fifo()
        reason = bench.describe(bench.submit(retryStrategy={"attempts": 2}))["statusReason"]
        assert reason.startswith("Received status from SageMaker: ResourceLimitExceeded")

    def test_a_training_job_that_somebody_stops_has_failed(self):
        bench = BatchBench()
        bench.fifo()
        job = bench.submit()
        bench.call("StopTrainingJob", {"TrainingJobName": bench.behind(job)["TrainingJobName"]})
        bench.advance(1)
        assert bench.status(job) == "FAILED"
        assert bench.describe(job)["statusReason"] == "Received status from SageMaker: Training job stopped"


class TestShortage:
    @pytest.mark.parametrize("expiry", ["stopped", "failed"])
    def test_a_pending_limit_queues_the_job_again_and_costs_no_attempt(self, expiry):
        bench = BatchBench(capacity={P5: 0}, settings={"pending_expiry": expiry})
        bench.fifo()
        stopping = {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
        job = bench.submit(payload=training("job", single(P5), StoppingCondition=stopping))
        bench.advance(1801)
        shown = bench.describe(job)
        assert (shown["status"], shown["statusReason"]) == ("RUNNABLE", SHORTAGE_REASON)
        first = shown["latestAttempt"]
        bench.advance(60)
        assert bench.status(job) == "SCHEDULED"
        assert bench.describe(job)["latestAttempt"] != first
        assert bench.describe(job)["attempts"] == []
        bench.sandbox.change(capacity={P5: 1})
        bench.advance(100)
        assert (bench.status(job), len(bench.describe(job)["attempts"])) == ("SUCCEEDED", 1)

    def test_only_the_latest_training_job_without_capacity_is_kept(self):
        bench = BatchBench(capacity={CPU: 0}, settings={"batch_retry_seconds": 10})
        bench.fifo()
        job = bench.submit(payload=cpu_job())
        bench.advance(35)
        (kept,) = bench.call("ListTrainingJobs")["TrainingJobSummaries"]
        latest = bench.describe(job)["latestAttempt"]["serviceResourceId"]["value"]
        assert kept["TrainingJobArn"] == latest

    def test_an_ending_that_does_not_begin_with_capacity_error_is_a_failure(self):
        bench = BatchBench(capacity={P5: 0}, settings={"pending_expiry": "failed_ice"})
        bench.fifo()
        stopping = {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
        job = bench.submit(payload=training("job", single(P5), StoppingCondition=stopping))
        bench.advance(1801)
        assert bench.status(job) == "FAILED"

    def test_a_job_that_waits_for_its_next_try_holds_up_those_behind_it(self):
        bench = BatchBench(capacity={CPU: 0})
        bench.fifo(2)
        bench.submit("first", payload=cpu_job())
        bench.advance(1)
        behind = bench.submit("behind")
        bench.advance(30)
        assert bench.status(behind) == "RUNNABLE"
        bench.sandbox.change(capacity={CPU: 1})
        bench.advance(30)
        assert bench.status(behind) == "RUNNING"

    def test_in_quota_management_it_holds_up_its_own_share_only(self):
        bench = BatchBench(capacity={G5: 0}, settings={"pending_expiry": "failed", "default_pending_seconds": "30m"})
        bench.managed(4)
        bench.share("red")
        bench.share("blue")
        bench.submit("first", "managed", quotaShareName="red")
        bench.advance(1801)
        red, blue = (bench.submit(share, "managed", quotaShareName=share) for share in ("red", "blue"))
        bench.advance(30)
        assert bench.statuses(red, blue) == ["RUNNABLE", "SCHEDULED"]

    def test_the_time_limit_counts_what_was_scheduled_in_vain(self):
        bench = BatchBench(capacity={P5: 0}, settings={"batch_retry_seconds": 100})
        bench.fifo(jobStateTimeLimitActions=[limit(SHORTAGE, 4000)])
        stopping = {"MaxRuntimeInSeconds": 3600, "MaxPendingTimeInSeconds": 1800}
        job = bench.submit(payload=training("job", single(P5), StoppingCondition=stopping))
        bench.advance(3999)  # 1800 SCHEDULED, 100 RUNNABLE, 1800 SCHEDULED, 100 RUNNABLE, SCHEDULED
        assert bench.status(job) == "SCHEDULED"
        bench.advance(1700)
        shown = bench.describe(job)
        assert (shown["status"], shown["isTerminated"]) == ("FAILED", False)
        assert shown["statusReason"] == f"Terminated by JobStateTimeLimit action due to reason: {SHORTAGE}"

    def test_the_time_limit_fires_while_the_job_waits_for_its_next_try(self):
        bench = BatchBench(capacity={CPU: 0}, settings={"batch_retry_seconds": 10_000})
        bench.fifo(jobStateTimeLimitActions=[limit(SHORTAGE)])
        job = bench.submit(payload=cpu_job())
        bench.advance(599)
        assert bench.status(job) == "RUNNABLE"
        bench.advance(2)
        assert bench.status(job) == "FAILED"

    def test_a_shortage_that_is_over_does_not_count_any_more(self):
        bench = BatchBench({"AWSBatch*": Script.fails("AlgorithmError: ", 50)}, capacity={CPU: 0})
        bench.fifo(jobStateTimeLimitActions=[limit(SHORTAGE)])
        job = bench.submit(payload=cpu_job(), retryStrategy={"attempts": 2})
        bench.advance(500)
        bench.sandbox.change(capacity={CPU: 1})
        bench.advance(70)
        assert bench.status(job) == "RUNNING"
        bench.sandbox.change(capacity={CPU: 0})
        bench.advance(500)
        assert bench.status(job) == "RUNNABLE"
        assert bench.describe(job)["statusReason"] == SHORTAGE_REASON
        bench.advance(200)
        assert bench.status(job) == "FAILED"


class TestMisconfiguration:
    def test_a_job_larger_than_its_environment_blocks_the_queue_and_says_why(self):
        bench = BatchBench()
        bench.fifo(2)
        job, behind = bench.submit("large", count=3), bench.submit("behind")
        bench.advance(1)
        assert bench.statuses(job, behind) == ["RUNNABLE", "RUNNABLE"]
        reason = bench.describe(job)["statusReason"]
        assert reason == (
            f"{TOO_LARGE} - Service environment(s) associated with the job queue cannot meet the capacity requirement "
            "of the job."
        )
        limits = [{"maxCapacity": 3, "capacityUnit": "NUM_INSTANCES"}]
        bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "environment", "capacityLimits": limits})
        assert bench.status(job) == "RUNNING"
        assert "statusReason" not in bench.describe(job)

    def test_a_time_limit_ends_it_and_those_behind_it_go_on(self):
        bench = BatchBench()
        bench.fifo(2, jobStateTimeLimitActions=[limit(TOO_LARGE)])
        job, behind = bench.submit("large", count=3), bench.submit("behind")
        bench.advance(599)
        assert bench.status(job) == "RUNNABLE"
        bench.advance(2)
        assert bench.statuses(job, behind) == ["FAILED", "RUNNING"]
        reason = bench.describe(job)["statusReason"]
        assert reason == f"Terminated by JobStateTimeLimit action due to reason: {TOO_LARGE}"

    def test_a_time_limit_that_comes_later_counts_from_the_beginning(self):
        bench = BatchBench()
        bench.fifo(2)
        job = bench.submit("large", count=3)
        bench.advance(1000)
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "jobStateTimeLimitActions": [limit(TOO_LARGE)]})
        assert bench.status(job) == "FAILED"


class TestStopping:
    def test_an_attempt_that_takes_too_long_is_stopped_and_may_be_retried(self):
        bench = BatchBench({"AWSBatch*": Script(seconds=1000, stop_seconds=500)})
        bench.fifo()
        job = bench.submit(timeoutConfig={"attemptDurationSeconds": 60}, retryStrategy={"attempts": 2})
        bench.advance(61)
        assert bench.behind(job)["TrainingJobStatus"] == "Stopping"
        bench.advance(120)
        assert bench.status(job) == "RUNNING"
        bench.advance(200)
        shown = bench.describe(job)
        assert (shown["status"], shown["statusReason"]) == ("FAILED", "Job attempt duration exceeded timeout")
        assert len(shown["attempts"]) == 2

    def test_the_time_in_which_it_waits_for_capacity_does_not_count(self):
        bench = BatchBench(capacity={G5: 0})
        bench.fifo()
        job = bench.submit(timeoutConfig={"attemptDurationSeconds": 60})
        bench.advance(1000)
        assert bench.status(job) == "SCHEDULED"

    def test_a_waiting_job_is_terminated_at_once(self):
        bench = BatchBench()
        bench.fifo()
        bench.submit("a")
        job = bench.submit("b")
        bench.call("TerminateServiceJob", {"jobId": job, "reason": "enough"})
        shown = bench.describe(job)
        assert (shown["status"], shown["statusReason"], shown["isTerminated"]) == ("FAILED", "enough", True)
        assert "latestAttempt" not in shown

    def test_a_running_job_is_terminated_with_the_grace_of_a_stop_and_not_retried(self):
        bench = BatchBench({"AWSBatch*": Script(seconds=1000, stop_seconds=50)})
        bench.fifo()
        job = bench.submit(retryStrategy={"attempts": 5})
        bench.call("TerminateServiceJob", {"jobId": job, "reason": "enough"})
        shown = bench.describe(job)
        assert (shown["status"], shown["isTerminated"]) == ("RUNNING", True)
        bench.advance(51)
        shown = bench.describe(job)
        assert (shown["status"], shown["statusReason"]) == ("FAILED", "enough")

    def test_a_job_that_stops_holds_its_instances_until_it_has_stopped(self):
        bench = BatchBench({"AWSBatchslow*": Script(seconds=1000, stop_seconds=50)})
        bench.fifo()
        slow = bench.submit("slow")
        bench.call("TerminateServiceJob", {"jobId": slow, "reason": "enough"})
        bench.advance(10)
        after = bench.submit("after")
        bench.advance(10)
        assert bench.statuses(slow, after) == ["RUNNING", "RUNNABLE"]
        bench.advance(31)
        assert bench.statuses(slow, after) == ["FAILED", "RUNNING"]

    def test_a_job_that_waits_for_capacity_is_terminated_and_not_queued_again(self):
        bench = BatchBench(capacity={G5: 0})
        bench.fifo()
        job = bench.submit()
        bench.call("TerminateServiceJob", {"jobId": job, "reason": "enough"})
        bench.advance(1)
        assert bench.status(job) == "FAILED"

    def test_an_ended_job_stays_as_it_is(self):
        bench = BatchBench()
        bench.fifo()
        job = bench.submit()
        bench.advance(100)
        bench.call("TerminateServiceJob", {"jobId": job, "reason": "late"})
        assert bench.describe(job)["isTerminated"] is False
        assert bench.status(job) == "SUCCEEDED"
        with pytest.raises(ApiError, match="has ended"):
            bench.call("UpdateServiceJob", {"jobId": job, "schedulingPriority": 1})

    def test_deleting_a_queue_terminates_its_jobs(self):
        bench = BatchBench({"AWSBatch*": Script(seconds=1000, stop_seconds=50)})
        bench.fifo()
        running, waiting = bench.submit("a"), bench.submit("b")
        bench.call("UpdateJobQueue", {"jobQueue": "fifo", "state": "DISABLED"})
        bench.call("DeleteJobQueue", {"jobQueue": "fifo"})
        (queue,) = bench.call("DescribeJobQueues", {"jobQueues": ["fifo"]})["jobQueues"]
        assert queue["status"] == "DELETING"
        bench.advance(51)
        assert bench.statuses(running, waiting) == ["FAILED", "FAILED"]
        assert bench.call("DescribeJobQueues", {"jobQueues": ["fifo"]})["jobQueues"] == []
