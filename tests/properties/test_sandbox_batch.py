"""What holds of service jobs whatever is submitted, terminated, short, preempted or killed."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from airflow_sm_prefer.sandbox import Script
from tests.unit.sandbox.batch.bench import BatchBench
from tests.unit.sandbox.builders import CPU, G5, single, training

LIMIT = 3
QUEUES = ("fifo", "fair", "managed")
STEPS = st.lists(
    st.one_of(
        st.fixed_dictionaries(
            {
                "do": st.just("submit"),
                "queue": st.sampled_from(QUEUES),
                "share": st.sampled_from(("red", "blue")),
                "count": st.integers(1, LIMIT + 1),
                "priority": st.integers(0, 3),
                "attempts": st.integers(1, 3),
                "kind": st.sampled_from(("long", "short", "bad", "cpu", "wrong")),
                "timeout": st.sampled_from((None, 40)),
                "preemptions": st.sampled_from((None, 0, 1)),
            }
        ),
        st.fixed_dictionaries({"do": st.just("terminate"), "which": st.integers(0, 20)}),
        st.fixed_dictionaries({"do": st.just("stop"), "which": st.integers(0, 20)}),
        st.fixed_dictionaries({"do": st.just("priority"), "which": st.integers(0, 20), "priority": st.integers(0, 3)}),
        st.fixed_dictionaries(
            {"do": st.just("capacity"), "type": st.sampled_from((G5, CPU)), "count": st.integers(0, 6)}
        ),
        st.fixed_dictionaries({"do": st.just("limit"), "count": st.integers(0, LIMIT)}),
        st.fixed_dictionaries({"do": st.just("wait"), "seconds": st.integers(1, 200)}),
    ),
    min_size=1,
    max_size=25,
)
SCRIPTS = {
    "AWSBatchlong*": Script(seconds=300, stop_seconds=60),
    "AWSBatchbad*": Script.fails("AlgorithmError: , exit code: 1", 20),
    "*": Script(seconds=30),
}


class World:
    """Three queues, and what is done to them."""

    def __init__(self) -> None:
        self.bench = BatchBench(SCRIPTS, settings={"batch_retry_seconds": 45})
        self.bench.fifo(LIMIT)
        policy = {"name": "fair", "fairsharePolicy": {"computeReservation": 10}}
        arn = self.bench.call("CreateSchedulingPolicy", policy)["arn"]
        self.bench.queue("fair", priority=5, schedulingPolicyArn=arn)
        self.bench.environment("types", G5=LIMIT)
        policy = {"name": "managed", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}
        arn = self.bench.call("CreateSchedulingPolicy", policy)["arn"]
        self.bench.queue("managed", "types", schedulingPolicyArn=arn)
        self.bench.share("red", 2, preempts=True)
        self.bench.share("blue", 1)
        self.limit = LIMIT
        self.ids: list[str] = []

    def take(self, step: dict[str, Any]) -> None:
        getattr(self, f"_{step['do']}")(step)

    def _submit(self, step: dict[str, Any]) -> None:
        share = {"fair": "shareIdentifier", "managed": "quotaShareName"}.get(step["queue"])
        payload = training(step["kind"], single(CPU if step["kind"] == "cpu" else G5, step["count"]))
        if step["kind"] == "wrong":
            del payload["RoleArn"]
        more: dict[str, Any] = {"retryStrategy": {"attempts": step["attempts"]}, "schedulingPriority": step["priority"]}
        if share is not None:
            more[share] = step["share"]
        if step["timeout"] is not None:
            more["timeoutConfig"] = {"attemptDurationSeconds": step["timeout"]}
        if step["preemptions"] is not None:
            more["preemptionConfiguration"] = {"preemptionRetriesBeforeTermination": step["preemptions"]}
        self.ids.append(self.bench.submit(step["kind"], step["queue"], payload=payload, **more))

    def _terminate(self, step: dict[str, Any]) -> None:
        if self.ids:
            job = self.ids[step["which"] % len(self.ids)]
            self.bench.call("TerminateServiceJob", {"jobId": job, "reason": "enough"})

    def _stop(self, step: dict[str, Any]) -> None:
        live = [row["TrainingJobName"] for row in self.training_jobs() if row["TrainingJobStatus"] == "InProgress"]
        if live:
            self.bench.call("StopTrainingJob", {"TrainingJobName": live[step["which"] % len(live)]})

    def _priority(self, step: dict[str, Any]) -> None:
        live = [job["jobId"] for job in self.service_jobs() if job["status"] not in {"SUCCEEDED", "FAILED"}]
        if live:
            request = {"jobId": live[step["which"] % len(live)], "schedulingPriority": step["priority"]}
            self.bench.call("UpdateServiceJob", request)

    def _capacity(self, step: dict[str, Any]) -> None:
        self.bench.sandbox.change(capacity={step["type"]: step["count"]})

    def _limit(self, step: dict[str, Any]) -> None:
        self.limit = step["count"]
        limits = [{"maxCapacity": step["count"], "capacityUnit": "NUM_INSTANCES"}]
        request = {"serviceEnvironment": "environment", "capacityLimits": limits}
        self.bench.call("UpdateServiceEnvironment", request)

    def _wait(self, step: dict[str, Any]) -> None:
        self.bench.advance(step["seconds"])

    def training_jobs(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.bench.call("ListTrainingJobs", {"MaxResults": 100})["TrainingJobSummaries"]
        return rows

    def service_jobs(self) -> list[dict[str, Any]]:
        return [self.bench.describe(job_id) for job_id in self.ids]

    def check(self) -> None:
        """Fail unless every live training job is the latest of exactly one live service job, within all limits."""
        jobs = self.service_jobs()
        holding = [job for job in jobs if job["status"] in {"SCHEDULED", "STARTING", "RUNNING"}]
        latest = Counter(job["latestAttempt"]["serviceResourceId"]["value"] for job in holding)
        assert max(latest.values(), default=0) <= 1
        live = {row["TrainingJobArn"] for row in self.training_jobs() if "TrainingEndTime" not in row}
        assert live == set(latest)
        held: Counter[str] = Counter()
        for job in holding:
            held[job["jobQueue"].rpartition("/")[2]] += int(job["capacityUsage"][0]["quantity"])
        assert held["managed"] <= LIMIT
        assert held["fifo"] + held["fair"] <= LIMIT
        for job in jobs:
            assert len(job["attempts"]) <= job["retryStrategy"]["attempts"]


@settings(deadline=None, max_examples=60)
@given(STEPS)
def test_live_training_jobs_are_those_of_live_service_jobs_and_within_the_limits(steps):
    world = World()
    for step in steps:
        world.take(step)
        world.check()


@settings(deadline=None, max_examples=40)
@given(STEPS)
def test_with_capacity_everything_that_fits_comes_to_an_end(steps):
    world = World()
    for step in steps:
        world.take(step)
    world._capacity({"type": G5, "count": 10})
    world._capacity({"type": CPU, "count": 10})
    world._limit({"count": LIMIT + 1})
    limits = [{"maxCapacity": LIMIT + 1, "capacityUnit": G5}]
    world.bench.call("UpdateServiceEnvironment", {"serviceEnvironment": "types", "capacityLimits": limits})
    world.bench.advance(40_000)
    for job in world.service_jobs():
        is_stuck = job.get("statusReason", "").startswith("MISCONFIGURATION")
        behind = job.get("quotaShareName") or is_stuck or job["jobQueue"].endswith("fair")
        assert job["status"] in {"SUCCEEDED", "FAILED"} or behind, job
