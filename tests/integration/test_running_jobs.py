"""Jobs that really run: what a script sees, and what becomes of what it leaves. Both ways of having /opt/ml."""

from __future__ import annotations

import io
import json
import sys
import tarfile
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner import ImageTable, Isolation, LocalRunner
from airflow_sm_prefer.sandbox.runner.failures import RunFailed
from airflow_sm_prefer.sandbox.runner.isolation import best_isolation
from airflow_sm_prefer.sandbox.runner.job import LocalRun
from airflow_sm_prefer.sandbox.runner.mirror import Mirror
from airflow_sm_prefer.sandbox.server import SandboxServer
from tests.integration import aws

SPEED = 60.0


class World:
    """A sandbox whose jobs run, and clients for it."""

    def __init__(self, server: SandboxServer, runner: LocalRunner, folder: Path) -> None:
        self.server, self.runner, self.folder = server, runner, folder
        self.sagemaker, self.s3, self.logs = (self.client(name) for name in ("sagemaker", "s3", "logs"))
        self.s3.create_bucket(Bucket="data")

    def client(self, service: str, key: str = "a") -> Any:
        return aws.client(self.server.endpoint_url, service, key=key)

    def script(self, body: str, name: str = "main.py") -> None:
        self.s3.put_object(Bucket="data", Key=f"code/{name}", Body=textwrap.dedent(body).encode())

    def train(self, name: str = "job", *, channels: list[dict[str, Any]] | None = None, **more: Any) -> dict[str, Any]:
        request = {
            "TrainingJobName": name,
            "AlgorithmSpecification": {
                "TrainingImage": "trainer:1",
                "TrainingInputMode": "File",
                "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
            },
            "RoleArn": "arn:aws:iam::123456789012:role/training",
            "InputDataConfig": [channel("code", "s3://data/code"), *(channels or [])],
            "OutputDataConfig": {"S3OutputPath": "s3://data/models/"},
            "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
            "StoppingCondition": {"MaxRuntimeInSeconds": 3600},
            **more,
        }
        self.sagemaker.create_training_job(**request)
        return self.ended(name)

    def process(self, name: str = "prep", **more: Any) -> dict[str, Any]:
        request = {
            "ProcessingJobName": name,
            "AppSpecification": {
                "ImageUri": "processor:1",
                "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/main.py"],
            },
            "RoleArn": "arn:aws:iam::123456789012:role/training",
            "ProcessingInputs": [
                {
                    "InputName": "code",
                    "S3Input": {
                        "S3Uri": "s3://data/code",
                        "LocalPath": "/opt/ml/processing/input/code",
                        "S3DataType": "S3Prefix",
                        "S3InputMode": "File",
                    },
                }
            ],
            "ProcessingResources": {
                "ClusterConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}
            },
            **more,
        }
        self.sagemaker.create_processing_job(**request)
        return self.ended(name, "Processing")

    def ended(self, name: str, word: str = "Training") -> dict[str, Any]:
        describe = getattr(self.sagemaker, f"describe_{word.lower()}_job")
        return self.until(
            lambda: describe(**{f"{word}JobName": name}),
            lambda job: job[f"{word}JobStatus"] not in {"InProgress", "Stopping"},
        )

    def until(self, look: Any, good: Any) -> Any:
        for _ in range(600):
            found = look()
            if good(found):
                return found
            time.sleep(0.1)
        raise AssertionError(found)

    def said(self, name: str, group: str = "TrainingJobs") -> list[str]:
        """The job's log; on several hosts, with the host before each line."""
        group = f"/aws/sagemaker/{group}"
        streams = self.logs.describe_log_streams(logGroupName=group, logStreamNamePrefix=f"{name}/")["logStreams"]
        lines = []
        for stream in streams:
            events = self.logs.get_log_events(logGroupName=group, logStreamName=stream["logStreamName"])["events"]
            lines += [event["message"] for event in events]
        return lines

    def object(self, key: str) -> bytes:
        return self.s3.get_object(Bucket="data", Key=key)["Body"].read()

    def packed(self, key: str, name: str) -> bytes:
        with tarfile.open(fileobj=io.BytesIO(self.object(key))) as tar:
            return tar.extractfile(name).read()


def channel(name: str, uri: str, **more: Any) -> dict[str, Any]:
    source = {"S3DataType": "S3Prefix", "S3Uri": uri, **more}
    return {"ChannelName": name, "DataSource": {"S3DataSource": source}}


ISOLATIONS = [
    pytest.param(
        Isolation.NAMESPACE,
        marks=pytest.mark.skipif(best_isolation() is Isolation.REWRITTEN, reason="no mount namespaces here"),
    ),
    Isolation.REWRITTEN,
]


@pytest.fixture(params=ISOLATIONS)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    images = ImageTable({"missing:*": ""})
    runner = LocalRunner(tmp_path / "jobs", images, isolation=request.param)
    with SandboxServer({"rates": False}, speed=SPEED, runner=runner) as server:
        yield World(server, runner, tmp_path / "jobs")


def test_a_script_finds_its_data_its_settings_and_its_place(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_THIS_MACHINE", "x")
    world.s3.put_object(Bucket="data", Key="raw/a/one.txt", Body=b"1")
    world.s3.put_object(Bucket="data", Key="raw/two.txt", Body=b"2")
    world.script("""
        import json, os, pathlib
        ml = pathlib.Path("/opt/ml")
        seen = {
            "files": sorted(str(p.relative_to(ml / "input/data/raw")) for p in (ml / "input/data/raw").rglob("*.txt")),
            "hyperparameters": json.loads((ml / "input/config/hyperparameters.json").read_text()),
            "resources": json.loads((ml / "input/config/resourceconfig.json").read_text()),
            "channels": json.loads((ml / "input/config/inputdataconfig.json").read_text()),
            "environment": {k: v for k, v in os.environ.items()},
        }
        (ml / "model/seen.json").write_text(json.dumps(seen))
    """)
    job = world.train(
        channels=[channel("raw", "s3://data/raw")], HyperParameters={"epochs": "3"}, Environment={"MODE": "fast"}
    )
    assert job["TrainingJobStatus"] == "Completed", job.get("FailureReason")
    assert job["ModelArtifacts"]["S3ModelArtifacts"] == "s3://data/models/job/output/model.tar.gz"
    seen = json.loads(world.packed("models/job/output/model.tar.gz", "seen.json"))
    assert seen["files"] == ["a/one.txt", "two.txt"]
    assert seen["hyperparameters"] == {"epochs": "3"}
    assert seen["resources"]["current_host"] == "algo-1"
    assert seen["resources"]["hosts"] == ["algo-1"]
    assert set(seen["channels"]) == {"code", "raw"}
    environment = seen["environment"]
    assert environment["MODE"] == "fast"
    assert environment["TRAINING_JOB_NAME"] == "job"
    assert environment["TRAINING_JOB_ARN"] == job["TrainingJobArn"]
    assert environment["AWS_ENDPOINT_URL"] == world.server.endpoint_url
    assert "SECRET_OF_THIS_MACHINE" not in environment
    # The toolkit's variables are the toolkit's: a container with an entrypoint of its own doesn't begin with it.
    assert not [name for name in environment if name.startswith("SM_")]


def test_the_scripts_output_is_its_log_and_the_first_line_says_how_it_runs(world: World) -> None:
    world.script("import sys; print('hello'); print('there', file=sys.stderr)")
    world.train()
    first, *rest = world.said("job")
    assert f"/opt/ml by {world.runner.isolation.value}" in first
    assert sorted(rest) == ["hello", "there"]


def test_a_job_acts_for_its_own_account_and_its_log_is_there(world: World) -> None:
    world.script("import boto3; print(boto3.client('sts').get_caller_identity()['Account'])")
    world.sagemaker, world.logs = (world.client(name, key="111122223333") for name in ("sagemaker", "logs"))
    assert world.train()["TrainingJobStatus"] == "Completed"
    assert world.said("job")[1:] == ["111122223333"]


def test_a_failed_script_ends_with_what_it_wrote_to_failure(world: World) -> None:
    world.script("""
        import pathlib, sys
        pathlib.Path("/opt/ml/output/failure").write_text("the loss is NaN" + "." * 2000)
        sys.exit(3)
    """)
    job = world.train()
    assert job["TrainingJobStatus"] == "Failed"
    assert job["FailureReason"].startswith("AlgorithmError: the loss is NaN")
    assert job["FailureReason"].endswith(", exit code: 3")
    assert len(job["FailureReason"]) <= 1024


def test_an_image_that_is_not_there_fails_the_job(world: World) -> None:
    world.script("")
    job = world.train(AlgorithmSpecification={"TrainingImage": "missing:1", "TrainingInputMode": "File"})
    assert job["FailureReason"].startswith("ClientError: Cannot pull algorithm container.")


@pytest.mark.parametrize("uri", ["s3://data/nothing-here", "s3://no-such-bucket-at-all/x"])
def test_data_that_is_not_there_fails_the_job(world: World, uri: str) -> None:
    world.script("")
    assert world.train(channels=[channel("raw", uri)])["FailureReason"].startswith("ClientError: Data download failed:")


def test_script_mode_runs_a_program_out_of_an_archive_with_its_hyperparameters(world: World) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        body = b"import os, sys; print(os.getcwd(), sys.argv[1:], os.environ['SM_CHANNEL_CODE'])"
        info = tarfile.TarInfo("train.py")
        info.size = len(body)
        tar.addfile(info, io.BytesIO(body))
    world.s3.put_object(Bucket="data", Key="sourcedir.tar.gz", Body=packed.getvalue())
    job = world.train(
        AlgorithmSpecification={"TrainingImage": "trainer:1", "TrainingInputMode": "File"},
        InputDataConfig=[channel("code", "s3://data/sourcedir.tar.gz")],
        HyperParameters={
            "sagemaker_program": '"train.py"',
            "sagemaker_submit_directory": '"s3://data/sourcedir.tar.gz"',
            "epochs": "3",
        },
    )
    assert job["TrainingJobStatus"] == "Completed", job.get("FailureReason")
    said = world.said("job")[1]
    assert "/code ['--epochs', '3'] /" in said
    assert said.endswith("/input/data/code")


def test_checkpoints_come_back_and_go_out_while_the_job_runs(world: World) -> None:
    world.s3.put_object(Bucket="data", Key="ckpt/epoch", Body=b"7")
    world.script("""
        import pathlib, time
        path = pathlib.Path("/opt/ml/checkpoints/epoch")
        path.write_text(str(int(path.read_text()) + 1))
        time.sleep(60)
    """)
    world.sagemaker.create_training_job(**{**request_of(world), "CheckpointConfig": {"S3Uri": "s3://data/ckpt"}})
    world.until(lambda: world.object("ckpt/epoch"), lambda body: body == b"8")
    world.sagemaker.stop_training_job(TrainingJobName="job")
    assert world.ended("job")["TrainingJobStatus"] == "Stopped"


def request_of(world: World) -> dict[str, Any]:
    return {
        "TrainingJobName": "job",
        "AlgorithmSpecification": {
            "TrainingImage": "trainer:1",
            "TrainingInputMode": "File",
            "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
        },
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "InputDataConfig": [channel("code", "s3://data/code")],
        "OutputDataConfig": {"S3OutputPath": "s3://data/models"},
        "ResourceConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1},
        "StoppingCondition": {"MaxRuntimeInSeconds": 86400},
    }


def test_a_stopped_script_hears_of_it_and_its_model_is_kept(world: World) -> None:
    world.script("""
        import pathlib, signal, sys, time
        def bye(*_):
            pathlib.Path("/opt/ml/model/last").write_text("saved")
            sys.exit(0)
        signal.signal(signal.SIGTERM, bye)
        print("ready")
        time.sleep(60)
    """)
    world.sagemaker.create_training_job(**request_of(world))
    world.until(lambda: log_or_nothing(world), lambda lines: "ready" in lines)
    world.sagemaker.stop_training_job(TrainingJobName="job")
    job = world.ended("job")
    assert job["TrainingJobStatus"] == "Stopped"
    assert world.packed("models/job/output/model.tar.gz", "last") == b"saved"


def test_a_script_that_will_not_stop_is_killed_after_its_grace(world: World) -> None:
    world.script("""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready")
        time.sleep(60)
    """)
    world.sagemaker.create_training_job(**request_of(world))
    world.until(lambda: log_or_nothing(world), lambda lines: "ready" in lines)
    world.sagemaker.stop_training_job(TrainingJobName="job")
    assert world.ended("job")["TrainingJobStatus"] == "Stopped"


def test_a_script_that_will_not_stop_is_killed_when_its_grace_is_leapt_over(world: World) -> None:
    world.script("""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready")
        time.sleep(600)
    """)
    world.sagemaker.create_training_job(**request_of(world))
    world.until(lambda: log_or_nothing(world), lambda lines: "ready" in lines)
    world.server.sandbox.change(speed=0.001)
    world.sagemaker.stop_training_job(TrainingJobName="job")
    world.server.sandbox.change(advance=119)
    assert world.sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobStatus"] == "Stopping"
    world.server.sandbox.change(advance=1)
    assert world.ended("job")["TrainingJobStatus"] == "Stopped"


def log_or_nothing(world: World) -> list[str]:
    try:
        return world.said("job")
    except world.logs.exceptions.ResourceNotFoundException:
        return []


def test_several_hosts_each_know_who_they_are_and_share_sharded_data(world: World) -> None:
    for number in range(4):
        world.s3.put_object(Bucket="data", Key=f"raw/{number}", Body=b"x")
    world.script("""
        import json, pathlib
        host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
        print(host, sorted(p.name for p in pathlib.Path("/opt/ml/input/data/raw").iterdir()))
    """)
    job = world.train(
        channels=[channel("raw", "s3://data/raw", S3DataDistributionType="ShardedByS3Key")],
        ResourceConfig={"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1},
    )
    assert job["TrainingJobStatus"] == "Completed", job.get("FailureReason")
    said = [line for line in world.said("job") if not line.startswith("sandbox:")]
    assert sorted(said) == ["algo-1 ['0', '2']", "algo-2 ['1', '3']"]


def test_one_host_that_fails_ends_the_others_and_gives_the_reason(world: World) -> None:
    world.script("""
        import json, sys, time
        if json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"] == "algo-2":
            sys.exit(5)
        time.sleep(60)
    """)
    job = world.train(ResourceConfig={"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1})
    assert job["FailureReason"] == "AlgorithmError: , exit code: 5"


def test_a_manifest_names_what_is_downloaded(world: World) -> None:
    for name in ("a", "b", "c"):
        world.s3.put_object(Bucket="data", Key=f"raw/{name}", Body=name.encode())
    manifest = json.dumps([{"prefix": "s3://data/raw/"}, "a", "c"]).encode()
    world.s3.put_object(Bucket="data", Key="manifest", Body=manifest)
    world.script("import os; print(sorted(os.listdir('/opt/ml/input/data/raw')))")
    world.train(channels=[channel("raw", "s3://data/manifest", S3DataType="ManifestFile")])
    assert world.said("job")[1] == "['a', 'c']"


def test_a_processing_job_uploads_its_outputs_and_its_message(world: World) -> None:
    world.script("""
        import json, pathlib
        out = pathlib.Path("/opt/ml/processing/output/train")
        out.mkdir(parents=True)
        (out / "rows.csv").write_text("1,2")
        pathlib.Path("/opt/ml/output/message").write_text("two rows")
        print(json.loads(pathlib.Path("/opt/ml/config/resourceconfig.json").read_text()))
    """)
    outputs = [
        {
            "OutputName": "split",
            "S3Output": {
                "S3Uri": "s3://data/split",
                "LocalPath": "/opt/ml/processing/output",
                "S3UploadMode": "EndOfJob",
            },
        }
    ]
    job = world.process(ProcessingOutputConfig={"Outputs": outputs})
    assert job["ProcessingJobStatus"] == "Completed", job.get("FailureReason")
    assert job["ExitMessage"] == "two rows"
    assert world.object("split/train/rows.csv") == b"1,2"
    assert "'hosts': ['algo-1']" in world.said("prep", "ProcessingJobs")[1]


def test_an_output_that_has_nowhere_to_go_fails_the_job(world: World) -> None:
    world.script("open('/opt/ml/model/x', 'w').write('1')")
    job = world.train(OutputDataConfig={"S3OutputPath": "s3://no-such-bucket-at-all/x"})
    assert job["FailureReason"].startswith("ClientError: Artifact upload failed:")


def test_nothing_is_left_behind(world: World) -> None:
    world.script("import subprocess; subprocess.Popen(['sleep', '60']); print('done')")
    world.train()
    world.runner.close()
    assert list(world.folder.iterdir()) == []
    assert str(world.folder) not in Path("/proc/mounts").read_text()


def test_a_job_without_an_entrypoint_is_refused_in_words(world: World) -> None:
    world.script("")
    job = world.train(AlgorithmSpecification={"TrainingImage": "trainer:1", "TrainingInputMode": "File"})
    assert "ContainerEntrypoint" in job["FailureReason"]


def s3_input(name: str, uri: str, **more: Any) -> dict[str, Any]:
    path = f"/opt/ml/processing/input/{name}"
    return {"InputName": name, "S3Input": {"S3Uri": uri, "S3DataType": "S3Prefix", "LocalPath": path, **more}}


def s3_output(name: str, mode: str = "EndOfJob") -> dict[str, Any]:
    where = {"S3Uri": f"s3://data/{name}", "LocalPath": f"/opt/ml/processing/{name}", "S3UploadMode": mode}
    return {"OutputName": name, "S3Output": where}


CODE = s3_input("code", "s3://data/code", S3InputMode="File")


def test_pythons_of_every_name_are_the_images_and_requirements_are_not_installed(world: World) -> None:
    world.script("""
        import subprocess, sys
        for command in (
            [sys.executable, "-m", "pip", "install", "no-such-package-anywhere"],
            ["pip", "install", "-r", "requirements.txt"],
            ["bash", "-c", "$(command -v python3) -c 'import sys; print(sys.executable)'"],
        ):
            print(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()[-1])
    """)
    job = world.train(Environment={"PYTHONPATH": "/somewhere"})
    assert job["TrainingJobStatus"] == "Completed", job.get("FailureReason")
    installed = f"sandbox: nothing is installed; this job has the packages of {sys.executable}"
    assert world.said("job")[1:] == [installed, installed, sys.executable]


def test_an_output_is_uploaded_while_the_job_runs_if_it_is_continuous(world: World) -> None:
    world.script("""
        import pathlib, time
        for name in ("now", "later"):
            pathlib.Path("/opt/ml/processing", name, "x").write_text(name)
        time.sleep(60)
    """)
    world.sagemaker.create_processing_job(
        **processing_of(
            [CODE], ProcessingOutputConfig={"Outputs": [s3_output("now", "Continuous"), s3_output("later")]}
        )
    )
    world.until(lambda: keys(world, "now/"), lambda found: found == ["now/x"])
    assert keys(world, "later/") == []
    world.sagemaker.stop_processing_job(ProcessingJobName="prep")
    assert world.ended("prep", "Processing")["ProcessingJobStatus"] == "Stopped"
    assert world.object("later/x") == b"later"


def test_each_channel_has_its_own_mode_and_fast_file_is_there_as_files(world: World) -> None:
    world.s3.put_object(Bucket="data", Key="raw/a", Body=b"1")
    world.script("""
        import json, pathlib
        modes = json.loads(pathlib.Path("/opt/ml/input/config/inputdataconfig.json").read_text())
        print({name: mode["TrainingInputMode"] for name, mode in modes.items()})
        print(pathlib.Path("/opt/ml/input/data/raw/a").read_text())
    """)
    world.train(channels=[{**channel("raw", "s3://data/raw"), "InputMode": "FastFile", "ContentType": "text/csv"}])
    assert world.said("job")[1:] == ["{'code': 'File', 'raw': 'File'}", "1"]


def test_a_model_is_left_as_it_is_if_no_compression_is_wanted(world: World) -> None:
    world.script("""
        import pathlib
        pathlib.Path("/opt/ml/model/weights").write_text("1")
        pathlib.Path("/opt/ml/output/data/curve").write_text("2")
    """)
    job = world.train(OutputDataConfig={"S3OutputPath": "s3://data/models", "CompressionType": "NONE"})
    assert job["ModelArtifacts"]["S3ModelArtifacts"] == "s3://data/models/job/output/model/"
    assert world.object("models/job/output/model/weights") == b"1"
    assert world.object("models/job/output/data/curve") == b"2"


def processing_of(inputs: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {
        "ProcessingJobName": "prep",
        "AppSpecification": {
            "ImageUri": "processor:1",
            "ContainerEntrypoint": ["python3", "/opt/ml/processing/input/code/main.py"],
        },
        "RoleArn": "arn:aws:iam::123456789012:role/training",
        "ProcessingInputs": inputs,
        "ProcessingResources": {
            "ClusterConfig": {"InstanceType": "ml.m5.xlarge", "InstanceCount": 1, "VolumeSizeInGB": 1}
        },
        **more,
    }


def keys(world: World, prefix: str) -> list[str]:
    found = world.s3.list_objects_v2(Bucket="data", Prefix=prefix).get("Contents", [])
    return [entry["Key"] for entry in found]


def test_a_job_whose_upload_fails_while_it_runs_leaves_no_container_behind(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: Mirror) -> None:
        raise RunFailed("ClientError: Artifact upload failed:no such bucket")

    monkeypatch.setattr(Mirror, "push", refused)
    world.script("import time; time.sleep(300)")
    world.sagemaker.create_training_job(**{**request_of(world), "CheckpointConfig": {"S3Uri": "s3://data/ckpt"}})
    job = world.ended("job")
    assert job["FailureReason"].startswith("ClientError: Artifact upload failed")
    assert not containers_of(job["TrainingJobArn"])


def containers_of(arn: str) -> list[str]:
    """Return the processes of this machine that have a job's ARN in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"TRAINING_JOB_ARN={arn}".encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_a_container_that_runs_is_seen_by_that_check(world: World) -> None:
    world.script("import time; print('ready'); time.sleep(300)")
    world.sagemaker.create_training_job(**request_of(world))
    arn = world.sagemaker.describe_training_job(TrainingJobName="job")["TrainingJobArn"]
    world.until(lambda: containers_of(arn), lambda found: found)
    world.sagemaker.stop_training_job(TrainingJobName="job")
    world.ended("job")


def test_an_upload_that_fails_too_does_not_hide_the_scripts_own_failure(world: World) -> None:
    world.script("open('/opt/ml/model/x', 'w').write('1'); raise SystemExit(3)")
    job = world.train(OutputDataConfig={"S3OutputPath": "s3://no-such-bucket-at-all/x"})
    assert job["FailureReason"] == "AlgorithmError: , exit code: 3"


def test_a_host_that_can_not_be_started_leaves_no_other_running(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    container = LocalRun._container

    def second_fails(run: LocalRun, command: list[str], host: str) -> Any:
        if host == "algo-2":
            raise OSError("no more processes")
        return container(run, command, host)

    monkeypatch.setattr(LocalRun, "_container", second_fails)
    world.script("import time; time.sleep(300)")
    job = world.train(ResourceConfig={"InstanceType": "ml.m5.xlarge", "InstanceCount": 2, "VolumeSizeInGB": 1})
    assert job["FailureReason"].startswith("InternalServerError")
    assert not containers_of(job["TrainingJobArn"])
