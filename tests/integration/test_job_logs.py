"""The log of a job in the log of its task: the trigger's part, and the worker's after it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any
from unittest import mock

import pytest
import structlog

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.sandbox.server import SandboxServer
from airflow_sm_prefer.triggers import job_logs
from airflow_sm_prefer.triggers.connection import Connection
from tests.integration import aws
from tests.integration.harness import TaskInstance, airflow_and_sandbox, client, environment
from tests.integration.test_operators import training

GROUP = "/aws/sagemaker/TrainingJobs"


def write(logs: Any, stream: str, *messages: str, at: int) -> None:
    """Write lines of one millisecond, a millisecond apart, into a stream that is made if need be."""
    names = {"logGroupName": GROUP, "logStreamName": stream}
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_group(logGroupName=GROUP)
    with contextlib.suppress(logs.exceptions.ResourceAlreadyExistsException):
        logs.create_log_stream(**names)
    events = [{"timestamp": at + n, "message": message} for n, message in enumerate(messages)]
    logs.put_log_events(**names, logEvents=events)


async def until(condition: Any) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.05)


async def test_lines_of_two_jobs_reach_the_logs_of_their_tasks_over_the_wire() -> None:
    with SandboxServer() as server, mock.patch.dict("os.environ", environment(server, 1.0)):
        logs = await asyncio.to_thread(aws.client, server.endpoint_url, "logs")
        now = round(time.time() * 1000) - 60_000
        # All are there before one is read: a job with one stream yet has no names before its lines.
        for host in (1, 2):
            await asyncio.to_thread(write, logs, f"job-a/algo-{host}-1", f"a{host}", at=now)
        await asyncio.to_thread(write, logs, "job-b/algo-1-1", "b", at=now)
        with structlog.testing.capture_logs(processors=[structlog.contextvars.merge_contextvars]) as seen:
            followings, clock = [], SystemClock()
            for number, job in enumerate(("job-a", "job-b"), start=1):
                # What Airflow does for each trigger, and tells the lines of the process apart by.
                structlog.contextvars.bind_contextvars(trigger_id=number)
                write_line = structlog.get_logger("task").info
                followings.append(job_logs.logs_for(Connection(), clock).follow(GROUP, job, write_line))
            structlog.contextvars.unbind_contextvars("trigger_id")
            await until(lambda: len([line for line in seen if "trigger_id" in line]) == 3)
        for following in followings:
            following.close()
        told = {(line["trigger_id"], line["event"]) for line in seen if "trigger_id" in line}
        assert told == {(1, "[algo-1] a1"), (1, "[algo-2] a2"), (2, "b")}


@pytest.mark.parametrize("copied", ["by stream", "two instants, as written before", None])
def test_the_worker_prints_what_the_trigger_has_not(copied: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    at = round(time.time() * 1000)
    with airflow_and_sandbox() as airflow:
        operator, ti = training(print_log=True), TaskInstance()
        event = airflow.fire(airflow.begin(operator, ti))
        stream = f"{airflow.jobs()[0]['name']}/algo-1-1"
        write(client(airflow, "logs"), stream, "handed out", "left", at=at - 1)
        if copied == "by stream":
            event["state"]["logged"] = {"marks": [[at, at + 60_000, "algo-1-1"]]}
        elif copied:
            del event["state"]["logged"]
            event["state"] |= {"logged_until": at, "logged_streams": at + 60_000}
        capsys.readouterr()
        operator.resume(airflow.context(ti), event=event)
    said, clock = capsys.readouterr().out, time.strftime("%H:%M:%S", time.gmtime(at / 1000))
    assert said.count("left") == 1
    assert said.count("handed out") == (0 if copied else 1)
    assert said.count(f"Lines before {clock} UTC are in the trigger's log.") == (1 if copied else 0)
