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
from tests.unit.sandbox.builders import CPU, G5, P5, prefer, single
from tests.unit.sandbox.state.kept import Kept

SCENARIO = {
    "rates": False,
    "capacity": {G5: [1, {"after": 400, "count": 0}, {"after": 900, "count": 2}], P5: 0, CPU: 1},
    "spot": {G5: [1, {"after": 300, "count": 0}]},
    "call_faults": [{"operation": "DescribeTrainingJob", "error": "drop", "after": 5, "times": 2}],
    "job_faults": [{"job": "*2", "after": 50}],
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
        self.bench = Kept.begun(Path(self.place.name) / "state", SCRIPTS, **given)

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
        old, self.bench = self.bench, self.bench.killed(down=down)
        old.sandbox.folder.close()
        assert jobs(self.bench).keys() == before.keys()
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
        sandbox = self.bench.sandbox
        world = World(sandbox.engine, sandbox.rates, sandbox._offerings).document()
        # Before anything has happened, the scenario says it.
        assert not found.world or found.world == json.loads(json.dumps(world))

    def teardown(self):
        if hasattr(self, "bench"):
            self.bench.sandbox.folder.close()
            self.place.cleanup()


def jobs(bench):
    return {job.name: job for account in bench.sandbox.engine.accounts.values() for job in account.jobs.values()}


def alone(job):
    job = copy.copy(job)
    job.past = []
    return job


TestSandboxes = Sandboxes.TestCase
TestSandboxes.settings = settings(max_examples=30, stateful_step_count=25, deadline=None)
