"""How many calls a second the sandbox answers over the wire on one core, beside what moto's own server does.

    .venv/bin/python benchmarks/sandbox_wire.py [--jobs 10000] [--seconds 4]

Each server is a process of its own, and both are bound to one core; the load comes from this process, bound to
another. Both know as many training jobs, made in their process before they serve; of the sandbox's, a third waits, a
third runs and a third has ended, where moto's are Completed at birth. The connections each send a call when the last
is answered, and keep alive as far as the server lets them: moto's closes every one. The two take turns, so that what
else the machine does falls on both alike, and medians are compared.

A figure "by the clock" is what a client saw; one "of the core's time" counts only the time that the server had the
core, and is what there would be if nothing else ran. The budget is 1,000 DescribeTrainingJob in a second of a core's
time.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import itertools
import json
import logging
import os
import random
import selectors
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import psutil

BUDGET = 1_000.0
CONNECTIONS = 4
ROUNDS = 3
SERVER_CORE, LOAD_CORE = 0, 1

ACCOUNT, REGION = "123456789012", "us-east-1"
SIGNATURE = f"AWS4-HMAC-SHA256 Credential=key/20261130/{REGION}/sagemaker/aws4_request, SignedHeaders=host, Signature="
# What boto3 sends, with a signature that nobody checks.
HEAD = (
    "POST / HTTP/1.1\r\nHost: {host}\r\nAccept-Encoding: identity\r\nX-Amz-Target: SageMaker.{operation}\r\n"
    "Content-Type: application/x-amz-json-1.1\r\n"
    "User-Agent: Boto3/1.43.90 md/Botocore#1.43.90 ua/2.1 os/linux#6.8 md/arch#x86_64 lang/python#3.11.7\r\n"
    "X-Amz-Date: 20261130T000000Z\r\n"
    f"Authorization: {SIGNATURE}{'0' * 64}\r\n"
    "amz-sdk-invocation-id: 00000000-0000-0000-0000-000000000000\r\namz-sdk-request: attempt=1\r\n"
    "Content-Length: {length}\r\n\r\n"
)


def job_name(number: int) -> str:
    return f"{('waits', 'runs', 'ends')[number % 3]}-nightly-training-{number:06d}"


def create_request(number: int) -> dict[str, Any]:
    """Return a request of the size that people send."""
    first = "ml.p5.48xlarge" if number % 3 == 0 else "ml.g5.xlarge"
    s3 = {"S3DataType": "S3Prefix", "S3Uri": "s3://bucket/input/", "S3DataDistributionType": "FullyReplicated"}
    return {
        "TrainingJobName": job_name(number),
        "RoleArn": f"arn:aws:iam::{ACCOUNT}:role/training",
        "AlgorithmSpecification": {
            "TrainingImage": f"{ACCOUNT}.dkr.ecr.{REGION}.amazonaws.com/trainer:1",
            "TrainingInputMode": "File",
        },
        "HyperParameters": {"epochs": "10", "learning-rate": "0.001", "batch-size": "64"},
        "Environment": {"STAGE": "nightly"},
        "InputDataConfig": [{"ChannelName": "train", "DataSource": {"S3DataSource": s3}}],
        "OutputDataConfig": {"S3OutputPath": "s3://bucket/models"},
        "CheckpointConfig": {"S3Uri": f"s3://bucket/checkpoints/{number}"},
        "ResourceConfig": {
            "InstancePreferences": [
                {"InstanceType": first, "InstanceCount": 1},
                {"InstanceType": "ml.p4d.24xlarge", "InstanceCount": 1},
            ],
            "VolumeSizeInGB": 30,
        },
        "StoppingCondition": {"MaxRuntimeInSeconds": 432_000, "MaxPendingTimeInSeconds": 432_000},
        "Tags": [{"Key": "task", "Value": f"train-{number % 10}"}],
    }


# The servers; each imports what it needs, so that none carries the other.
# ruff: noqa: PLC0415


@contextlib.contextmanager
def sandbox(jobs: int) -> Iterator[str]:
    from airflow_sm_prefer.sandbox import SandboxServer, Script, ScriptedRunner

    runner = ScriptedRunner({"ends-*": Script(seconds=0)}, Script(seconds=400_000))
    scenario = {"rates": False, "capacity": {"ml.p5.48xlarge": 0, "ml.p4d.24xlarge": 0}}
    with SandboxServer(scenario, runner=runner) as server:
        for number in range(jobs):
            server.sandbox.call("CreateTrainingJob", create_request(number))
        yield server.endpoint_url


@contextlib.contextmanager
def moto(jobs: int) -> Iterator[str]:
    from botocore import xform_name
    from moto.moto_server.threaded_moto_server import ThreadedMotoServer
    from moto.sagemaker.models import sagemaker_backends

    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # no line for each request
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    # Its backend takes every member by name, given or not.
    backend = sagemaker_backends[ACCOUNT][REGION]
    absent = dict.fromkeys(inspect.signature(backend.create_training_job).parameters)
    for number in range(jobs):
        request = {xform_name(key): value for key, value in create_request(number).items() if key != "Environment"}
        backend.create_training_job(**(absent | request))
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


SERVERS: dict[str, Callable[[int], contextlib.AbstractContextManager[str]]] = {"sandbox": sandbox, "moto": moto}


def serve(name: str, jobs: int) -> None:
    """Serve until standard input ends."""
    os.sched_setaffinity(0, {SERVER_CORE})
    with SERVERS[name](jobs) as url:
        print(url, flush=True)
        sys.stdin.read()


@dataclass(frozen=True)
class Server:
    url: str
    process: psutil.Process

    def core_seconds(self) -> float:
        """Return how long it has had its core so far."""
        times = self.process.cpu_times()
        return times.user + times.system


@contextlib.contextmanager
def serving(name: str, jobs: int) -> Iterator[Server]:
    command = [sys.executable, __file__, "--serve", name, "--jobs", str(jobs)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Server(process.stdout.readline().strip(), psutil.Process(process.pid))
        process.communicate()


# The load


class Connection:
    """One connection of a client that has one call under way at a time."""

    def __init__(self, url: str) -> None:
        host, _, port = url.removeprefix("http://").partition(":")
        self.address = (host, int(port))
        self._host = f"{host}:{port}"
        self._socket: socket.socket | None = None
        self.answer = b""

    def send(self, operation: str, request: dict[str, Any]) -> socket.socket:
        """Send a call, and return the socket on which its answer will come."""
        body = json.dumps(request)
        if self._socket is None:
            self._socket = socket.create_connection(self.address)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall((HEAD.format(host=self._host, operation=operation, length=len(body)) + body).encode())
        return self._socket

    def receive(self) -> bytes:
        """Return the body of the answer, which must be a success."""
        assert self._socket is not None
        head, _, body = self._socket.recv(262_144).partition(b"\r\n\r\n")
        fields = head.lower()
        if not head.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"{head!r} {body!r}")
        length = int(fields.partition(b"content-length:")[2].split(b"\r\n", 1)[0])
        while len(body) < length:
            body += self._socket.recv(262_144)
        if b"connection: close" in fields:
            self.close()
        return body

    def call(self, operation: str, request: dict[str, Any]) -> None:
        """Make one call, and keep its answer."""
        self.send(operation, request)
        self.answer = self.receive()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@dataclass(frozen=True)
class Took:
    """What some calls took: seconds by the clock, and of the core's time."""

    calls: int
    clock: float
    core: float


@contextlib.contextmanager
def measured(server: Server, found: list[Took]) -> Iterator[list[None]]:
    """Append to ``found`` what the calls took for which an element was put into the list that it gives."""
    calls: list[None] = []
    clock, core = time.perf_counter(), server.core_seconds()
    yield calls
    found.append(Took(len(calls), time.perf_counter() - clock, server.core_seconds() - core))


def describe_for(seconds: float, server: Server, jobs: int) -> Took:
    """Describe random jobs for so long."""
    names = random.Random(0).choices([job_name(number) for number in range(jobs)], k=10_000)
    requests = itertools.cycle({"TrainingJobName": name} for name in names)
    found: list[Took] = []
    with selectors.DefaultSelector() as waiting:
        for _ in range(CONNECTIONS):
            connection = Connection(server.url)
            waiting.register(connection.send("DescribeTrainingJob", next(requests)), selectors.EVENT_READ, connection)
        end = time.perf_counter() + seconds
        with measured(server, found) as calls:
            while time.perf_counter() < end:
                for key, _ in waiting.select():
                    waiting.unregister(key.fileobj)
                    key.data.receive()
                    calls.append(None)
                    sent_on = key.data.send("DescribeTrainingJob", next(requests))
                    waiting.register(sent_on, selectors.EVENT_READ, key.data)
        for key in list(waiting.get_map().values()):
            key.data.close()
    return found[0]


def other_calls(server: Server, jobs: int) -> Iterator[tuple[str, Took]]:
    """Yield what else people call, and what that took."""
    connection = Connection(server.url)
    live = {"MaxResults": 100, "StatusEquals": "InProgress", "NameContains": "runs", "SortBy": "Name"}
    tagged = {"Filters": [{"Name": "Tags.task", "Operator": "Equals", "Value": "train-3"}]}
    search = {"Resource": "TrainingJob", "MaxResults": 100, "SearchExpression": tagged}
    new = (create_request(jobs + number) for number in range(300))
    rows: list[tuple[str, str, Iterable[dict[str, Any]]]] = [
        ("List, 100 rows", "ListTrainingJobs", [{"MaxResults": 100}] * 30),
        ("List, 100 rows by status, name and order", "ListTrainingJobs", [live] * 30),
        ("List, all jobs, 100 rows a page", "ListTrainingJobs", _pages(connection, jobs)),
        ("Search by a tag, 100 rows", "Search", [search] * 4),
        ("Create", "CreateTrainingJob", new),
    ]
    for what, operation, requests in rows:
        found: list[Took] = []
        with measured(server, found) as calls:
            for request in requests:
                connection.call(operation, request)
                calls.append(None)
        yield what, found[0]
    connection.close()


def _pages(connection: Connection, jobs: int) -> Iterator[dict[str, Any]]:
    """Yield the requests for one page after another, and see that the pages have every job."""
    seen: set[str] = set()
    request: dict[str, Any] | None = {"MaxResults": 100}
    while request is not None:
        yield request
        page = json.loads(connection.answer)
        seen |= {row["TrainingJobName"] for row in page["TrainingJobSummaries"]}
        request = {"MaxResults": 100, "NextToken": page["NextToken"]} if "NextToken" in page else None
    if len(seen) != jobs:
        raise RuntimeError(f"the pages have {len(seen)} of {jobs} jobs")


def main() -> int:
    """Measure, print, and return 1 if a core's second is too short for the budget."""
    parser = argparse.ArgumentParser(description="Calls a second of the sandbox, beside moto's own server.")
    parser.add_argument("--jobs", type=int, default=10_000, help="how many training jobs each server knows")
    parser.add_argument("--seconds", type=float, default=4.0, help="how long each of the measurements takes")
    parser.add_argument("--serve", choices=SERVERS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.jobs)
        return 0
    os.sched_setaffinity(0, {LOAD_CORE})
    with serving("sandbox", given.jobs) as ours, serving("moto", given.jobs) as theirs:
        rounds = [[describe_for(given.seconds, server, given.jobs) for server in (ours, theirs)] for _ in range(ROUNDS)]
        print(f"{given.jobs} training jobs known, {CONNECTIONS} connections, the server on one core")
        print(f"{'':<42} {'sandbox':>9} {'moto':>9} {'ratio':>7}")
        for what, rate in (
            ("by the clock", lambda took: took.calls / took.clock),
            ("of the core's time", lambda took: took.calls / took.core),
        ):
            rates = [statistics.median(map(rate, found)) for found in zip(*rounds, strict=True)]
            told = f"DescribeTrainingJob a second {what}"
            print(f"  {told:<40} {rates[0]:9.0f} {rates[1]:9.0f} {rates[0] / rates[1]:7.1f}")
        print(f"{'milliseconds a call':<42} {'clock':>9} {'core':>9}")
        for what, took in other_calls(ours, given.jobs):
            print(f"  {what:<40} {1e3 * took.clock / took.calls:9.1f} {1e3 * took.core / took.calls:9.1f}")
    return 0 if rates[0] >= BUDGET else 1


if __name__ == "__main__":
    sys.exit(main())
