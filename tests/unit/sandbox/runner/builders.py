"""What the tests of the runner build: a job, an S3 and a log that are dictionaries, and a run of it."""

from __future__ import annotations

import io
import sys
import tarfile
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from airflow_sm_prefer.clock import SystemClock
from airflow_sm_prefer.sandbox.runner import ImageTable, Isolation
from airflow_sm_prefer.sandbox.runner.job import LocalRun
from airflow_sm_prefer.sandbox.runs import Phase, RunResult, RunSpec

MAIN = "/opt/ml/input/data/code/main.py"


class FakeS3:
    """One S3: objects by bucket and key. A bucket that isn't there answers as S3 does."""

    def __init__(self, buckets: tuple[str, ...] = ("data",)) -> None:
        self.buckets: dict[str, dict[str, bytes]] = {name: {} for name in buckets}

    @property
    def data(self) -> dict[str, bytes]:
        return self.buckets["data"]

    def get_paginator(self, operation: str) -> FakeS3:
        assert operation == "list_objects_v2"
        return self

    def paginate(self, Bucket: str, Prefix: str) -> Iterator[dict[str, Any]]:
        keys = sorted(key for key in self._bucket(Bucket) if key.startswith(Prefix))
        # Two a page, so that there are pages.
        for start in range(0, len(keys) or 1, 2):
            page = [{"Key": key} for key in keys[start : start + 2]]
            yield {"Contents": page} if page else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:
        if Key not in self._bucket(Bucket):
            raise refusal("NoSuchKey", "The specified key does not exist.")
        return {"Body": io.BytesIO(self._bucket(Bucket)[Key])}

    def put_object(self, Bucket: str, Key: str, Body: Any) -> None:
        self._bucket(Bucket)[Key] = Body if isinstance(Body, bytes) else Body.read()

    def delete_object(self, Bucket: str, Key: str) -> None:
        self._bucket(Bucket).pop(Key, None)

    def _bucket(self, name: str) -> dict[str, bytes]:
        if name not in self.buckets:
            raise refusal("NoSuchBucket", "The specified bucket does not exist")
        return self.buckets[name]


class FakeLogs:
    """One CloudWatch Logs: the lines of each stream, by batch."""

    def __init__(self) -> None:
        self.batches: dict[str, list[list[str]]] = {}

    def create_log_group(self, **_: Any) -> None:
        pass

    def create_log_stream(self, logGroupName: str, logStreamName: str) -> None:
        self.batches.setdefault(logStreamName, [])

    def put_log_events(self, logGroupName: str, logStreamName: str, logEvents: list[dict[str, Any]]) -> None:
        self.batches[logStreamName].append([event["message"] for event in logEvents])

    def lines(self) -> list[str]:
        """What containers have said: all but the sandbox's own first line."""
        said = [line for batches in self.batches.values() for batch in batches for line in batch]
        return [line for line in said if not line.startswith("sandbox: algo-")]


def refusal(code: str, message: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": message}}, "Operation")


def channel(name: str, uri: str, **source: Any) -> dict[str, Any]:
    return {"ChannelName": name, "DataSource": {"S3DataSource": {"S3DataType": "S3Prefix", "S3Uri": uri, **source}}}


def training(*, hosts: int = 1, **more: Any) -> RunSpec:
    request = {
        "TrainingJobName": "job",
        "AlgorithmSpecification": {
            "TrainingImage": "trainer:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", MAIN],
        },
        "InputDataConfig": [channel("code", "s3://data/code/")],
        "OutputDataConfig": {"S3OutputPath": "s3://data/out"},
        **more,
    }
    return spec("training", request, hosts)


def processing(*, hosts: int = 1, **more: Any) -> RunSpec:
    request = {
        "ProcessingJobName": "job",
        "AppSpecification": {
            "ImageUri": "processor:1",
            "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/main.py"],
        },
        "ProcessingInputs": [s3_input("code", "s3://data/code/")],
        "Tags": [{"Key": "team", "Value": "a"}],
        **more,
    }
    return spec("processing", request, hosts)


def s3_input(name: str, uri: str, **more: Any) -> dict[str, Any]:
    where = {"S3Uri": uri, "LocalPath": f"/opt/ml/processing/input/{name}", "S3DataType": "S3Prefix", **more}
    return {"InputName": name, "S3Input": where}


def s3_output(name: str, mode: str = "EndOfJob") -> dict[str, Any]:
    where = {"S3Uri": f"s3://data/{name}", "LocalPath": f"/opt/ml/processing/{name}", "S3UploadMode": mode}
    return {"OutputName": name, "S3Output": where}


def spec(kind: str, request: dict[str, Any], hosts: int) -> RunSpec:
    return RunSpec(
        kind=kind,
        name="job",
        arn=f"arn:aws:sagemaker:us-east-1:123456789012:{kind}-job/job",
        account="123456789012",
        region="us-east-1",
        request=request,
        instance_type="ml.g5.12xlarge",
        instance_count=hosts,
        endpoint_url="http://127.0.0.1:1",
        environment_id="one",
    )


class Ran:
    """A run in a folder, its S3 and its log."""

    def __init__(self, folder: Path, isolation: Isolation, images: dict[str, str] | None = None) -> None:
        self.s3, self.logs, self.folder = FakeS3(), FakeLogs(), folder
        self.phases: list[Phase] = []
        self.results: list[RunResult] = []
        self._isolation, self._images = isolation, ImageTable(images or {"*": sys.executable})
        self.run: LocalRun | None = None

    def script(self, body: str) -> Ran:
        self.s3.data["code/main.py"] = textwrap.dedent(body).encode()
        return self

    def start(self, job: RunSpec) -> LocalRun:
        clients = {"s3": self.s3, "logs": self.logs}
        self.run = LocalRun(
            job,
            folder=self.folder / "one",
            images=self._images,
            isolation=self._isolation,
            clock=SystemClock(),
            client=clients.__getitem__,
            on_phase=self.phases.append,
            on_end=self.results.append,
        )
        self.run.start()
        return self.run

    def end(self, job: RunSpec) -> RunResult:
        self.start(job).join()
        (result,) = self.results
        return result

    def packed(self, key: str) -> dict[str, bytes]:
        with tarfile.open(fileobj=io.BytesIO(self.s3.data[key])) as tar:
            return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}  # type: ignore[union-attr]


def until(look: Callable[[], Any], seconds: float = 30.0) -> Any:
    """Look until there is something; what processes do takes real time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = look()
        if found:
            return found
        threading.Event().wait(0.02)
    raise AssertionError("it never came")


def alive(marker: str) -> list[int]:
    """Return the processes of this machine that have a text in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if marker.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found
