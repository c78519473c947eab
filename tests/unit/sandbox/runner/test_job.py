"""A run from beginning to end, with real processes and an S3 that is a dictionary."""

from __future__ import annotations

import io
import json
import tarfile
import threading
import uuid
from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner import Isolation, job
from airflow_sm_prefer.sandbox.runner.failures import INTERNAL_ERROR
from airflow_sm_prefer.sandbox.runner.isolation import best_isolation
from airflow_sm_prefer.sandbox.runner.mirror import Mirror
from airflow_sm_prefer.sandbox.runs import Ending, Phase
from tests.unit.sandbox.runner.builders import Ran, alive, processing, s3_output, training, until


def test_a_script_that_ends_well_completes_the_job(ran: Ran) -> None:
    ran.script("print('hello')")
    assert ran.end(training()).ending is Ending.COMPLETED
    assert ran.phases == [Phase.DOWNLOADING, Phase.TRAINING, Phase.UPLOADING]
    assert ran.logs.lines() == ["hello"]
    assert list(ran.folder.iterdir()) == []


@pytest.mark.parametrize(
    ("entrypoint", "code", "said"),
    [
        (["no-such-program"], 127, 'exec: "no-such-program": executable file not found in $PATH'),
        (["/no/such/program"], 127, 'exec: "/no/such/program": no such file or directory'),
        (["/etc/passwd"], 126, 'exec: "/etc/passwd": permission denied'),
    ],
)
def test_an_entrypoint_that_can_not_run_ends_as_docker_says(
    ran: Ran, entrypoint: list[str], code: int, said: str
) -> None:
    ran.script("")
    result = ran.end(training(AlgorithmSpecification={"TrainingImage": "i", "ContainerEntrypoint": entrypoint}))
    assert result.failure_reason == f"AlgorithmError: , exit code: {code}"
    assert ran.logs.lines() == [said]


def test_what_a_script_leaves_running_ends_with_it_even_in_a_session_of_its_own(ran: Ran) -> None:
    marker = uuid.uuid4().hex
    ran.script(f"""
        import subprocess, sys
        child = "import os, time; os.fork(); print('up', flush=True); time.sleep(600) # {marker}"
        started = subprocess.Popen([sys.executable, "-c", child], start_new_session=True, stdout=subprocess.PIPE)
        started.stdout.readline()
    """)
    assert ran.end(training()).ending is Ending.COMPLETED
    assert alive(marker) == []


def test_a_path_without_this_machines_folders_is_the_jobs_own_affair(ran: Ran) -> None:
    ran.script("import os; print(os.environ['PATH'].split(os.pathsep)[1:])")
    assert ran.end(training(Environment={"PATH": "/nowhere"})).ending is Ending.COMPLETED
    assert ran.logs.lines() == ["['/nowhere']"]


def test_only_whole_parts_of_a_path_are_the_jobs(ran: Ran) -> None:
    ran.script("""
        import os, sys
        for text in ("/opt/mlflow", "/opt/ml-x/a", "s3://data/opt/ml/a", os.environ["WHERE"], sys.argv[1]):
            print(text)
    """)
    algorithm = {
        "TrainingImage": "i",
        "ContainerEntrypoint": ["python3", "/opt/ml/input/data/code/main.py"],
        "ContainerArguments": ["s3://data/opt/ml/checkpoints"],
    }
    ran.end(training(AlgorithmSpecification=algorithm, Environment={"WHERE": "/opt/mlruns"}))
    assert ran.logs.lines() == [
        "/opt/mlflow",
        "/opt/ml-x/a",
        "s3://data/opt/ml/a",
        "/opt/mlruns",
        "s3://data/opt/ml/checkpoints",
    ]


def test_the_models_of_all_hosts_become_one_archive(ran: Ran) -> None:
    ran.script("""
        import json, pathlib
        host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
        for folder in ("/opt/ml/model", "/opt/ml/output/data"):
            (pathlib.Path(folder) / "shards").mkdir()
            (pathlib.Path(folder) / "shards" / host).write_text(host)
            (pathlib.Path(folder) / "same").write_text(host)
    """)
    result = ran.end(training(hosts=2))
    assert result.model_artifacts == "s3://data/out/job/output/model.tar.gz"
    both = {"shards/algo-1": b"algo-1", "shards/algo-2": b"algo-2", "same": b"algo-1"}
    assert ran.packed("out/job/output/model.tar.gz") == both
    assert ran.packed("out/job/output/output.tar.gz") == both


def test_a_failed_jobs_output_and_model_are_kept(ran: Ran) -> None:
    ran.script("""
        import pathlib
        pathlib.Path("/opt/ml/output/data/curve").write_text("1")
        pathlib.Path("/opt/ml/model/half").write_text("2")
        pathlib.Path("/opt/ml/output/failure").write_bytes(b"bad \\xff byte")
        raise SystemExit(4)
    """)
    result = ran.end(training())
    assert result.failure_reason == "AlgorithmError: bad \ufffd byte, exit code: 4"
    assert ran.packed("out/job/output/output.tar.gz") == {"curve": b"1"}
    assert ran.packed("out/job/output/model.tar.gz") == {"half": b"2"}


def test_a_host_that_is_told_to_stop_leaves_the_others_their_grace(ran: Ran) -> None:
    ran.script("""
        import json, pathlib, signal, sys, time
        host = json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"]
        def bye(*_):
            time.sleep(1.0 if host == "algo-1" else 0.0)
            pathlib.Path("/opt/ml/model", host).write_text("saved")
            sys.exit(1)
        signal.signal(signal.SIGTERM, bye)
        print("ready")
        time.sleep(600)
    """)
    run = ran.start(training(hosts=2))
    until(lambda: ran.logs.lines() == ["ready", "ready"])
    run.stop()
    run.join()
    assert ran.results[0].ending is Ending.STOPPED
    assert set(ran.packed("out/job/output/model.tar.gz")) == {"algo-1", "algo-2"}


def test_a_stop_is_told_to_the_command_alone_and_what_it_started_ends_with_it(ran: Ran) -> None:
    """As under Docker's init, which is why AWS advises against an entrypoint that is a shell."""
    ran.script("""
        import pathlib, signal, time
        signal.signal(signal.SIGTERM, lambda *_: pathlib.Path("/opt/ml/model/told").write_text("1"))
        print("ready", flush=True)
        time.sleep(600)
    """)
    shell = ["/bin/sh", "-c", "python3 /opt/ml/input/data/code/main.py; exit 0"]
    run = ran.start(training(AlgorithmSpecification={"TrainingImage": "i", "ContainerEntrypoint": shell}))
    until(lambda: ran.logs.lines() == ["ready"])
    run.stop()
    run.join()
    assert ran.results[0].model_artifacts is None


def test_one_that_ignores_the_stop_can_be_killed(ran: Ran) -> None:
    ran.script("""
        import signal, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        print("ready")
        time.sleep(600)
    """)
    run = ran.start(training())
    until(lambda: ran.logs.lines() == ["ready"])
    run.stop()
    run.kill()
    run.join()
    assert ran.results[0].ending is Ending.STOPPED


def test_a_job_that_is_stopped_while_it_downloads_runs_nothing(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    downloading, stopped = threading.Event(), threading.Event()
    get = ran.s3.get_object

    def slow(**request: Any) -> Any:
        downloading.set()
        stopped.wait(30)
        return get(**request)

    monkeypatch.setattr(ran.s3, "get_object", slow)
    ran.script("print('never')")
    ran.s3.data["code/other"] = b"1"
    run = ran.start(training())
    assert downloading.wait(30)
    run.stop()
    stopped.set()
    run.join()
    assert ran.results[0].ending is Ending.STOPPED
    assert ran.phases == [Phase.DOWNLOADING]
    assert ran.logs.lines() == []


def test_a_checkpoint_that_the_script_deletes_goes_from_s3_too(ran: Ran) -> None:
    ran.s3.data.update({"ckpt/old": b"1", "ckpt/kept": b"1", "ckptx/other": b"1"})
    ran.script("""
        import pathlib
        folder = pathlib.Path("/opt/ml/state/checkpoints")
        (folder / "old").unlink()
        (folder / "new").write_text("2")
    """)
    checkpoints = {"S3Uri": "s3://data/ckpt", "LocalPath": "/opt/ml/state/checkpoints"}
    assert ran.end(training(CheckpointConfig=checkpoints)).ending is Ending.COMPLETED
    kept = {key: body for key, body in ran.s3.data.items() if key.startswith("ckpt")}
    assert kept == {"ckpt/kept": b"1", "ckpt/new": b"2", "ckptx/other": b"1"}


def test_a_second_run_finds_the_checkpoints_of_the_first(ran: Ran) -> None:
    ran.script("""
        import pathlib
        path = pathlib.Path("/opt/ml/checkpoints/step")
        step = int(path.read_text()) if path.exists() else 0
        path.write_text(str(step + 1))
        raise SystemExit(step == 0)
    """)
    asked = training(CheckpointConfig={"S3Uri": "s3://data/ckpt"})
    assert ran.end(asked).ending is Ending.FAILED
    ran.results.clear()
    assert ran.end(asked).ending is Ending.COMPLETED
    assert ran.s3.data["ckpt/step"] == b"2"


def test_outputs_go_up_at_the_end_after_a_failure_too(ran: Ran) -> None:
    ran.script("open('/opt/ml/processing/report/x', 'w').write('1'); raise SystemExit(2)")
    result = ran.end(processing(ProcessingOutputConfig={"Outputs": [s3_output("report")]}))
    assert result.failure_reason == "AlgorithmError: , exit code: 2"
    assert ran.s3.data["report/x"] == b"1"


def test_the_hosts_of_a_processing_job_say_one_message_together(ran: Ran) -> None:
    ran.script("""
        import json
        place = json.load(open("/opt/ml/config/resourceconfig.json"))
        assert place["hosts"] == ["algo-1", "algo-2"], place
        open("/opt/ml/output/message", "w").write(place["current_host"] + ";")
    """)
    assert ran.end(processing(hosts=2)).exit_message == "algo-1;algo-2;"


def test_temporary_files_and_the_home_are_the_jobs_own(ran: Ran) -> None:
    ran.script("""
        import os, pathlib, tempfile
        print(tempfile.mkdtemp().startswith(os.environ["TMPDIR"]), list(pathlib.Path.home().iterdir()))
    """)
    ran.end(training())
    assert ran.logs.lines() == ["True []"]
    assert list(ran.folder.iterdir()) == []


@pytest.mark.skipif(best_isolation() is Isolation.REWRITTEN, reason="no mount namespaces here")
def test_hosts_find_each_other_by_name(tmp_path: Path) -> None:
    ran = Ran(tmp_path, Isolation.NAMESPACE).script("""
        import json, socket, time
        place = json.load(open("/opt/ml/input/config/resourceconfig.json"))
        mine, other = place["current_host"], [host for host in place["hosts"] if host != place["current_host"]][0]
        with socket.create_server((mine, 29500)) as server:
            for _ in range(600):
                try:
                    with socket.create_connection((other, 29500), timeout=5):
                        break
                except ConnectionRefusedError:
                    time.sleep(0.05)
            with server.accept()[0]:
                print(mine, "met", other)
    """)
    assert ran.end(training(hosts=2)).ending is Ending.COMPLETED
    assert sorted(ran.logs.lines()) == ["algo-1 met algo-2", "algo-2 met algo-1"]


def test_the_toolkits_program_runs_with_its_variables(ran: Ran) -> None:
    ran.script("print('unused')")
    hyperparameters = {
        "sagemaker_program": '"train.sh"',
        "sagemaker_submit_directory": '"s3://data/source.tar.gz"',
        "epochs": "3",
    }
    ran.s3.data["source.tar.gz"] = packed({"train.sh": '#!/bin/sh\necho "$@" "$SM_CURRENT_HOST" "$SM_HPS"\n'})
    result = ran.end(
        training(AlgorithmSpecification={"TrainingImage": "i"}, HyperParameters=hyperparameters, InputDataConfig=[])
    )
    assert result.ending is Ending.COMPLETED, ran.logs.lines()
    (said,) = ran.logs.lines()
    assert said == f"--epochs 3 algo-1 {json.dumps({'epochs': 3}, separators=(',', ':'))}"


def test_data_that_can_not_be_had_fails_the_job_before_anything_runs(ran: Ran) -> None:
    result = ran.end(training())
    assert str(result.failure_reason).startswith("ClientError: Data download failed:No S3 objects found")
    assert ran.phases == [Phase.DOWNLOADING]
    assert list(ran.folder.iterdir()) == []


def test_a_checkpoint_goes_up_while_the_script_runs(ran: Ran) -> None:
    ran.script("open('/opt/ml/checkpoints/step', 'w').write('1'); import time; time.sleep(600)")
    run = ran.start(training(CheckpointConfig={"S3Uri": "s3://data/ckpt"}))
    until(lambda: ran.s3.data.get("ckpt/step") == b"1")
    assert ran.results == []
    run.kill()


def test_one_host_that_fails_ends_the_others(ran: Ran) -> None:
    ran.script("""
        import json, time
        if json.load(open("/opt/ml/input/config/resourceconfig.json"))["current_host"] == "algo-2":
            raise SystemExit(5)
        time.sleep(600)
    """)
    assert ran.end(training(hosts=2)).failure_reason == "AlgorithmError: , exit code: 5"


@pytest.mark.parametrize(
    ("body", "reason"),
    [("", "ClientError: Artifact upload failed:Unable to upload"), ("raise SystemExit(3)", "AlgorithmError: , exit")],
)
def test_the_scripts_own_failure_comes_before_that_of_its_upload(ran: Ran, body: str, reason: str) -> None:
    ran.script(f"open('/opt/ml/model/x', 'w').close(); {body}")
    assert str(ran.end(training(OutputDataConfig={"S3OutputPath": "s3://gone/x"})).failure_reason).startswith(reason)


def test_what_goes_wrong_in_the_sandbox_is_an_internal_error_and_leaves_nothing(
    ran: Ran, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise MemoryError

    ran.script("import time; time.sleep(600)")
    monkeypatch.setattr(Mirror, "push", broken)
    result = ran.end(training(CheckpointConfig={"S3Uri": "s3://data/ckpt"}))
    assert result.failure_reason == INTERNAL_ERROR
    assert alive(str(ran.folder)) == []
    assert list(ran.folder.iterdir()) == []


def test_a_machine_without_a_table_of_names_gives_none(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "HOSTS_FILE", "/no/such/table")
    assert ran.script("").end(training()).ending is Ending.COMPLETED


def packed(files: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(body), 0o755
            tar.addfile(info, io.BytesIO(body.encode()))
    return buffer.getvalue()
