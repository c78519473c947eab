"""One demo from its start to its end, whatever the end is."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from airflow_sm_prefer.cli.demo import report as reports
from airflow_sm_prefer.cli.demo.console import Teller
from airflow_sm_prefer.cli.demo.environment import SPEED
from airflow_sm_prefer.cli.demo.errors import DemoError
from airflow_sm_prefer.cli.demo.follow import ENDED, Follower, last_words
from airflow_sm_prefer.cli.demo.home import Home
from airflow_sm_prefer.cli.demo.jobs import Jobs
from airflow_sm_prefer.cli.demo.neighbour import Neighbour
from airflow_sm_prefer.cli.demo.report import Report
from airflow_sm_prefer.cli.demo.rest import ANSWERS, AirflowApi
from airflow_sm_prefer.cli.demo.stack import Stack

DAG_ID = "nightly_training"
TRAIN = "train"
LOOK_SECONDS = 1.0
RUN_SECONDS = 900.0
"""A run takes about a minute; one that takes this long hangs."""


@dataclass(slots=True)
class Session:
    """A demo at work in its folder.

    Attributes:
        home: The folder; claimed and locked.
        stack: Its processes.
        tell: Where it speaks.
    """

    home: Home
    stack: Stack
    tell: Teller

    def run(self) -> Report:
        """Start everything, run the DAG once, and return what was measured.

        Raises:
            DemoError: something of it went wrong; a DAG run that failed is no error but a report.
        """
        began = time.monotonic()
        api = AirflowApi(self.stack.addresses.ui)
        self.home.clear()
        self.tell.say("Starting the sandbox and Airflow: api-server, scheduler, triggerer, dag-processor.")
        self.stack.start()
        self.stack.wait(api, DAG_ID)
        self.tell.say(f"All are up. Airflow UI, no password needed: {self.stack.addresses.ui}", "loud")
        run_id = self._trigger(api)
        state = self._follow(api, run_id)
        wall_seconds = time.monotonic() - began
        if state != "success":
            self._show_failures(api, run_id)
        return self._report(api, run_id, state, wall_seconds)

    def _trigger(self, api: AirflowApi) -> str:
        api.unpause(DAG_ID)
        run_id = api.trigger(DAG_ID)
        self.tell.say(f"Run {run_id}: {self.stack.addresses.ui}/dags/{DAG_ID}/runs/{run_id}")
        return run_id

    def _follow(self, api: AirflowApi, run_id: str) -> str:
        follower = Follower(api, DAG_ID, run_id, self.tell.say)
        neighbour = Neighbour(self.stack.addresses.sandbox, self.tell.say)
        deadline = time.monotonic() + RUN_SECONDS
        while time.monotonic() < deadline:
            self.stack.check()
            neighbour.look()
            try:
                state = follower.look()
            except ANSWERS as error:
                # SQLite has one writer: an answer can be late or refused, and the next look brings the same.
                self.tell.say(f"Airflow didn't answer in time: {error}", "quiet")
                state = ""
            if state in ENDED:
                return state
            time.sleep(LOOK_SECONDS)
        msg = f"The run isn't over after {RUN_SECONDS:.0f} s; the logs are in {self.home.logs}."
        raise DemoError(msg, self.home.logs / "scheduler.log")

    def _show_failures(self, api: AirflowApi, run_id: str) -> None:
        for instance in api.task_instances(DAG_ID, run_id):
            if instance["state"] == "failed":
                entries = api.log(DAG_ID, run_id, instance["task_id"], instance["try_number"])
                self.tell.block(f"--- the end of the log of {instance['task_id']}", "quiet")
                self.tell.block("\n".join(last_words(entries)))
        self.tell.block(f"The logs of all tasks are in {self.home.airflow / 'logs'}.", "quiet")

    def _report(self, api: AirflowApi, run_id: str, state: str, wall_seconds: float) -> Report:
        jobs = Jobs(self.stack.addresses.sandbox)
        job = self._training_job(api, run_id, jobs)
        events = [event for event in api.events(DAG_ID, run_id) if event["task_id"] == TRAIN]
        report = reports.measure(
            state=state, job=job, events=events, wall_seconds=wall_seconds, ui=self.stack.addresses.ui
        )
        types = reports.preference_types(job.get("ResourceConfig", {}))
        for line in reports.summary(report, types, SPEED):
            self.tell.block(line, "loud")
        if report.artifact is not None:
            size = jobs.download(report.artifact, self.home.model)
            self.tell.block(f"       a copy of it ({size:,} bytes): {self.home.model}")
        return report

    @staticmethod
    def _training_job(api: AirflowApi, run_id: str, jobs: Jobs) -> dict[str, Any]:
        """Ask for the job that the task returned; a task that failed returned none, but its job may be there."""
        returned = api.xcom(DAG_ID, run_id, TRAIN) or {}
        name = returned.get("Training", {}).get("TrainingJobName") or jobs.last_training_job()
        return jobs.training_job(name) if name else {}
