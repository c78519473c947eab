"""Whatever a client or the time does: after each call, the files say what the sandbox in memory says."""

import contextlib
import copy
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from airflow_sm_prefer.sandbox import Script
from airflow_sm_prefer.sandbox.api_errors import ApiError, DroppedConnection
from airflow_sm_prefer.sandbox.documents import encode
from airflow_sm_prefer.sandbox.state.folder import StateFolder
from airflow_sm_prefer.sandbox.state.keeper import Found
from airflow_sm_prefer.sandbox.state.world import World
from tests.unit.sandbox.batch.kept import KeptBatch
from tests.unit.sandbox.builders import CPU, G5, P5, prefer, single, training

SCENARIO = {
    "rates": False,
    "capacity": {G5: [1, {"after": 400, "count": 0}, {"after": 900, "count": 2}], P5: 0, CPU: 1},
    "spot": {G5: [1, {"after": 300, "count": 0}]},
    "call_faults": [{"operation": "DescribeTrainingJob", "error": "drop", "after": 5, "times": 2}],
    "job_faults": [{"job": "*2", "after": 50}],
    "batch": {
        "environments": [
            {"serviceEnvironmentName": "all", "capacityLimits": [{"maxCapacity": 2, "capacityUnit": "NUM_INSTANCES"}]},
            {"serviceEnvironmentName": "g5", "capacityLimits": [{"maxCapacity": 2, "capacityUnit": G5}]},
        ],
        "policies": [
            {"name": "fair", "fairsharePolicy": {}},
            {"name": "managed", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}},
        ],
        "queues": [
            {
                "jobQueueName": name,
                "priority": 1,
                "schedulingPolicyArn": name,
                "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": environment}],
            }
            for name, environment in (("fair", "all"), ("managed", "g5"))
        ],
        "quota_shares": [
            {
                "quotaShareName": name,
                "jobQueue": "managed",
                "capacityLimits": [{"maxCapacity": 1, "capacityUnit": G5}],
                "resourceSharingConfiguration": {"strategy": "LEND_AND_BORROW"},
                "preemptionConfiguration": {"inSharePreemption": "ENABLED"},
            }
            for name in ("red", "blue")
        ],
    },
}
SCRIPTS = {"*1": Script(seconds=200, stop_seconds=60), "*3": Script.fails("AlgorithmError: no")}
WARM = single(G5, KeepAlivePeriodInSeconds=300)
SHAPES = [prefer(G5), prefer(P5, G5), single(CPU), single(G5), WARM]
PLAN = {"name": "plan", "type": P5, "count": 1, "blocks": [{"starts": 200, "lasts": 4000}]}
NUMBERS = st.integers(1, 5)


class Sandboxes(RuleBasedStateMachine):
    """A sandbox that is asked this and that, and killed in between."""

    @initialize(lag=st.sampled_from([0, 30]))
    def begin(self, lag):
        self.place = TemporaryDirectory()
        given = {**SCENARIO, "settings": {"list_delay_seconds": lag, "event_delay_seconds": lag}}
        self.bench = KeptBatch.begun(Path(self.place.name) / "state", SCRIPTS, **given)

    def call(self, operation, **request):
        try:
            return self.bench.call(operation, request)
        except (ApiError, DroppedConnection):
            return {}

    @rule(number=NUMBERS, shape=st.sampled_from(SHAPES), spot=st.booleans())
    def create(self, number, shape, spot):
        limits = {"MaxRuntimeInSeconds": 150} | ({"MaxWaitTimeInSeconds": 500} if spot else {})
        more = {"EnableManagedSpotTraining": spot, "StoppingCondition": limits}
        with contextlib.suppress(ApiError):
            self.bench.train(f"job-{number}", shape, **more)

    @rule(number=NUMBERS, operation=st.sampled_from(["Stop", "Describe", "Delete"]))
    def ask(self, number, operation):
        self.call(f"{operation}TrainingJob", TrainingJobName=f"job-{number}")

    @rule(number=NUMBERS)
    def tag(self, number):
        arn = self.call("DescribeTrainingJob", TrainingJobName=f"job-{number}").get("TrainingJobArn")
        if arn:
            self.call("AddTags", ResourceArn=arn, Tags=[{"Key": "k", "Value": str(self.bench.clock.time())}])

    @rule(number=NUMBERS)
    def end_the_pool(self, number):
        request = {"TrainingJobName": f"job-{number}", "ResourceConfig": {"KeepAlivePeriodInSeconds": 0}}
        self.call("UpdateTrainingJob", **request)

    @rule(
        queue=st.sampled_from(["fair", "managed"]),
        share=st.sampled_from(["red", "blue"]),
        shape=st.sampled_from([single(G5), single(CPU)]),
        priority=st.integers(0, 2),
        attempts=st.integers(1, 2),
    )
    def submit(self, queue, share, shape, priority, attempts):
        member = "shareIdentifier" if queue == "fair" else "quotaShareName"
        more = {member: share, "schedulingPriority": priority, "retryStrategy": {"attempts": attempts}}
        timeout = {"timeoutConfig": {"attemptDurationSeconds": 120}} if priority else {}
        self.bench.submit("service", queue, payload=training("service", shape), **more, **timeout)

    @rule(number=NUMBERS, operation=st.sampled_from(["Terminate", "Update", "Tag"]))
    def ask_batch(self, number, operation):
        known = service_jobs(self.bench)
        if number not in known:
            return
        job = known[number]
        if operation == "Terminate":
            self.call("TerminateServiceJob", jobId=job.job_id, reason="enough")
        elif operation == "Update":
            self.call("UpdateServiceJob", jobId=job.job_id, schedulingPriority=2)
        else:
            for arn in (job.arn, job.queue):
                self.call("TagResource", resourceArn=arn, tags={"k": str(self.bench.clock.time())})

    @rule(count=st.integers(0, 3))
    def change_limits(self, count):
        limits = [{"maxCapacity": count, "capacityUnit": G5}]
        self.call("UpdateServiceEnvironment", serviceEnvironment="g5", capacityLimits=limits)

    @rule(seconds=st.sampled_from([1, 30, 100, 400]))
    def wait(self, seconds):
        self.bench.advance(seconds)

    @rule(count=st.integers(0, 2))
    def change(self, count):
        self.bench.sandbox.change(capacity={G5: count}, spot={G5: count})

    @rule(speed=st.sampled_from([0.5, 1, 60]))
    def change_speed(self, speed):
        self.bench.sandbox.change(speed=speed)

    @rule(seconds=st.sampled_from([1, 500]))
    def leap(self, seconds):
        self.bench.sandbox.change(advance=seconds)

    @rule(count=st.integers(0, 3), kind=st.sampled_from(["training job", "training warm pool", "spot training job"]))
    def change_quotas(self, count, kind):
        self.bench.sandbox.change(quotas={f"{G5} for {kind} usage": count})

    @rule(status=st.sampled_from([None, "Failed"]))
    def change_the_plan(self, status):
        self.bench.sandbox.change(plans=[PLAN if status is None else {**PLAN, "status": status}])

    @rule()
    def look_for_plans(self):
        self.call("ListTrainingPlans")
        self.call("SearchTrainingPlanOfferings", InstanceType=P5, InstanceCount=1, DurationHours=24)

    @rule()
    def fail_a_call_and_a_job(self):
        self.bench.sandbox.change(
            call_faults=[{"operation": "StopTrainingJob", "error": "ThrottlingException", "takes_effect": True}],
            job_faults=[{"job": "*4", "after": 20}],
        )

    @rule(down=st.sampled_from([0, 50, 1000]))
    def kill(self, down):
        before = {name: job.status for name, job in jobs(self.bench).items()}
        submitted = service_jobs(self.bench).keys()
        old, self.bench = self.bench, self.bench.killed(down=down)
        old.sandbox.folder.close()
        assert jobs(self.bench).keys() == before.keys()
        assert service_jobs(self.bench).keys() == submitted
        ended = {name for name, status in before.items() if status in {"Completed", "Failed", "Stopped"}}
        assert all(jobs(self.bench)[name].status == before[name] for name in ended)

    @invariant()
    def files_say_what_memory_says(self):
        if not hasattr(self, "bench"):
            return
        # What a kill has cost is kept with the first tick after it.
        self.bench.sandbox.tick()
        found = Found()
        folder = StateFolder(self.bench.copied())
        for value in folder.values["journal"]:
            found.apply(value)
        folder.close()
        kept = {job["name"]: {**job, "past": len(job["past"])} for job in found.jobs.values()}
        live = {name: {**encode(alone(job)), "past": len(job.past)} for name, job in jobs(self.bench).items()}
        assert kept == json.loads(json.dumps(live))
        queued = [encode(job) for job in service_jobs(self.bench).values()]
        assert list(found.service_jobs.values()) == json.loads(json.dumps(queued))
        sandbox = self.bench.sandbox
        world = World(sandbox.engine, sandbox.rates, sandbox._offerings, sandbox.dispatcher).document()
        # Before anything has happened, the scenario says it.
        assert not found.world or found.world == json.loads(json.dumps(world))

    @invariant()
    def live_training_jobs_of_batch_are_those_of_live_service_jobs(self):
        if not hasattr(self, "bench"):
            return
        self.bench.sandbox.tick()
        live = {name for name, job in jobs(self.bench).items() if job.is_live and name.startswith("AWSBatch")}
        assert live == {job.live.name for job in service_jobs(self.bench).values() if job.live is not None}

    def teardown(self):
        if hasattr(self, "bench"):
            self.bench.sandbox.folder.close()
            self.place.cleanup()


def jobs(bench):
    return {job.name: job for account in bench.sandbox.engine.accounts.values() for job in account.jobs.values()}


def service_jobs(bench):
    estates = bench.sandbox.dispatcher.estates.values()
    return {job.number: job for estate in estates for job in estate.jobs.values()}


def alone(job):
    job = copy.copy(job)
    job.past = []
    return job


TestSandboxes = Sandboxes.TestCase
TestSandboxes.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
