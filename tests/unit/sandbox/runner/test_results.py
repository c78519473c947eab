"""What becomes of what a run leaves, and how its end is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from airflow_sm_prefer.sandbox.runner.failures import RunFailed
from airflow_sm_prefer.sandbox.runner.results import judged, upload_model
from airflow_sm_prefer.sandbox.runner.storage import Storage
from airflow_sm_prefer.sandbox.runs import Ending, RunResult, RunSpec
from tests.unit.sandbox.runner.builders import FakeS3, processing, training


def left(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body.encode() if isinstance(body, str) else body)


def judge(job: RunSpec, folder: Path, *codes: int, **more: Any) -> RunResult:
    hosts = [f"algo-{number}" for number in range(1, job.instance_count + 1)]
    roots = {host: folder / host for host in hosts}
    return judged(job, roots, list(zip(hosts, codes, strict=True)), **{"stopped": False, "artifacts": None, **more})


def test_nothing_left_is_nothing_uploaded(tmp_path: Path) -> None:
    s3 = FakeS3()
    assert upload_model(training(), Storage(s3), [tmp_path]) is None
    assert s3.data == {}


def test_output_and_model_are_two_archives(tmp_path: Path) -> None:
    s3 = FakeS3()
    left(tmp_path, {"model/w": "1", "output/data/x": "2", "output/failure": "not data"})
    address = upload_model(training(OutputDataConfig={"S3OutputPath": "s3://data/out/"}), Storage(s3), [tmp_path])
    assert address == "s3://data/out/job/output/model.tar.gz"
    assert sorted(s3.data) == ["out/job/output/model.tar.gz", "out/job/output/output.tar.gz"]


def test_without_compression_files_stay_as_they_are_and_the_first_host_counts(tmp_path: Path) -> None:
    s3 = FakeS3()
    left(tmp_path / "one", {"model/same": "1", "model/a": "1", "output/data/x": "1"})
    left(tmp_path / "two", {"model/same": "2", "model/b": "2"})
    output = {"S3OutputPath": "s3://data/out", "CompressionType": "NONE"}
    roots = [tmp_path / "one", tmp_path / "two"]
    assert upload_model(training(OutputDataConfig=output), Storage(s3), roots) == "s3://data/out/job/output/model/"
    names = {"model/same": b"1", "model/a": b"1", "model/b": b"2", "data/x": b"1"}
    assert s3.data == {f"out/job/output/{name}": body for name, body in names.items()}
    assert upload_model(training(OutputDataConfig=output), Storage(s3), [tmp_path / "none"]) is None


def test_a_run_that_ends_well_is_completed(tmp_path: Path) -> None:
    assert judge(training(), tmp_path, 0, artifacts="s3://m") == RunResult(Ending.COMPLETED, model_artifacts="s3://m")


def test_the_host_that_failed_first_gives_the_reason(tmp_path: Path) -> None:
    left(tmp_path, {"algo-1/output/failure": "first", "algo-2/output/failure": b"second \xff"})
    assert judge(training(hosts=2), tmp_path, 0, 5).failure_reason == "AlgorithmError: second \ufffd, exit code: 5"
    assert judge(training(hosts=2), tmp_path, 4, 5).failure_reason == "AlgorithmError: first, exit code: 4"


def test_a_run_that_was_stopped_has_not_failed(tmp_path: Path) -> None:
    assert judge(training(), tmp_path, 143, stopped=True) == RunResult(Ending.STOPPED)


def test_the_hosts_of_a_processing_job_say_one_message_of_a_kilobyte(tmp_path: Path) -> None:
    left(tmp_path, {"algo-1/output/message": "x" * 1023, "algo-2/output/message": "é, and more"})
    assert judge(processing(hosts=2), tmp_path, 0, 0).exit_message == "x" * 1023
    left(tmp_path, {"algo-1/output/message": "one ", "algo-2/output/message": "two"})
    assert judge(processing(hosts=2), tmp_path, 0, 1).exit_message == "one two"


def test_no_message_is_none_and_training_has_none(tmp_path: Path) -> None:
    assert judge(processing(), tmp_path, 0).exit_message is None
    left(tmp_path, {"algo-1/output/message": "x"})
    assert judge(training(), tmp_path, 0).exit_message is None


def test_a_message_that_is_not_utf_8_fails_a_job_that_has_no_other_fault(tmp_path: Path) -> None:
    left(tmp_path, {"algo-1/output/message": b"\xff"})
    with pytest.raises(RunFailed, match="ClientError: /opt/ml/output/message has to be UTF-8"):
        judge(processing(), tmp_path, 0)
    assert judge(processing(), tmp_path, 2).failure_reason == "AlgorithmError: , exit code: 2"
    assert judge(processing(), tmp_path, 143, stopped=True).ending is Ending.STOPPED
